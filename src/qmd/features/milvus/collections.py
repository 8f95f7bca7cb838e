"""Collections, the copy of the configuration, and the cache of model answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext

from qmd.features.milvus.client import HEAVY, Reading, quoted
from qmd.features.milvus.documents import Documents
from qmd.features.milvus.parts import MilvusPart, Shared
from qmd.features.milvus.schema import ANSWERS, DOCUMENTS, FORMAT, FORMER, LIVE, MAX_TEXT, number
from qmd.store import base
from qmd.store.collections import Fields, StoredCollections
from qmd.store.records import CACHE_ROWS
from qmd.store.values import CollectionStats
from qmd.types import Config
from qmd.types.clock import now


class Collections(MilvusPart, StoredCollections):
    """Collections as values of `State`.

    The digest of a configuration is written last, so that the next `sync` repeats an interrupted one.
    """

    def __init__(self, shared: Shared, documents: Documents) -> None:
        super().__init__(shared)
        self._documents = documents

    def sync(self, config: Config, *, drop: bool = False) -> None:
        if self._state.get("format", "strong") == FORMER:
            self._documents.upgrade()
            self._state.put({"format": FORMAT})
        super().sync(config, drop=drop)

    def stats(self) -> Mapping[str, CollectionStats]:
        stats = {}
        for identity, fields in self._rows().items():
            where = f"collection == {identity} and {LIVE}"
            sizes = [row["bytes"] for row in self._client.all(DOCUMENTS, where, ["bytes"])]
            stats[fields["name"]] = CollectionStats(len(sizes), sum(sizes), fields["updated_at"])
        return stats

    def _writing(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _rows(self, strong: bool = False) -> dict[int, Fields]:
        return self._state.collections("strong" if strong else "fresh")

    def _add(self, fields: Fields, taken: Iterable[int]) -> None:
        # All processes that add the collection get the same id.
        attempt = 0
        while (identity := number("collection", fields["name"], attempt)) in taken:
            attempt += 1
        self._put(identity, fields)

    def _put(self, identity: int, fields: Fields) -> None:
        self._state.put_collection(identity, fields)

    def _drop(self, identity: int) -> int:
        return self._garbage.drop_collection(identity)

    def _config(self, strong: bool = False) -> tuple[str | None, str | None]:
        reading: Reading = "strong" if strong else "fresh"
        return self._state.get("config", reading), self._state.get("config copy", reading)

    def _put_config(self, config: Config, packed: str) -> None:
        self._state.put({"config copy": packed})
        self._state.put({"format": FORMAT, "config": config.digest})

    def _forget_config(self) -> None:
        self._state.delete("config")


class Answers(MilvusPart, base.Answers):
    """Rows of `ANSWERS`. Answers that are too long for Milvus are left out."""

    def get(self, key: str) -> str | None:
        rows = self._client.query(ANSWERS, f"key == {quoted(key)}", ["value"])
        return str(rows[0]["value"]) if rows else None

    def items(self) -> Iterator[tuple[str, str]]:
        for row in self._client.all(ANSWERS, "", ["key", "value"], page=HEAVY):
            yield row["key"], row["value"]

    def put(self, answers: Mapping[str, str]) -> None:
        moment = now()
        rows = [{"key": key, "value": value, "at": moment} for key, value in answers.items()]
        self._client.put(ANSWERS, [row for row in rows if len(row["value"].encode()) <= MAX_TEXT])
        count = self._client.count(ANSWERS, "", reading="strong")
        if count > CACHE_ROWS:
            by_age = sorted((row["at"], row["key"]) for row in self._client.all(ANSWERS, "", ["key", "at"]))
            oldest = [key for _, key in by_age[: count - CACHE_ROWS * 3 // 4]]
            self._client.delete_among(ANSWERS, "key", oldest)

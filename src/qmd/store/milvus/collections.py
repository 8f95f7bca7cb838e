"""Collections, contexts and the cache: the small rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qmd.errors import ConflictError
from qmd.store.base import CollectionStats
from qmd.store.milvus.client import HEAVY, quoted
from qmd.store.milvus.garbage import Removal
from qmd.store.milvus.ids import number
from qmd.store.milvus.schema import ANSWERS, DOCUMENTS, FORMAT, MAX_TEXT
from qmd.store.records import (
    CACHE_ROWS,
    as_of_now,
    now,
    other_owner,
    pack,
    refuse_to_drop,
    renamed,
    unpack,
)
from qmd.types import Config


class CollectionsPart(Removal):
    """Which collections there are, as the configuration says and as the index holds them."""

    def sync(self, config: Config, *, drop: bool = False) -> None:
        """Make the store's collections and contexts those of the configuration; see `Store.sync`.

        The digest is written last: what is cut short before is done again by the next one.
        """
        # A copy by another version, which had other fields, is written anew as well.
        if self._state("config", "strong") == config.digest and self._copy(config.path) == config:
            return
        # Another process may have edited the file since this one read it.
        config = as_of_now(config)
        known = self._collections("strong")
        heirs = renamed(((each["name"], each["path"], each["pattern"]) for each in known.values()), config)
        owner = None if drop else other_owner(self._state("config copy", "strong"), config)
        if owner is not None:
            names = {each["name"] for each in known.values()} - heirs.keys() - config.collections.keys()
            stats = self.collection_stats() if names else {}
            filled = sorted(name for name in names if name in stats and stats[name].documents)
            refuse_to_drop(owner, config, filled)
        for identity, fields in known.items():
            if fields["name"] in heirs:
                fields["name"] = heirs[fields["name"]]
                self._put_collection(identity, fields)
            elif fields["name"] not in config.collections:
                self._drop_documents(identity)
                self._forget_collection(identity)
                self._mark_loose()
        numbers = {fields["name"]: identity for identity, fields in known.items()}
        for each in config.collections.values():
            identity = numbers.get(each.name) or _new_number(each.name, set(known))
            fields = {
                "name": each.name,
                "path": each.path,
                "pattern": each.pattern,
                "include_by_default": each.include_by_default,
            }
            before = known.get(identity, {"updated_at": None})
            if before | fields != before:
                self._put_collection(identity, before | fields)
        self._set_states({"config copy": pack(config)})
        self._set_states({"format": FORMAT, "config": config.digest})

    def config_copy(self, path: str, digest: str) -> Config | None:
        """The configuration as of the last `sync`, where its file has not changed since."""
        if self._state("config") != digest:
            return None
        return self._copy(path)

    def _copy(self, path: str) -> Config | None:
        text = self._state("config copy")
        return unpack(text, path) if text is not None else None

    def collection_stats(self) -> Mapping[str, CollectionStats]:
        """What the index holds of each collection."""
        stats = {}
        for identity, fields in self._collections().items():
            where = f"collection == {identity} and live == true"
            sizes = [int(row["bytes"]) for row in self._client.all(DOCUMENTS, where, ["bytes"])]
            stats[fields["name"]] = CollectionStats(len(sizes), sum(sizes), fields["updated_at"])
        return stats

    def last_scans(self) -> Mapping[str, str | None]:
        """When each collection was last scanned, ISO 8601 in UTC; None before its first scan."""
        return {fields["name"]: fields["updated_at"] for fields in self._collections().values()}

    def rename_collection(self, old: str, new: str) -> None:
        """Give a collection another name; its documents keep their ids."""
        known = self._collections("strong")
        if all(fields["name"] != old for fields in known.values()):
            return  # another process has read the configuration since, and done it
        if any(fields["name"] == new for fields in known.values()):
            raise ConflictError(f"a collection named {new} is already there")
        for identity, fields in known.items():
            if fields["name"] == old:
                self._put_collection(identity, {**fields, "name": new})

    def remove_collection(self, name: str) -> int:
        """Drop a collection and its documents; returns how many there were."""
        for identity, fields in self._collections("strong").items():
            if fields["name"] == name:
                dropped = self._drop_documents(identity)
                self._forget_collection(identity)
                self._mark_loose()
                return dropped
        return 0

    def finish_scan(self, collection: str, root: str = "") -> None:
        """Note that a collection has been scanned; see `Store.finish_scan`."""
        for identity, fields in self._collections("strong").items():
            if fields["name"] == collection:
                self._put_collection(identity, {**fields, "updated_at": now(), "root": root or None})

    def last_root(self, collection: str) -> str | None:
        """The `root` of a collection's last scan; None if it was not given."""
        roots = [each.get("root") for each in self._collections().values() if each["name"] == collection]
        return next(iter(roots), None)

    def cache_get(self, key: str) -> str | None:
        """What was remembered under a key."""
        rows = self._client.query(ANSWERS, f"key == {quoted(key)}", ["value"])
        return str(rows[0]["value"]) if rows else None

    def cache_items(self) -> Iterator[tuple[str, str]]:
        """Everything that is remembered: (key, answer)."""
        for row in self._client.all(ANSWERS, "", ["key", "value"], page=HEAVY):
            yield str(row["key"]), str(row["value"])

    def cache_put(self, answers: Mapping[str, str]) -> None:
        """Keep answers of models; the oldest make room. An answer that is too long for Milvus is not kept."""
        moment = now()
        rows = [{"key": key, "value": value, "at": moment} for key, value in answers.items()]
        self._client.put(ANSWERS, [row for row in rows if len(row["value"].encode()) <= MAX_TEXT])
        count = self._client.count(ANSWERS, "", reading="strong")
        if count > CACHE_ROWS:
            kept = sorted(
                (str(row["at"]), str(row["key"])) for row in self._client.all(ANSWERS, "", ["key", "at"])
            )
            oldest = [key for _, key in kept[: count - CACHE_ROWS * 3 // 4]]
            self._client.delete_among(ANSWERS, "key", oldest)


def _new_number(name: str, taken: set[int]) -> int:
    """A number for a new collection: the same for all who add it. One that was renamed keeps its own."""
    attempt = 0
    while (identity := number("collection", name, attempt)) in taken:
        attempt += 1
    return identity

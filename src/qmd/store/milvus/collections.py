"""Collections, the copy of the configuration, and the cache of model answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qmd.errors import ConflictError
from qmd.store.base import CollectionStats
from qmd.store.milvus.client import HEAVY, Client, quoted
from qmd.store.milvus.garbage import Garbage
from qmd.store.milvus.ids import number
from qmd.store.milvus.schema import ANSWERS, DOCUMENTS, FORMAT, MAX_TEXT
from qmd.store.milvus.state import State
from qmd.store.records import (
    CACHE_ROWS,
    now,
    other_owner,
    pack,
    refuse_to_drop,
    renamed,
    reread,
    unpack,
)
from qmd.types import Config


class Collections:
    """The collections of the index, kept in line with the configuration."""

    def __init__(self, client: Client, state: State, garbage: Garbage) -> None:
        self._client = client
        self._state = state
        self._garbage = garbage

    def sync(self, config: Config, *, drop: bool = False) -> None:
        """Make the collections match the configuration; see `DocumentStore.sync`.

        The digest is written last, so that an interrupted `sync` is repeated by the next one.
        """
        # The copy of a version with other configuration fields differs, and is replaced.
        if self._state.get("config", "strong") == config.digest and self._copy(config.path) == config:
            return
        # Another process may have edited the file since this one read it.
        config = reread(config)
        existing = self._state.collections("strong")
        new_names = renamed(
            ((fields["name"], fields["path"], fields["pattern"]) for fields in existing.values()), config
        )
        owner = None if drop else other_owner(self._state.get("config copy", "strong"), config)
        if owner is not None:
            names = {fields["name"] for fields in existing.values()}
            names -= new_names.keys() | config.collections.keys()
            stats = self.collection_stats() if names else {}
            filled = sorted(name for name in names if name in stats and stats[name].documents)
            refuse_to_drop(owner, config, filled)
        for identity, fields in existing.items():
            if fields["name"] in new_names:
                fields["name"] = new_names[fields["name"]]
                self._state.put_collection(identity, fields)
            elif fields["name"] not in config.collections:
                self._garbage.drop_documents(identity)
                self._state.delete_collection(identity)
        ids = {fields["name"]: identity for identity, fields in existing.items()}
        for collection in config.collections.values():
            identity = ids.get(collection.name) or _new_id(collection.name, set(existing))
            fields = {"name": collection.name, "path": collection.path, "pattern": collection.pattern}
            before = existing.get(identity, {"updated_at": None})
            if before | fields != before:
                self._state.put_collection(identity, before | fields)
        self._state.put({"config copy": pack(config)})
        self._state.put({"format": FORMAT, "config": config.digest})

    def config_copy(self, path: str, digest: str) -> Config | None:
        """Return the configuration of the last `sync`, or None if its file has changed since."""
        if self._state.get("config") != digest:
            return None
        return self._copy(path)

    def _copy(self, path: str) -> Config | None:
        text = self._state.get("config copy")
        return unpack(text, path) if text is not None else None

    def collection_stats(self) -> Mapping[str, CollectionStats]:
        """Return the size and the last scan of each collection by name."""
        stats = {}
        for identity, fields in self._state.collections().items():
            where = f"collection == {identity} and live == true"
            sizes = [int(row["bytes"]) for row in self._client.all(DOCUMENTS, where, ["bytes"])]
            stats[fields["name"]] = CollectionStats(len(sizes), sum(sizes), fields["updated_at"])
        return stats

    def last_scans(self) -> Mapping[str, str | None]:
        """Return the time of each collection's last scan, ISO 8601 in UTC; None before the first scan."""
        return {fields["name"]: fields["updated_at"] for fields in self._state.collections().values()}

    def rename_collection(self, old: str, new: str) -> None:
        """Rename a collection; its documents keep their ids."""
        existing = self._state.collections("strong")
        if all(fields["name"] != old for fields in existing.values()):
            return  # another process read the new configuration and renamed it
        if any(fields["name"] == new for fields in existing.values()):
            raise ConflictError(f"a collection named {new} already exists")
        for identity, fields in existing.items():
            if fields["name"] == old:
                self._state.put_collection(identity, {**fields, "name": new})

    def remove_collection(self, name: str) -> int:
        """Drop a collection with its documents and return the number of documents."""
        for identity, fields in self._state.collections("strong").items():
            if fields["name"] == name:
                dropped = self._garbage.drop_documents(identity)
                self._state.delete_collection(identity)
                return dropped
        return 0

    def finish_scan(self, collection: str, root: str = "") -> None:
        """Record that a collection was scanned; see `DocumentStore.finish_scan`."""
        for identity, fields in self._state.collections("strong").items():
            if fields["name"] == collection:
                self._state.put_collection(identity, {**fields, "updated_at": now(), "root": root or None})

    def last_root(self, collection: str) -> str | None:
        """Return the `root` of a collection's last scan, or None if it had none."""
        for fields in self._state.collections().values():
            if fields["name"] == collection:
                return fields.get("root")
        return None

    def cache_get(self, key: str) -> str | None:
        """Return the cached answer for a key."""
        rows = self._client.query(ANSWERS, f"key == {quoted(key)}", ["value"])
        return str(rows[0]["value"]) if rows else None

    def cache_items(self) -> Iterator[tuple[str, str]]:
        """Return all cached keys and answers."""
        for row in self._client.all(ANSWERS, "", ["key", "value"], page=HEAVY):
            yield str(row["key"]), str(row["value"])

    def cache_put(self, answers: Mapping[str, str]) -> None:
        """Cache answers by key, except answers too long for Milvus. The oldest answers make room."""
        moment = now()
        rows = [{"key": key, "value": value, "at": moment} for key, value in answers.items()]
        self._client.put(ANSWERS, [row for row in rows if len(row["value"].encode()) <= MAX_TEXT])
        count = self._client.count(ANSWERS, "", reading="strong")
        if count > CACHE_ROWS:
            by_age = sorted(
                (str(row["at"]), str(row["key"])) for row in self._client.all(ANSWERS, "", ["key", "at"])
            )
            oldest = [key for _, key in by_age[: count - CACHE_ROWS * 3 // 4]]
            self._client.delete_among(ANSWERS, "key", oldest)


def _new_id(name: str, taken: set[int]) -> int:
    """Return the id of a new collection. All processes that add the collection get the same id."""
    attempt = 0
    while (identity := number("collection", name, attempt)) in taken:
        attempt += 1
    return identity

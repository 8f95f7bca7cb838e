"""The key-value rows of an index in Milvus: its collections, its embedders, and marks of unfinished work."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import Any

from msgspec import convert, to_builtins

from qmd.errors import CollectionNotFoundError
from qmd.features.milvus.client import Reading, StoreClient, literal, quoted
from qmd.features.milvus.schema import LIVE, MAX_TEXT, STATE
from qmd.store.values import VectorSet
from qmd.types.clock import now

_COLLECTION = "collection:"
_EMBEDDER = "embedder:"
#: Set while the stored statistics are out of date; one row for each writer.
STALE_STATISTICS = "uncounted:"
#: Set while there may be orphans: see `garbage`.
ORPHANS = "loose"


class MilvusState:
    """Values by key. `writer` identifies the rows that this store writes."""

    def __init__(self, client: StoreClient) -> None:
        self._client = client
        self.writer = uuid.uuid4().hex

    def get(self, key: str, reading: Reading = "fresh") -> str | None:
        rows = self._client.query(STATE, f"key == {quoted(key)}", ["value"], reading=reading)
        return str(rows[0]["value"]) if rows else None

    def with_prefix(self, prefix: str, reading: Reading = "fresh") -> dict[str, str]:
        """Return the values whose key starts with `prefix`, by the rest of their key."""
        where = f"key >= {quoted(prefix)} and key < {quoted(prefix + '~')}"
        rows = self._client.query(STATE, where, ["key", "value"], reading=reading)
        return {row["key"][len(prefix) :]: row["value"] for row in rows}

    def put(self, values: dict[str, str]) -> None:
        moment = now()
        rows = [{"key": key, "value": value, "at": moment} for key, value in values.items()]
        # Only copies of other data can be longer than Milvus allows. The store works without them.
        self._client.put(STATE, [row for row in rows if len(row["value"].encode()) <= MAX_TEXT])

    def delete(self, *keys: str) -> None:
        if keys:
            self._client.delete(STATE, f"key in {literal(keys)}")

    def mark_orphans(self) -> None:
        self.put({ORPHANS: self.writer})

    def mark_stale_statistics(self) -> None:
        """Record that this writer changes documents that the stored statistics do not include."""
        self.put({STALE_STATISTICS + self.writer: ""})

    def collections(self, reading: Reading = "fresh") -> dict[int, dict[str, Any]]:
        """Return the fields of every collection by its id."""
        return {int(key): json.loads(value) for key, value in self.with_prefix(_COLLECTION, reading).items()}

    def put_collection(self, identity: int, fields: dict[str, Any]) -> None:
        self.put({f"{_COLLECTION}{identity}": json.dumps(fields, ensure_ascii=False)})

    def delete_collection(self, identity: int) -> None:
        """Delete the fields of a collection, and mark its texts as possible orphans."""
        self.delete(f"{_COLLECTION}{identity}")
        self.mark_orphans()

    def collection_id(self, name: str) -> int:
        """Return the id of a collection.

        Raises:
            CollectionNotFoundError: If the index has no such collection.
        """
        for identity, fields in self.collections("strong").items():
            if fields["name"] == name:
                return identity
        raise CollectionNotFoundError(f"no such collection in the index: {name}", "run 'qmd index' first")

    def collection_ids(self, names: Iterable[str]) -> list[int]:
        """Return the sorted ids of collections, without collections that were never indexed."""
        ids = {fields["name"]: identity for identity, fields in self.collections().items()}
        return sorted(ids[name] for name in names if name in ids)

    def embedders(self, reading: Reading = "fresh") -> dict[str, tuple[VectorSet, int]]:
        """Return every vector set and the dimension of its vectors, by fingerprint."""
        values = {key: json.loads(value) for key, value in self.with_prefix(_EMBEDDER, reading).items()}
        return {key: (convert(fields, VectorSet), fields["dimension"]) for key, fields in values.items()}

    def put_embedder(self, vector_set: VectorSet, dimension: int) -> None:
        text = json.dumps({**to_builtins(vector_set), "dimension": dimension}, ensure_ascii=False)
        self.put({_EMBEDDER + vector_set.fingerprint: text})

    def delete_embedder(self, fingerprint: str) -> None:
        self.delete(_EMBEDDER + fingerprint)

    def within(self, collections: Iterable[str]) -> str | None:
        """Return collections as a filter expression on documents and chunks, or None if there are none."""
        ids = self.collection_ids(collections)
        return f"{LIVE} and collection in {literal(ids)}" if ids else None

"""Garbage collection: rows that nothing uses.

Removing a document only hides it. A mark in `STATE` says that there may be orphans: texts without documents,
or chunks of documents that are gone or have another text now. The mark is set before the work and removed by
`prune`, so that the orphans of a killed process are found later.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct, field

from qmd.features.milvus.chunks import Chunks
from qmd.features.milvus.client import HEAVY, Row, StoreClient, literal, quoted
from qmd.features.milvus.field_rows import ADDRESS, stamp
from qmd.features.milvus.schema import CHUNK, DOCUMENTS, FIELDS, LIVE, TEXTS, vector_table
from qmd.features.milvus.state import ORPHANS, MilvusState

#: A writer stores a text and then its document within this many seconds.
_GRACE = 180


class Orphans(Struct):
    """Unused rows: removed documents, bytes of texts by id, stamps of fields, ids of chunks by embedder."""

    documents: list[int] = field(default_factory=list)
    texts: dict[int, int] = field(default_factory=dict)
    fields: list[int] = field(default_factory=list)
    chunks: dict[str, list[int]] = field(default_factory=dict)
    #: Whether there are unused texts or fields that another writer may be about to use.
    #: They are left for later.
    has_recent: bool = False
    #: The filter for texts and fields that no other writer is about to use.
    settled: str = ""


class Garbage(Struct):
    """Removes documents, and finds and deletes orphans."""

    _client: StoreClient
    _state: MilvusState
    _chunks: Chunks

    def prune(self) -> int:
        if self._state.get(ORPHANS, "strong") is None:
            return 0
        # Deleted before the search: a writer that leaves orphans from now on sets the mark again.
        self._state.delete(ORPHANS)
        orphans = self.orphans()
        self.delete(orphans)
        if orphans.has_recent:
            self._state.mark_orphans()
        return len(orphans.texts)

    def delete(self, orphans: Orphans) -> None:
        self._client.delete_among(DOCUMENTS, "id", orphans.documents, where="live == false")
        for embedder, chunks in orphans.chunks.items():
            self._client.delete_among(vector_table(embedder), "id", chunks)
        # A text that another writer has written again since the search does not match this filter.
        self._client.delete_among(TEXTS, "content", orphans.texts, where=orphans.settled)
        self._client.delete_among(FIELDS, "stamp", orphans.fields, where=orphans.settled)

    def drop_collection(self, collection: int) -> int:
        """Drop a collection and return the number of its documents. Texts and vectors stay until `prune`."""
        self._state.mark_orphans()
        self._state.mark_stale_statistics()
        where = f"collection == {collection}"
        dropped = self._client.count(DOCUMENTS, f"{where} and {LIVE}", reading="strong")
        self._client.delete(DOCUMENTS, where)
        self._client.delete(FIELDS, where)
        for embedder in self._state.embedders("strong"):
            # Hidden from searches only: documents with the same text can still copy their vectors.
            chunks = self._client.all(vector_table(embedder), f"{where} and {LIVE}", CHUNK, page=HEAVY)
            self._chunks.put(embedder, ({**row, "live": False} for row in chunks))
        self._state.delete_collection(collection)
        return dropped

    def orphans(self, collections: Iterable[int] | None = None) -> Orphans:
        """Find all orphans. With `collections`, texts of documents in other collections count as orphans."""
        orphans = Orphans()
        where = LIVE
        if collections is not None:
            where += f" and collection in {literal(sorted(collections))}"
        documents = [*self._client.all(DOCUMENTS, where, ADDRESS)]
        contents = {row["id"]: row["content"] for row in documents}
        orphans.documents = [row["id"] for row in self._client.all(DOCUMENTS, "live == false", ["id"])]
        before = int(time.time()) - _GRACE
        orphans.settled = f"(at < {before} or writer == {quoted(self._state.writer)})"
        texts = self._unused(TEXTS, "content", set(contents.values()), before, orphans)
        orphans.texts = {row["content"]: row["bytes"] for row in texts}
        fields = self._unused(FIELDS, "stamp", {stamp(row) for row in documents}, before, orphans)
        orphans.fields = [row["stamp"] for row in fields]
        for embedder in self._state.embedders("strong"):
            orphans.chunks[embedder] = self._orphan_chunks(embedder, contents, where)
        return orphans

    def _unused(
        self, name: str, key: str, used: Collection[int], before: int, orphans: Orphans
    ) -> Iterator[Row]:
        """Yield rows whose key is not in use, without those that another writer is about to use."""
        fields = [key, "writer", "at", *(["bytes"] if name == TEXTS else [])]
        for row in self._client.all(name, "part == 0", fields):
            if row[key] in used:
                continue
            if row["writer"] == self._state.writer or row["at"] < before:
                yield row
            else:
                orphans.has_recent = True

    def _orphan_chunks(self, embedder: str, contents: dict[int, int], where: str) -> list[int]:
        """Return the ids of chunks that are hidden or whose document has another text."""

        def is_orphan(row: Row) -> bool:
            return not row["live"] or contents.get(row["document"]) != row["content"]

        rows = self._client.all(vector_table(embedder), "", ["id", "document", "content", "live"])
        candidates = [*filter(is_orphan, rows)]
        # Another writer may have stored and embedded documents since `contents` was read.
        documents = {row["document"] for row in candidates if row["live"]}
        for row in self._client.among(
            DOCUMENTS, "id", documents, ["id", "content"], where=where, reading="strong"
        ):
            contents[row["id"]] = row["content"]
        return [row["id"] for row in candidates if is_orphan(row)]

"""Chunks of documents: a document whose text was embedded for another place takes the vectors over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qmd.store.milvus.client import HEAVY, Row
from qmd.store.milvus.garbage import Removal
from qmd.store.milvus.ids import number
from qmd.store.milvus.schema import CHUNK, vectors


class Placing(Removal):
    """Which chunks a document has."""

    #: Terms that are known to be in the vocabulary.
    _vocabulary: set[str]

    def _place(self, documents: Sequence[Row]) -> None:
        """Give documents the vectors that their texts have elsewhere, or had."""
        for embedder in self._embedders("strong") if documents else ():
            contents = {int(row["content"]) for row in documents}
            known: dict[int, dict[int, Row]] = {}
            for row in self._client.among(
                vectors(embedder), "content", contents, CHUNK, reading="strong", page=HEAVY
            ):
                known.setdefault(int(row["content"]), {})[int(row["seq"])] = row
            self._put_chunks(
                embedder,
                [
                    chunk_of(document, chunk)
                    for document in documents
                    for _, chunk in sorted(known.get(int(document["content"]), {}).items())
                ],
            )

    def _put_chunks(self, embedder: str, chunks: Iterable[Row]) -> None:
        """Write chunks; the first of each text last, for where it is there the others are."""
        rows = sorted(chunks, key=lambda row: -int(row["seq"]))
        if rows:
            self._client.put(vectors(embedder), rows, dimension=len(rows[0]["vector"]))


def chunk_of(document: Row, chunk: Row) -> Row:
    """A chunk as one of this document."""
    return {
        **chunk,
        "id": number("chunk", int(document["id"]), int(document["content"]), int(chunk["seq"])),
        "document": int(document["id"]),
        "collection": int(document["collection"]),
        "live": True,
        "content": int(document["content"]),
        "author_folded": document["author_folded"],
        "date": document["date"],
    }

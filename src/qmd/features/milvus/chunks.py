"""The chunks of documents. A document whose text is already embedded elsewhere gets copies of its vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from qmd.features.milvus.client import HEAVY, Row, StoreClient
from qmd.features.milvus.schema import CHUNK, LIVE, number, vector_table
from qmd.features.milvus.state import MilvusState
from qmd.types import Chunk

#: The fields of a `Chunk`.
CHUNK_FIELDS = ("seq", "start", "end", "first_line", "last_line")


def to_chunk(row: Row) -> Chunk:
    return Chunk(*(int(row[field]) for field in CHUNK_FIELDS))


class Chunks(Struct):
    """Chunks of documents, for every embedder."""

    _client: StoreClient
    _state: MilvusState

    def copy_to(self, documents: Sequence[Row]) -> None:
        """Give documents the vectors that their texts have in other documents, or had before."""
        for embedder in self._state.embedders("strong") if documents else ():
            contents, name = {row["content"] for row in documents}, vector_table(embedder)
            by_content: dict[int, dict[int, Row]] = {}
            for row in self._client.among(name, "content", contents, CHUNK, reading="strong", page=HEAVY):
                by_content.setdefault(row["content"], {})[row["seq"]] = row
            self.put(
                embedder,
                [
                    chunk_of(document, chunk)
                    for document in documents
                    for _, chunk in sorted(by_content.get(document["content"], {}).items())
                ],
            )

    def hide_replaced(self, contents: Mapping[int, int], removed: Collection[int]) -> None:
        """Hide the chunks of former texts.

        Args:
            contents: The current text of each changed document.
            removed: Ids of removed documents.
        """
        affected = contents.keys() | set(removed)
        for embedder in self._state.embedders("strong") if affected else ():
            name = vector_table(embedder)
            rows = self._client.among(
                name, "document", affected, CHUNK, where=LIVE, reading="strong", page=HEAVY
            )
            former = (row for row in rows if contents.get(row["document"]) != row["content"])
            self.put(embedder, ({**row, "live": False} for row in former))

    def put(self, embedder: str, chunks: Iterable[Row]) -> None:
        """Write chunks. The first chunk of each text is written last: it shows that the text is complete."""
        rows = sorted(chunks, key=lambda row: -row["seq"])
        if rows:
            self._client.put(vector_table(embedder), rows, dimension=len(rows[0]["vector"]))


def chunk_of(document: Row, chunk: Row) -> Row:
    """Return a chunk as a chunk of this document."""
    return {
        **chunk,
        "id": number("chunk", document["id"], document["content"], chunk["seq"]),
        "document": document["id"],
        "collection": document["collection"],
        "live": True,
        "content": document["content"],
        "author_folded": "",
        "date": document["date"],
    }

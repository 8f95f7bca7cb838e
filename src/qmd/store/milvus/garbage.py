"""Taking documents and texts away: what hides a document first, then what it leaves behind.

A mark in `STATE` says that something may have been left: texts without documents, chunks of documents that
are gone or have another text by now. It is set before the work and taken away by `prune`, so that a process
that was killed in between leaves it for the next one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from qmd.store.milvus.client import HEAVY, literal, quoted
from qmd.store.milvus.part import LOOSE, UNCOUNTED, Part
from qmd.store.milvus.schema import CHUNK, DOCUMENTS, TEXTS, vectors

#: Between writing a text and the document that has it passes less than this, in seconds.
_SETTLING = 180


@dataclass(slots=True)
class Loose:
    """What nothing uses: removed documents, texts by number with their bytes, chunks by embedder."""

    documents: list[int] = field(default_factory=list)
    texts: dict[int, int] = field(default_factory=dict)
    chunks: dict[str, list[int]] = field(default_factory=dict)
    #: Texts that another writer may be about to use: left for the next time.
    settling: bool = False
    #: What a text fulfils that nobody is about to use.
    settled: str = ""


class Removal(Part):
    """Removing, and finding what was left behind."""

    def _mark_loose(self) -> None:
        self._set_states({LOOSE: self._writer})

    def _mark_uncounted(self) -> None:
        self._set_states({UNCOUNTED + self._writer: ""})

    def prune(self) -> int:
        """Drop texts that no document has any more, with their vectors; returns how many."""
        if self._state(LOOSE, "strong") is None:
            return 0
        # Before the look: what is left behind from here on sets it again.
        self._forget_state(LOOSE)
        loose = self._loose()
        self._drop(loose)
        if loose.settling:
            self._mark_loose()
        return len(loose.texts)

    def _drop(self, loose: Loose) -> None:
        self._client.delete_among(DOCUMENTS, "id", loose.documents, where="live == false")
        for embedder, chunks in loose.chunks.items():
            self._client.delete_among(vectors(embedder), "id", chunks)
        # Another writer may be about to use one of them again: then it has written it anew.
        self._client.delete_among(TEXTS, "content", loose.texts, where=loose.settled)

    def _drop_documents(self, collection: int) -> int:
        """Drop all documents of a collection; texts and vectors stay until they are pruned."""
        self._mark_loose()
        self._mark_uncounted()
        where = f"collection == {collection}"
        dropped = self._client.count(DOCUMENTS, f"{where} and live == true", reading="strong")
        self._client.delete(DOCUMENTS, where)
        for embedder in self._embedders("strong"):
            self._retire(embedder, f"{where} and live == true")
        return dropped

    def _retire(self, embedder: str, where: str) -> None:
        """Hide chunks from searches; a document that has the same text may still take their vectors over."""
        name = vectors(embedder)
        batch = [{**row, "live": False} for row in self._client.all(name, where, CHUNK, page=HEAVY)]
        if batch:
            self._client.put(name, batch, dimension=len(batch[0]["vector"]))

    def _loose(self, kept: Iterable[int] | None = None) -> Loose:
        """All that is loose; `kept` are the collections whose documents count, all where it is None."""
        loose = Loose()
        where = "live == true"
        if kept is not None:
            where += f" and collection in {literal(sorted(kept))}"
        contents = {
            int(row["id"]): int(row["content"])
            for row in self._client.all(DOCUMENTS, where, ["id", "content"])
        }
        loose.documents = [int(row["id"]) for row in self._client.all(DOCUMENTS, "live == false", ["id"])]
        used = set(contents.values())
        before = int(time.time()) - _SETTLING
        loose.settled = f"(at < {before} or writer == {quoted(self._writer)})"
        for row in self._client.all(TEXTS, "part == 0", ["content", "bytes", "writer", "at"]):
            if int(row["content"]) in used:
                continue
            if row["writer"] == self._writer or int(row["at"]) < before:
                loose.texts[int(row["content"])] = int(row["bytes"])
            else:
                loose.settling = True
        for embedder in self._embedders("strong"):
            rows = self._client.all(vectors(embedder), "", ["id", "document", "content", "live"])
            found = [
                row
                for row in rows
                if not row["live"] or contents.get(int(row["document"])) != int(row["content"])
            ]
            # Another writer may have indexed and embedded these since the documents were read.
            asked = {int(row["document"]) for row in found if row["live"]}
            for row in self._client.among(
                DOCUMENTS, "id", asked, ["id", "content"], where=where, reading="strong"
            ):
                contents[int(row["id"])] = int(row["content"])
            loose.chunks[embedder] = [
                int(row["id"])
                for row in found
                if not row["live"] or contents.get(int(row["document"])) != int(row["content"])
            ]
        return loose

"""Keeping the index small and whole: what it can do without, and what is wrong in it."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping

from qmd.errors import StoreError
from qmd.store.base import Fault, Keep, OnPages, OnStep, Waste
from qmd.store.milvus.client import quoted
from qmd.store.milvus.schema import ANSWERS, DOCUMENTS, TEXTS, vectors
from qmd.store.milvus.vectors import VectorsPart
from qmd.store.records import written

#: Texts whose hash is worked out again.
_HASHED = 20
_REINDEX = "run 'qmd collection remove' and 'add' for it: the index is made from your files alone"


class UpkeepPart(VectorsPart):
    """Waste and faults."""

    @property
    @abstractmethod
    def location(self) -> str: ...

    def waste(self, keep: Keep) -> list[Waste]:
        """What the index can do without; kinds of which there is nothing are left out."""
        kept, others = self._split(keep)
        found = [self._old_answers(keep)]
        gone = [
            len(str(row["path"])) + len(str(row["title"]))
            for identity in others
            for row in self._client.all(
                DOCUMENTS, f"collection == {identity} and live == true", ["path", "title"]
            )
        ]
        found.append(Waste("documents", len(gone), sum(gone)))
        loose = self._loose(kept)
        found.append(Waste("texts", len(loose.texts), sum(loose.texts.values())))
        known = self._embedders("strong")
        unused = [each for each in known if keep.embedders is not None and each not in keep.embedders]
        counts = {each: self._client.count(vectors(each), "", reading="strong") for each in unused}
        size = sum(4 * known[each]["dimension"] * count for each, count in counts.items())
        found.append(Waste("vectors", sum(counts.values()), size))
        slots = {each: len(ids) for each, ids in loose.chunks.items() if each not in unused}
        size = sum(4 * known[each]["dimension"] * count for each, count in slots.items())
        found.append(Waste("slots", sum(slots.values()) + len(loose.documents), size))
        return [waste for waste in found if waste.count]

    def clear(self, keep: Keep, on_step: OnStep) -> None:
        """Let go of what `waste` finds, a kind at a time."""
        on_step("Forgetting old answers")
        self._client.delete(ANSWERS, f"at < {quoted(written(keep.answers_since))}")
        _, others = self._split(keep)
        for identity in others:
            on_step("Dropping documents")
            self._drop_documents(identity)
            self._forget_collection(identity)
        if keep.embedders is not None:
            on_step("Dropping vectors")
            self._drop_embedders([each for each in self._embedders("strong") if each not in keep.embedders])
        on_step("Dropping texts")
        self._drop(self._loose())
        self._client.flush()

    def backup(self, path: str, notes: Mapping[str, bytes], on_pages: OnPages) -> None:
        """Raises `StoreError`: what is in Milvus is backed up with Milvus' own tools."""
        raise StoreError(
            f"{self.location} cannot be copied to a file as it is",
            "use Milvus' own backup, or 'qmd store copy' to a SQLite file",
        )

    def faults(self, on_step: OnStep) -> list[Fault]:
        """What is wrong in the index. Reads all of it, and changes nothing."""
        on_step("Checking the documents")
        return list(self._contradictions())

    def _split(self, keep: Keep) -> tuple[list[int] | None, list[int]]:
        """(collections that stay, None for all; collections that go)."""
        if keep.collections is None:
            return None, []
        known = self._collections("strong")
        kept = [key for key, fields in known.items() if fields["name"] in keep.collections]
        return kept, [key for key in known if key not in kept]

    def _old_answers(self, keep: Keep) -> Waste:
        where = f"at < {quoted(written(keep.answers_since))}"
        sizes = [
            len(str(row["key"]).encode()) + len(str(row["value"]).encode())
            for row in self._client.all(ANSWERS, where, ["key", "value"], page=2_000)
        ]
        return Waste("answers", len(sizes), sum(sizes))

    def _contradictions(self) -> Iterator[Fault]:
        rows = {
            int(row["content"]): str(row["hash"])
            for row in self._client.all(DOCUMENTS, "live == true", ["content", "hash"])
        }
        texts = {int(row["content"]) for row in self._client.all(TEXTS, "part == 0", ["content"])}
        missing = rows.keys() - texts
        if missing:
            yield Fault(f"{len(missing):,} documents have no text", _REINDEX)
        looked = sorted(rows.keys() & texts)[:: max(1, len(rows) // _HASHED)][:_HASHED]
        held = self.contents(looked)
        changed = sum(hashlib.sha256(held[each].encode("utf-8")).hexdigest() != rows[each] for each in looked)
        if changed:
            yield Fault(f"{changed} of {len(looked)} texts are not what was indexed", _REINDEX)

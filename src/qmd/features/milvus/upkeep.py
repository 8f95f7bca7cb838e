"""Checks and cleanups of an index in Milvus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from qmd.features.milvus.client import quoted
from qmd.features.milvus.field_rows import ADDRESS, read_texts
from qmd.features.milvus.parts import MilvusPart, Shared
from qmd.features.milvus.schema import ANSWERS, DOCUMENTS, LIVE, TEXTS, vector_table
from qmd.features.milvus.vector_sets import VectorSets
from qmd.store import base
from qmd.store.records import field_keys, is_changed
from qmd.store.values import IndexFault, OnStep, Retention, Waste
from qmd.text.values import DATE_ORIGIN
from qmd.types.clock import timestamp

#: Texts whose hash is compared with the stored one.
_SAMPLED_TEXTS = 20
_REINDEX = "run 'qmd collection remove' and 'add' for it: the index is made from your files alone"


class Upkeep(MilvusPart, base.Upkeep):
    """Finds faults and unneeded data."""

    def __init__(self, shared: Shared, vector_sets: VectorSets) -> None:
        super().__init__(shared)
        self._vector_sets = vector_sets

    def waste(self, keep: Retention) -> list[Waste]:
        kept, dropped = self._split(keep)
        result = [self._old_answers(keep)]
        sizes = [
            len(row["path"]) + len(row["title"])
            for identity in dropped
            for row in self._client.all(DOCUMENTS, f"collection == {identity} and {LIVE}", ["path", "title"])
        ]
        result.append(Waste("documents", len(sizes), sum(sizes)))
        orphans = self._garbage.orphans(kept)
        result.append(Waste("texts", len(orphans.texts), sum(orphans.texts.values())))
        vectors = slots = vector_bytes = slot_bytes = 0
        for embedder, (_, dimension) in self._state.embedders("strong").items():
            if keep.embedders is None or embedder in keep.embedders:
                count = len(orphans.chunks.get(embedder, ()))
                slots += count
                slot_bytes += 4 * dimension * count
            else:
                count = self._client.count(vector_table(embedder), "", reading="strong")
                vectors += count
                vector_bytes += 4 * dimension * count
        result.append(Waste("vectors", vectors, vector_bytes))
        result.append(Waste("slots", slots + len(orphans.documents) + len(orphans.fields), slot_bytes))
        return [waste for waste in result if waste.count]

    def clear(self, keep: Retention, on_step: OnStep) -> None:
        on_step("Deleting old answers")
        self._client.delete(ANSWERS, f"at < {quoted(timestamp(keep.answers_since))}")
        _, dropped = self._split(keep)
        for identity in dropped:
            on_step("Dropping documents")
            self._garbage.drop_collection(identity)
        if keep.embedders is not None:
            on_step("Dropping vectors")
            self._vector_sets.drop_embedders(self._state.embedders("strong").keys() - set(keep.embedders))
        on_step("Dropping texts")
        self._garbage.delete(self._garbage.orphans())
        self._client.flush()

    def faults(self, on_step: OnStep) -> list[IndexFault]:
        # Of the texts, a sample is read.
        on_step("Checking the documents")
        return list(self._contradictions())

    def _split(self, keep: Retention) -> tuple[list[int] | None, list[int]]:
        """Return the ids of collections to keep, None for all, and of collections to drop."""
        if keep.collections is None:
            return None, []
        existing = self._state.collections("strong")
        kept = [key for key, fields in existing.items() if fields["name"] in keep.collections]
        return kept, [key for key in existing if key not in kept]

    def _old_answers(self, keep: Retention) -> Waste:
        where = f"at < {quoted(timestamp(keep.answers_since))}"
        sizes = [
            len(row["key"].encode()) + len(row["value"].encode())
            for row in self._client.all(ANSWERS, where, ["key", "value"], page=2_000)
        ]
        return Waste("answers", len(sizes), sum(sizes))

    def _contradictions(self) -> Iterator[IndexFault]:
        hashes = {
            row["content"]: row["hash"] for row in self._client.all(DOCUMENTS, LIVE, ["content", "hash"])
        }
        stored = {row["content"] for row in self._client.all(TEXTS, "part == 0", ["content"])}
        missing = hashes.keys() - stored
        if missing:
            yield IndexFault(f"{len(missing):,} documents have no text", _REINDEX)
        step = max(1, len(hashes) // _SAMPLED_TEXTS)
        sampled = sorted(hashes.keys() & stored)[::step][:_SAMPLED_TEXTS]
        texts = read_texts(self._client, sampled)
        changed = sum(
            hashlib.sha256(texts[content].encode("utf-8")).hexdigest() != hashes[content]
            for content in sampled
        )
        if changed:
            yield IndexFault(f"{changed} of {len(sampled)} texts are not what was indexed", _REINDEX)
            return
        documents = list(self._live("content", sampled, ADDRESS))
        stored_of = self._field_rows.fields(documents)
        changed = sum(
            is_changed(
                texts[row["content"]], row["path"], row["author"], field_keys(stored_of.get(row["id"], {}))
            )
            for row in documents
            if DATE_ORIGIN in stored_of.get(row["id"], {})  # others are read again by the next scan
        )
        if changed:
            yield IndexFault(
                f"the fields of {changed} of {len(documents)} documents are not in their texts", _REINDEX
            )

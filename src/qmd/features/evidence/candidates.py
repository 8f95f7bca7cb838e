"""The paragraphs of the documents that the searches of a pack have found, with their relevance."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field

from qmd.engine.documents.structures import structures
from qmd.store.base import Store
from qmd.text.layout import divide
from qmd.types import Anchor, Document, Hit, Snippet
from qmd.types.notes import Note
from qmd.types.structure import Structure

#: Documents with a lower score are no candidates. At this one no evidence of the measured sets is lost.
LEAST = 0.1
#: How much of the relevance of a paragraph its neighbours have. This and the exponents below are measured
#: (bench/README.md): an answer often stands beside what was asked.
BESIDE = 0.5
#: The exponents of the score of the document, and of that of the passage relative to the document's best.
OF_DOCUMENT, OF_PASSAGE = 3, 2

#: A code fence up to this many characters is one paragraph.
_FENCE = 1_600
#: Paragraphs are looked for in this many characters of a document, which takes about a second.
_MOST = 8_000_000


class CandidateSource(Struct):
    """A document with its text, its paragraphs, and how relevant they are to each question.

    `relevance` maps the places of paragraphs to a
    list with a number for each question; others have none.
    """

    document: Document
    text: str
    spans: list[tuple[int, int]]
    anchors: Sequence[Anchor]
    scores: list[float]
    structure: Structure
    notes: tuple[Note, ...]
    relevance: dict[int, list[float]] = field(default_factory=dict)

    def add(self, question: int, hit: Hit, skip: Callable[[str], bool]) -> None:
        """Add the relevance to a question, in which the document was found.

        `skip` tells by the paragraph that a passage has the most of whether the passage is passed over.
        """
        best = max((passage.score for passage in hit.passages), default=0.0)
        for passage in hit.passages:
            share = passage.score / best if best > 0 else 1.0
            relevance = hit.score**OF_DOCUMENT * share**OF_PASSAGE
            covered = [*self._covered(passage)]
            start, end = self.spans[max(covered, key=lambda each: each[1])[0]] if covered else (0, 0)
            if skip(self.text[start:end]):
                continue
            for place, part in covered:
                for near, factor in ((place - 1, BESIDE), (place, 1.0), (place + 1, BESIDE)):
                    # Front matter is beside the text, but says other things.
                    if 0 <= near < len(self.spans) and (
                        near == place or self.spans[near][0] >= self.structure.body
                    ):
                        row = self.relevance.setdefault(near, [0.0] * len(self.scores))
                        row[question] = max(row[question], relevance * part * factor)
        self.scores[question] = hit.score

    def _covered(self, passage: Snippet) -> Iterator[tuple[int, float]]:
        """Yield the places of the paragraphs that a passage overlaps, and which share of the more it is."""
        start = self.text.find(passage.text, _line_start(self.text, passage.first_line))
        if start < 0:
            return  # the document was changed meanwhile
        end = start + len(passage.text)
        place = max(0, bisect_right(self.spans, (start, len(self.text))) - 1)
        overlaps = []
        while place < len(self.spans) and self.spans[place][0] < end:
            low, high = self.spans[place]
            overlaps.append(
                (place, (min(high, end) - max(low, start)) / max(1, min(high - low, end - start)))
            )
            place += 1
        yield from ((place, overlap) for place, overlap in overlaps if overlap > 0)


def _line_start(text: str, line: int) -> int:
    """Return the position at which a line begins; lines count from 1."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
    return at


def sources(
    store: Store, found: Sequence[Sequence[Hit]], skip: Callable[[str], bool] = lambda text: False
) -> list[CandidateSource]:
    """Return the documents of some lists of hits, one for each question, each document once.

    `skip` is that of `Source.add`.
    """
    read: dict[str, CandidateSource] = {}
    for question, all_hits in enumerate(found):
        hits = [hit for hit in all_hits if hit.score >= LEAST]
        new = {
            hit.file: store.documents.find(hit.collection, hit.path) for hit in hits if hit.file not in read
        }
        notes = {hit.file: hit.notes for hit in hits}
        ids = [document.id for document in new.values() if document is not None]
        texts, anchors = store.documents.texts(ids), store.fields.anchors(ids)
        known = structures(store, texts)
        for file, document in new.items():
            if document is not None and texts.get(document.id):
                text, structure = texts[document.id], known[document.id]
                read[file] = CandidateSource(
                    document,
                    text,
                    paragraphs(text, structure),
                    anchors.get(document.id, ()),
                    [0.0] * len(found),
                    structure,
                    notes[file],
                )
        for hit in hits:
            if hit.file in read:
                read[hit.file].add(question, hit, skip)
    return [*read.values()]


def paragraphs(text: str, structure: Structure) -> list[tuple[int, int]]:
    """Return the [start, end) spans of the paragraphs of a text, in order, without the space between them.

    They depend on the text alone and not on a query, so the same paragraph is recognized in another pack.
    Long paragraphs are divided at the ends of lines or sentences; code in a fence is not.
    """
    text = text[:_MOST]
    body = structure.body
    spans = [(0, len(text[:body].rstrip()))] if body else []
    kept = [fence for fence in structure.verbatim_spans() if fence[1] - fence[0] <= _FENCE]
    at = 0
    for start, end in divide(text, body, len(text)):
        while at < len(kept) and kept[at][1] <= start:
            at += 1
        inside = at < len(kept) and kept[at][0] < start < kept[at][1]
        if inside and spans and spans[-1][1] > body:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return [(start, start + len(text[start:end].rstrip())) for start, end in spans]

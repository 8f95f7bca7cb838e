"""Find the documents that are similar to one, by the vectors that exist. No model is loaded.

A document is as near as the mean of two cosines with the nearest chunk of the other one: that of its best
chunk, and that of its mean vector. Half as much counts its share of the most telling words. See
bench/README.md for other combinations that were measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.deadline import Stopwatch
from qmd.engine.documents.library import Library
from qmd.engine.documents.links import Links
from qmd.engine.embedding.active_vectors import by_priority
from qmd.engine.retrieval.found import Found
from qmd.engine.retrieval.likelihood import mean_cosine
from qmd.engine.retrieval.search import Search, what_makes_vectors
from qmd.errors import ModelError
from qmd.ranking import fusion
from qmd.ranking.calibration import uncertain
from qmd.text import tokens
from qmd.text.data_uris import without_data
from qmd.text.query import LexicalQuery, parse
from qmd.text.question import Question
from qmd.types import Chunk, Document, Ranked, Stage
from qmd.types.traces import KeywordMatch, Trace, VectorMatch

if TYPE_CHECKING:
    from qmd.store.values import Floats, LexicalMatch, LexicalMatches

#: Chunks of the document that are compared with others; of more, so many are sampled evenly.
CHUNKS = 8
#: The least documents that are found for each chunk, and ranked.
_POOL = 30
#: The weight of the share of the words that a document has.
_OF_WORDS = 0.5
#: The most frequent words of a document, of which the most telling ones are searched.
_WORDS, _TELLING = 100, 25
#: Characters of a document without vectors whose words are counted.
_READ = 20_000


class _Source(Struct, frozen=True):
    """The chunks of a document that are compared, their vectors, and the set that these are in."""

    fingerprint: str
    chunks: Sequence[Chunk]
    vectors: Floats


def find_similar(search: Search) -> tuple[Found, Sequence[Ranked]]:
    """Return the documents that are similar to that of the query, or to the lines that it names.

    Without vectors of the document, they are those with its most telling words. Raises as `Index.get`.
    """
    document, start, count = Library(search.store, search.config).place(search.request.query)
    first, last = start or 1, (start or 1) + count - 1 if count else None
    text = without_data(search.store.documents.texts([document.id]).get(document.id, ""))
    left_out = _left_out(search, document)
    source = _source(search, document, first, last)
    if source is None:
        awaited = what_makes_vectors(search.store.location)
        search.skip("vector", f"{document.file} has no vectors yet: {awaited}")
        part = "\n".join(text.split("\n", last or -1)[first - 1 : last])
        found, matches = _search_words(search, part[:_READ], left_out, search.length)
        bound = found.words.bound if found.words else 0.0
        ranked = fusion.by_words(matches, bound)
        return found, [replace(item, score=uncertain(item.score)) for item in ranked]
    length = max(_POOL, 2 * search.length)
    nearest = _nearest(search, source, left_out, length)
    part = "\n".join(text[chunk.start : chunk.end] for chunk in source.chunks)
    found, matches = _search_words(search, part, left_out, length)
    search.vectors = source.fingerprint, search.scope
    return Found(Question(""), source=text), _ranked(search, source, nearest, found.words, matches)


def _left_out(search: Search, document: Document) -> Set[int]:
    """Return the document and its copies; with `unlinked` also those that it links to, or that link to it."""
    documents = search.store.documents
    copies = documents.by_hash(document.hash)
    left_out = {copy.id for copy in copies if copy.collection in search.config.collections}
    if search.request.unlinked:
        links = Links(search.store)
        left_out.update(links.linking(document))
        for file in {link.to for link in links.outgoing(document) if link.to}:
            linked = documents.find(document.collection, file.partition("/")[2])
            left_out.update([linked.id] if linked else ())
    return left_out


def _source(search: Search, document: Document, first: int, last: int | None) -> _Source | None:
    """Return the vectors to search with; None if there are none of the document."""
    configured = ""
    with suppress(ModelError):  # no model is needed
        configured = search.models.fingerprint
    for known in by_priority(search.store, search.config, configured):
        stored = search.store.vectors.of_texts(known.fingerprint, [document.hash]).get(document.hash)
        if stored is None:
            continue
        chunks, vectors = stored
        inside = [
            at
            for at, chunk in enumerate(chunks)
            if chunk.last_line >= first and (last is None or chunk.first_line <= last)
        ] or [*range(len(chunks))]
        if len(inside) > CHUNKS:
            reason = f"{CHUNKS} of {len(inside)} parts of {document.file} were compared"
            search.stages.append(Stage("sample", "ran", reason))
            inside = [inside[round(at)] for at in np.linspace(0, len(inside) - 1, CHUNKS)]
        return _Source(known.fingerprint, [chunks[at] for at in inside], vectors[inside])
    return None


def _nearest(search: Search, source: _Source, left_out: Set[int], length: int) -> list[int]:
    """Return the documents with the chunks that are nearest to any chunk of the source."""
    stopwatch, best = Stopwatch(), dict[int, float]()
    for vector in source.vectors:
        # Those that are left out take no place of others.
        for match in search.store.vectors.search(
            source.fingerprint, vector, search.scope, length + len(left_out)
        ):
            best[match.document] = max(best.get(match.document, -1.0), match.similarity)
    search.stages.append(Stage("vector", "ran", None, stopwatch.milliseconds()))
    return sorted((each for each in best if each not in left_out), key=lambda each: -best[each])[:length]


def _search_words(
    search: Search, text: str, left_out: Set[int], length: int
) -> tuple[Found, list[LexicalMatch]]:
    """Search for the most telling words of a text: those that are frequent in it and rare elsewhere."""
    stopwatch, lexical = Stopwatch(), search.store.lexical
    counts = Counter(tokens.fold(word) for word in tokens.words(text) if len(word) > 1 and word.isalnum())
    frequent = parse(" ".join(word for word, _ in counts.most_common(_WORDS))).terms
    idf = lexical.search(LexicalQuery(frequent), search.scope, 1, longer=False).idf
    weights = {term: counts[" ".join(term.words)] * idf.get(term.tokens, 0.0) for term in frequent}
    telling = sorted(weights, key=lambda term: -weights[term])[:_TELLING]
    found = Found(Question(" ".join(" ".join(term.words) for term in telling)))
    found.words = lexical.search(found.query, search.scope, length + len(left_out), longer=False)
    search.stages.append(Stage("lexical", "ran", None, stopwatch.milliseconds()))
    return found, [match for match in found.words.matches if match.document not in left_out]


def _ranked(
    search: Search,
    source: _Source,
    nearest: Sequence[int],
    words: LexicalMatches | None,
    matches: Sequence[LexicalMatch],
) -> list[Ranked]:
    """Rank documents by meaning and words, each with its chunk that is nearest, and that of the source."""
    store, by_words = search.store, {match.document: match for match in matches}
    documents = store.documents.by_id([*{*nearest, *by_words}])
    hashes = sorted({document.hash for document in documents.values()})
    stored = store.vectors.of_texts(source.fingerprint, hashes)
    usual, bound = mean_cosine(search, source.fingerprint), words.bound if words else 0.0
    # The order is that of the sums, of which the estimates are only a view.
    ranked: list[tuple[float, Ranked]] = []
    for identity, document in documents.items():
        score, traces, chunk, near = 0.0, list[Trace](), None, None
        if (match := by_words.get(identity)) is not None and bound > 0:
            score = _OF_WORDS * match.score / bound
            traces.append(KeywordMatch(match.score, bound, match.tier))
        if document.hash in stored:
            chunks, vectors = stored[document.hash]
            cosine, at, of_source = _cosine(source.vectors, vectors)
            part = (cosine - usual) / max(1.0 - usual, 1e-6)
            score, chunk, near = score + part, chunks[at], source.chunks[of_source]
            traces.append(VectorMatch(cosine, uncertain(part)))
        item = Ranked(identity, uncertain(score), tuple(traces), chunk=chunk, near=near)
        ranked.append((score, item))
    return [
        item for _, item in sorted(ranked, key=lambda entry: (-entry[0], documents[entry[1].document].file))
    ]


def _cosine(source: Floats, vectors: Floats) -> tuple[float, int, int]:
    """Return how near chunks are to those of the source, and the nearest two: of them, and of the source."""
    # Damaged vectors can be no numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        cosines = np.nan_to_num(source @ vectors.T, nan=-1.0, posinf=-1.0, neginf=-1.0)
        mean = vectors.mean(axis=0)
        whole = np.nan_to_num(source @ mean / max(float(np.linalg.norm(mean)), 1e-12), nan=-1.0)
    of_source, at = divmod(int(cosines.argmax()), len(vectors))
    return float(cosines.max() + whole.max()) / 2, at, of_source

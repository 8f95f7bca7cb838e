"""Score the candidates of a hybrid search by their best passages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.embedding.active_vectors import ActiveVectors
from qmd.engine.embedding.batches import TITLE_CHARACTERS
from qmd.engine.models.egress import disclose, explain_local, local_only
from qmd.engine.retrieval.passages import windows_by_words, windows_of_chunk
from qmd.engine.retrieval.retrievers import DenseResult, LexicalResult, Retrieval
from qmd.errors import QmdError
from qmd.models.base import Cancelled, Frequencies, Reranker, WindowReranker, WindowScores
from qmd.ranking.rerank import Evidence
from qmd.store.base import Store
from qmd.store.values import LEFT_OUT
from qmd.text.highlight import Highlighter
from qmd.text.query import LexicalQuery, as_prose, parse
from qmd.text.tokens import terms
from qmd.types import Chunk, Stage, Window

#: The reranker reads at most this many windows of all candidates together, because they are its cost. All
#: these constants are measured, see bench/README.md.
BUDGET = 60
#: The windows of a candidate that has terms of the query, and of one that has none: there the first windows
#: say little, so its best chunk is read as a whole.
MATCHING, WHOLE = 2, 8
#: The most windows of one candidate if there are few candidates.
MOST = 10
#: Windows of the best chunk take the place of some by words if the best of these has less of the query.
ENOUGH = 0.2


class Candidates(Struct, frozen=True, dict=True):
    """The query of a hybrid search and the user's intent, and the results of the retrievers.

    `vectors` are those searched; None if none were.
    """

    text: str
    intent: str
    lexical: LexicalResult
    dense: DenseResult
    vectors: ActiveVectors | None

    @property
    def coverage(self) -> float:
        """The score of the best keyword match relative to its maximum, 0..1."""
        first = self.lexical.first
        if first is None or first.bound <= 0:
            return 0.0
        best = max((match.score for match in first.matches), default=0.0)
        return min(1.0, best / first.bound)

    @property
    def idf(self) -> Mapping[tuple[str, ...], float]:
        """The idf of the query's terms, empty without keyword matches."""
        return self.lexical.first.idf if self.lexical.first else {}

    @cached_property
    def query(self) -> LexicalQuery:
        return parse(self.text)

    @property
    def rerank_query(self) -> str:
        """The query with the intent."""
        return as_prose(f"{self.text} {self.intent}".strip())

    @cached_property
    def highlighter(self) -> Highlighter:
        """Finds the terms of the query, and those of the intent, each of which counts as the rarest term."""
        intent = parse(self.intent).terms
        rarest = max(self.idf.values(), default=1.0)
        return Highlighter(
            (*self.query.terms, *intent),
            {**dict.fromkeys((term.tokens for term in intent), rarest), **self.idf},
        )

    def chunk(self, document: int) -> Chunk | None:
        match = self.dense.chunks.get(document)
        return match[1] if match else None

    def add_missing_chunks(self, store: Store, documents: Sequence[int]) -> None:
        """Look up the best chunk of candidates that only keywords matched."""
        missing = [document for document in documents if document not in self.dense.chunks]
        if self.vectors is None or self.dense.vector is None or not missing:
            return
        matches = store.vectors.similarities(self.vectors.fingerprint, self.dense.vector, missing)
        for document, match in matches.items():
            self.dense.chunks[document] = (match.similarity, match.chunk)


class Read(Struct, frozen=True):
    """The reranker's score of a candidate, 0..1, and the windows that it has read, with theirs."""

    score: float
    windows: tuple[Window, ...] = ()


def rerank(retrieval: Retrieval, documents: Sequence[int], candidates: Candidates) -> dict[int, Read]:
    """Return scores of the candidates. There are none if the reranker fails or is not ready in time."""
    store, models = retrieval.store, retrieval.models
    local = local_only(retrieval.config, models, "rerank")
    try:
        reranker = models.reranker
    except QmdError as error:
        retrieval.skip("rerank", error.in_one_line())
        return {}
    documents = _sendable(retrieval, documents, local)
    if not documents:
        return {}
    candidates.add_missing_chunks(store, documents)
    windows, texts = _windows(store, documents, candidates)
    if not texts:
        retrieval.skip("rerank", LEFT_OUT, expected=True)
        return {}
    population = retrieval.scope.population
    keys = {
        document: _cache_key(reranker, candidates.rerank_query, passages, population)
        for document, passages in texts.items()
    }
    cached = {document: store.answers.get(key) for document, key in keys.items()}
    scores = {document: json.loads(value) for document, value in cached.items() if value is not None}
    unscored = [document for document in texts if document not in scores]
    if unscored:
        disclose(store, models, "rerank")
        task = retrieval.start(
            lambda: _score(
                reranker,
                candidates.rerank_query,
                [texts[document] for document in unscored],
                _frequencies(store, candidates.vectors, population),
                retrieval.deadline.passed,
            )
        )
        values = retrieval.gather("rerank", task)
        if values is None:
            return {}
        if len(values) < len(unscored):
            retrieval.time_out("rerank")
            return {}
        new_scores = dict(zip(unscored, values, strict=False))
        retrieval.cache({keys[document]: json.dumps(score) for document, score in new_scores.items()})
        scores |= new_scores
    else:
        retrieval.stages.append(Stage("rerank", "ran", "from the cache", 0.0))
    return {
        document: Read(
            score,
            tuple(
                replace(window, score=alone)
                for window, alone in zip(
                    windows[document], by_window[len(by_window) - len(windows[document]) :], strict=False
                )
            ),
        )
        for document, (score, by_window) in scores.items()
    }


def _score(
    reranker: Reranker,
    query: str,
    documents: Sequence[Sequence[str]],
    frequencies: Frequencies | None,
    cancelled: Cancelled,
) -> list[WindowScores]:
    """Return the scores of documents, without those of windows if the reranker reads them as one passage."""
    if isinstance(reranker, WindowReranker):
        return reranker.score_windows(query, documents, frequencies=frequencies, cancelled=cancelled)
    passages = ["\n".join(windows) for windows in documents]
    scores = reranker.score(query, passages, frequencies=frequencies, cancelled=cancelled)
    return [WindowScores(score, []) for score in scores]


def _sendable(retrieval: Retrieval, documents: Sequence[int], local: frozenset[str]) -> Sequence[int]:
    """Return the candidates that the reranker may get; a stage names the collections of the others."""
    if not local:
        return documents
    rows = retrieval.store.documents.by_id(documents)
    collections = {key: document.collection for key, document in rows.items()}
    left_out = local.intersection(collections.values())
    if left_out:
        retrieval.skip("rerank", explain_local(sorted(left_out)), expected=True)
    return [document for document in documents if collections.get(document) not in left_out]


def gather_evidence(
    store: Store, documents: Sequence[int], scores: Mapping[int, Read], candidates: Candidates
) -> dict[int, Evidence]:
    """Return the signals that the tuned ranking combines; none without scores of the reranker."""
    if not scores:
        return {}
    titles = {key: document.title for key, document in store.documents.by_id(documents).items()}
    evidence: dict[int, Evidence] = {}
    for document in documents:
        match = candidates.dense.chunks.get(document)
        title = _title_share(titles.get(document, ""), candidates)
        evidence[document] = Evidence(
            scores[document].score if document in scores else None, title, match[0] if match else None
        )
    return evidence


def _title_share(title: str, candidates: Candidates) -> float:
    """Return the share of the query's terms in a title, weighted by idf."""
    idf = candidates.idf
    total = sum(idf.get(term.tokens, 0.0) for term in candidates.query.terms)
    if total <= 0:
        return 0.0
    joined = f" {' '.join(terms(title))} "
    in_title = sum(
        idf.get(term.tokens, 0.0)
        for term in candidates.query.terms
        if f" {' '.join(term.tokens)}{'' if term.prefix else ' '}" in joined
    )
    return in_title / total


def _windows(
    store: Store, documents: Sequence[int], candidates: Candidates
) -> tuple[dict[int, list[Window]], dict[int, list[str]]]:
    """Return the windows to read of each candidate, and their texts in the same order.

    The first candidates are read first: the others are left out if the budget is spent. The title of the
    document comes before its texts if no window is at the beginning, because they do not tell its subject.
    """
    texts, rows = store.documents.texts(documents), store.documents.by_id(documents)
    highlighter = candidates.highlighter
    most = min(MOST, max(MATCHING, BUDGET // max(1, len(documents))))
    windows: dict[int, list[Window]] = {}
    passages: dict[int, list[str]] = {}
    left = BUDGET
    for document in documents:
        text = texts.get(document)
        if not text or document not in rows or left <= 0:
            continue
        found = windows_by_words(text, highlighter)
        found = found[: round(most * min(1.0, found[0].share / ENOUGH)) if found else 0]
        if len(found) < most:
            spans = {(window.start, window.end) for window in found}
            rest = [
                window
                for window in windows_of_chunk(text, candidates.chunk(document))
                if (window.start, window.end) not in spans
            ]
            found += rest[: (most if found else max(most, WHOLE)) - len(found)]
        windows[document] = found
        title = [rows[document].title[:TITLE_CHARACTERS]] if all(window.start for window in found) else []
        passages[document] = [*title, *(text[window.start : window.end] for window in found)]
        left -= len(found)
    return windows, passages


def _frequencies(
    store: Store, vectors: ActiveVectors | None, population: tuple[str, ...] | None
) -> Frequencies | None:
    if vectors is None:
        return None
    return lambda tokens: store.vector_sets.token_frequencies(vectors.fingerprint, tokens, population)


def _cache_key(
    reranker: Reranker, query: str, passages: Sequence[str], population: tuple[str, ...] | None
) -> str:
    # Scores depend on the population, and a cached score reveals that the same query was asked.
    parts: list[object] = ["windows and cosines", reranker.name, query, *passages]
    text = json.dumps(parts if population is None else [*parts, population], ensure_ascii=False)
    return "rerank:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

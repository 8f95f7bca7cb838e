"""Score the candidates of a hybrid search by their best passages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qmd.engine.embedding.active_vectors import ActiveVectors
from qmd.engine.embedding.batches import TITLE_CHARACTERS
from qmd.engine.models.egress import disclose, explain_local, local_only
from qmd.engine.retrieval.retrievers import DenseResult, LexicalResult, Retrieval
from qmd.errors import QmdError
from qmd.models.base import Frequencies, Reranker
from qmd.ranking.rerank import Evidence
from qmd.store.base import Store
from qmd.text.highlight import Highlighter
from qmd.text.query import LexicalQuery
from qmd.text.snippet import window
from qmd.text.tokens import terms
from qmd.types import Chunk, Stage

#: The reranker reads at most this many tokens of a chunk, because they are its cost: the part that contains
#: most of the query.
PASSAGE_TOKENS = 110
#: Characters per token of the default tokenizer, approximately, in scripts with spaces and without.
_SPACED, _UNSPACED = 4.0, 1.6


@dataclass(frozen=True, slots=True)
class Candidates:
    """The query of a hybrid search, parsed and as text, and the results of its retrievers.

    `rerank_query` is the query with the user's intent. `vectors` are those searched; None if none were.
    """

    query: LexicalQuery
    rerank_query: str
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

    @property
    def highlighter(self) -> Highlighter:
        return Highlighter(self.query.terms, self.idf)

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


def rerank(retrieval: Retrieval, documents: Sequence[int], candidates: Candidates) -> dict[int, float]:
    """Return scores of the candidates, 0..1. There are none if the reranker fails or is not ready in time."""
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
    passages = _passages(store, documents, candidates)
    population = retrieval.scope.population
    keys = {
        document: _cache_key(reranker, candidates.rerank_query, passage, population)
        for document, passage in passages.items()
    }
    cached = {document: store.answers.get(key) for document, key in keys.items()}
    scores = {document: float(value) for document, value in cached.items() if value is not None}
    unscored = [document for document in passages if document not in scores]
    if not unscored:
        retrieval.stages.append(Stage("rerank", "ran", "from the cache", 0.0))
        return scores
    disclose(store, models, "rerank")
    task = retrieval.start(
        lambda: reranker.score(
            candidates.rerank_query,
            [passages[document] for document in unscored],
            frequencies=_frequencies(store, candidates.vectors, population),
            cancelled=retrieval.deadline.passed,
        )
    )
    values = retrieval.gather("rerank", task)
    if values is None:
        return {}
    if len(values) < len(unscored):
        retrieval.time_out("rerank")
        return {}
    new_scores = dict(zip(unscored, values, strict=False))
    retrieval.cache({keys[document]: repr(score) for document, score in new_scores.items()})
    return scores | new_scores


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
    store: Store, documents: Sequence[int], scores: Mapping[int, float], candidates: Candidates
) -> dict[int, Evidence]:
    """Return the signals that the tuned ranking combines; none without scores of the reranker."""
    if not scores:
        return {}
    titles = {key: document.title for key, document in store.documents.by_id(documents).items()}
    evidence: dict[int, Evidence] = {}
    for document in documents:
        match = candidates.dense.chunks.get(document)
        title = _title_share(titles.get(document, ""), candidates)
        evidence[document] = Evidence(scores.get(document), title, match[0] if match else None)
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


def _passages(store: Store, documents: Sequence[int], candidates: Candidates) -> dict[int, str]:
    """Return the best passage of each candidate: from its chunk, otherwise from the whole text.

    The title comes before a passage that is not at the beginning, because the passage alone does not tell
    the subject of the document.
    """
    texts, rows = store.documents.texts(documents), store.documents.by_id(documents)
    highlighter = candidates.highlighter
    passages: dict[int, str] = {}
    for document in documents:
        text = texts.get(document)
        if text is None or document not in rows:
            continue
        chunk = candidates.chunk(document)
        start, end = (chunk.start, min(chunk.end, len(text))) if chunk else (0, len(text))
        low, high = window(text, highlighter, (start, end), _width(text[start : start + 400]))
        title = f"{rows[document].title[:TITLE_CHARACTERS]}\n" if low else ""
        passages[document] = title + text[low:high]
    return passages


def _width(sample: str) -> int:
    """Estimate how many characters of a text like this make `PASSAGE_TOKENS` tokens."""
    unspaced = sum(character > "\u0e00" for character in sample) / max(1, len(sample))
    return int(PASSAGE_TOKENS / (unspaced / _UNSPACED + (1.0 - unspaced) / _SPACED))


def _frequencies(
    store: Store, vectors: ActiveVectors | None, population: tuple[str, ...] | None
) -> Frequencies | None:
    if vectors is None:
        return None
    return lambda tokens: store.vector_sets.token_frequencies(vectors.fingerprint, tokens, population)


def _cache_key(reranker: Reranker, query: str, passage: str, population: tuple[str, ...] | None) -> str:
    # Scores depend on the population, and a cached score reveals that the same query was asked.
    parts: list[object] = ["rerank", reranker.name, query, passage]
    text = json.dumps(parts if population is None else [*parts, population], ensure_ascii=False)
    return "rerank:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

"""The candidates of a hybrid search, judged by passage (E42)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qmd.engine.embedding.batches import TITLE_CHARACTERS
from qmd.engine.models.egress import disclose, explain_local
from qmd.engine.models.provider import ModelProvider
from qmd.engine.retrieval.retrievers import DenseResult, Retrieval
from qmd.errors import QmdError
from qmd.models.base import Frequencies, Reranker
from qmd.ranking.rerank import Evidence
from qmd.store.base import LexicalMatches, Store
from qmd.text.highlight import Highlighter
from qmd.text.query import LexicalQuery
from qmd.text.snippet import window
from qmd.text.tokens import terms
from qmd.types import Chunk, Stage

#: The reranker's cost is the tokens it reads: of a longer chunk it is given the part with most of the query.
PASSAGE_TOKENS = 110
#: Characters to a token of the default tokenizer, about: in spaced and in unspaced scripts.
_SPACED, _UNSPACED = 4.0, 1.6


@dataclass(slots=True)
class Candidates:
    """What the legs know of the candidates."""

    query: LexicalQuery
    text: str
    intent: str | None
    lexical: LexicalMatches | None
    dense: DenseResult
    fingerprint: str | None
    population: tuple[str, ...] | None = None

    @property
    def coverage(self) -> float:
        """The score of the best keyword match relative to its maximum, 0..1."""
        if self.lexical is None or self.lexical.bound <= 0:
            return 0.0
        return min(
            1.0, max((match.score for match in self.lexical.matches), default=0.0) / self.lexical.bound
        )

    @property
    def judged_by(self) -> str:
        """The query that passages are judged by; the intent steers it."""
        return f"{self.text} {self.intent}" if self.intent else self.text

    def chunk(self, document: int) -> Chunk | None:
        """The chunk that matched by vector."""
        known = self.dense.chunks.get(document)
        return known[1] if known else None

    def complete(self, store: Store, documents: Sequence[int]) -> None:
        """Look up the best chunk of candidates that only the keywords found."""
        missing = [document for document in documents if document not in self.dense.chunks]
        if self.fingerprint is None or self.dense.vector is None or not missing:
            return
        for document, match in store.similarities(self.fingerprint, self.dense.vector, missing).items():
            self.dense.chunks[document] = (match.similarity, match.chunk)


def rerank_stage(
    store: Store,
    roles: ModelProvider,
    legs: Retrieval,
    documents: Sequence[int],
    candidates: Candidates,
    private: frozenset[str] = frozenset(),
) -> dict[int, float]:
    """Scores of the candidates, 0..1; fewer than asked, or none, where the reranker failed or was late.

    Candidates of the collections in `private` are not shown to it.
    """
    try:
        reranker = roles.reranker
    except QmdError as error:
        legs.skip("rerank", error.in_one_line())
        return {}
    documents = _sendable(store, legs, documents, private)
    if not documents:
        return {}
    candidates.complete(store, documents)
    passages = _passages(store, documents, candidates)
    known, keys = _cached(store, reranker, passages, candidates)
    wanted = [document for document in passages if document not in known]
    if wanted:
        disclose(store, roles, "rerank")
        started = legs.start(
            lambda: reranker.score(
                candidates.judged_by,
                [passages[document] for document in wanted],
                frequencies=_frequencies(store, candidates),
                cancelled=legs.late_already,
            )
        )
        scores = legs.gather("rerank", started)
        if scores is None:
            return {}
        fresh = dict(zip(wanted, scores, strict=False))
        if len(fresh) < len(wanted):
            legs.late("rerank")
            return {}
        _remember(store, legs, {keys[document]: score for document, score in fresh.items()})
        known |= fresh
    else:
        legs.stages.append(Stage("rerank", "ran", "from the cache", 0.0))
    return known


def _sendable(
    store: Store, legs: Retrieval, documents: Sequence[int], private: frozenset[str]
) -> Sequence[int]:
    """The candidates that may be shown to the reranker; the stage names the collections of the others."""
    if not private:
        return documents
    homes = {key: document.collection for key, document in store.documents(documents).items()}
    left_out = private.intersection(homes.values())
    if left_out:
        legs.skip("rerank", explain_local(sorted(left_out)), expected=True)
    return [each for each in documents if homes.get(each) not in left_out]


def gather_evidence(
    store: Store, documents: Sequence[int], scores: Mapping[int, float], candidates: Candidates
) -> dict[int, Evidence]:
    """What the tuned ranking adds to the reranker's scores."""
    if not scores:
        return {}
    titles = {key: document.title for key, document in store.documents(documents).items()}
    evidence: dict[int, Evidence] = {}
    for document in documents:
        known = candidates.dense.chunks.get(document)
        evidence[document] = Evidence(
            rerank=scores.get(document),
            title=_title_share(titles.get(document, ""), candidates),
            cosine=known[0] if known else None,
        )
    return evidence


def _title_share(title: str, candidates: Candidates) -> float:
    """The share of the query's rarity (idf) whose terms stand in the title."""
    idf = candidates.lexical.idf if candidates.lexical else {}
    total = sum(idf.get(term.tokens, 0.0) for term in candidates.query.terms)
    if total <= 0:
        return 0.0
    joined = f" {' '.join(terms(title))} "
    held = sum(
        idf.get(term.tokens, 0.0)
        for term in candidates.query.terms
        if f" {' '.join(term.tokens)}{'' if term.prefix else ' '}" in joined
    )
    return held / total


def _passages(store: Store, documents: Sequence[int], candidates: Candidates) -> dict[int, str]:
    """The best passage of each candidate: in its chunk, else where the query's words are.

    A passage from further down does not say what it belongs to, so its document's title goes before it.
    """
    texts, known = store.texts(documents), store.documents(documents)
    marker = Highlighter(candidates.query.terms, candidates.lexical.idf if candidates.lexical else None)
    passages: dict[int, str] = {}
    for document in documents:
        text = texts.get(document)
        if text is None or document not in known:
            continue
        chunk = candidates.chunk(document)
        span = (chunk.start, min(chunk.end, len(text))) if chunk else (0, len(text))
        low, high = window(text, marker, span, _width(text[span[0] : span[0] + 400]))
        title = f"{known[document].title[:TITLE_CHARACTERS]}\n" if low else ""
        passages[document] = title + text[low:high]
    return passages


def _width(sample: str) -> int:
    """About how many characters of a text like this are `PASSAGE_TOKENS`."""
    unspaced = sum(character > "\u0e00" for character in sample) / max(1, len(sample))
    return int(PASSAGE_TOKENS / (unspaced / _UNSPACED + (1.0 - unspaced) / _SPACED))


def _frequencies(store: Store, candidates: Candidates) -> Frequencies | None:
    fingerprint = candidates.fingerprint
    if fingerprint is None:
        return None
    return lambda tokens: store.token_frequencies(fingerprint, tokens, candidates.population)


def _key(reranker: Reranker, query: str, passage: str, population: Sequence[str] | None) -> str:
    parts: list[object] = ["rerank", reranker.name, query, passage]
    if population is not None:
        # Scores depend on the population, and that one is there says that somebody asked.
        parts.append(population)
    text = json.dumps(parts, ensure_ascii=False)
    return "rerank:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _cached(
    store: Store, reranker: Reranker, passages: Mapping[int, str], candidates: Candidates
) -> tuple[dict[int, float], dict[int, str]]:
    keys = {
        document: _key(reranker, candidates.judged_by, passage, candidates.population)
        for document, passage in passages.items()
    }
    found = {document: store.cache_get(key) for document, key in keys.items()}
    return {document: float(value) for document, value in found.items() if value is not None}, keys


def _remember(store: Store, legs: Retrieval, scores: Mapping[str, float]) -> None:
    """Keep the scores; an index that cannot be written answers all the same, and says so."""
    try:
        store.cache_put({key: repr(score) for key, score in scores.items()})
    except QmdError as error:
        legs.stages.append(Stage("cache", "failed", error.in_one_line()))

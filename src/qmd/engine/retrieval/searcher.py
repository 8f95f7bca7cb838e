"""Search by meaning, and by words and meaning together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qmd.engine.embedding.active_vectors import ActiveVectors, select
from qmd.engine.models import egress
from qmd.engine.models.provider import ModelProvider
from qmd.engine.requests import ALL, DEFAULT_RANKING, SearchRequest
from qmd.engine.retrieval.deadline import Deadline, Stopwatch
from qmd.engine.retrieval.expansion import expand
from qmd.engine.retrieval.filters import NO_TERMS, scope_of, without_filters
from qmd.engine.retrieval.hits import make_hits
from qmd.engine.retrieval.reranking import Candidates, gather_evidence, rerank
from qmd.engine.retrieval.retrievers import (
    DenseResult,
    LexicalResult,
    Retrieval,
    SubQuery,
    retrieve_dense,
    retrieve_lexical,
)
from qmd.errors import ModelError, NotFoundError, QmdError, VectorIndexMissingError
from qmd.models.base import Cancelled, Variant
from qmd.ranking import rerank as rankings
from qmd.ranking.fusion import Fused, best_of, convex, reciprocal_rank
from qmd.store.base import Scope, Store
from qmd.text.highlight import Highlighter
from qmd.text.query import parse, parse_document, refuse_exclusions
from qmd.types import Config, Ranked, Ranking, SearchResponse, Stage, TypedSearch

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

#: Documents of each list before fusion.
LIST_LENGTH = 100


class Searcher:
    """Runs searches that use vectors, each with its stages in threads."""

    def __init__(self, store: Store, models: ModelProvider, ranking: Ranking | None) -> None:
        self._store = store
        self._models = models
        self._ranking: Ranking = ranking or DEFAULT_RANKING
        self._lock = threading.Lock()
        self._lazy_threads: ThreadPoolExecutor | None = None

    @property
    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._lazy_threads is None:
                from concurrent.futures import ThreadPoolExecutor

                self._lazy_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="qmd-search")
            return self._lazy_threads

    def close(self) -> None:
        """Wait for running stages, and start no others."""
        if self._lazy_threads is not None:
            self._lazy_threads.shutdown(wait=True, cancel_futures=True)

    def dense(
        self, config: Config, request: SearchRequest, cancelled: Cancelled | None = None
    ) -> SearchResponse:
        """Search by meaning alone: by the query and its variants, merged by the best score of each document.

        Raises:
            VectorIndexMissingError: There are no vectors.
            ModelError: The embedder is missing or fails.
            TimedOutError: The embedder is not ready in time.
        """
        typed, request = request.query, without_filters(request)
        scope = scope_of(config, request)
        if not request.query:
            return _without_terms("vector", typed)
        deadline = Deadline(request.timeout, cancelled)
        while True:
            retrieval = Retrieval(self._threads, deadline)
            search = _VectorSearch(self._store, self._models, config, scope, retrieval)
            vectors = search.select()
            result = search.by_meaning(vectors, request)
            if search.still_valid(vectors):
                break
        ranked = []
        for document, cosine in best_of(result.lists):
            score = _similarity_score(cosine)
            explain = {"vector": {"cosine": round(cosine, 4), "score": round(score, 4)}}
            ranked.append(Ranked(document, score, explain, result.chunks[document][1]))
        search.note_gaps(vectors)
        hits = make_hits(self._store, config, Highlighter(parse(request.query).terms), ranked, request)
        return SearchResponse(typed, hits, tuple(retrieval.stages))

    def hybrid(
        self, config: Config, request: SearchRequest, cancelled: Cancelled | None = None
    ) -> SearchResponse:
        """Search by words and meaning, fuse the lists and rerank. Stages tell what could not run.

        Raises the first error if neither words nor meaning could be searched.
        """
        request = read_query_document(request)
        typed, request = request.query, without_filters(request)
        scope = scope_of(config, request)
        if not request.query and not request.searches:
            return _without_terms("lexical", typed)
        deadline = Deadline(request.timeout, cancelled)
        main_query = _main_query(request)
        while True:
            retrieval = Retrieval(self._threads, deadline)
            search = _VectorSearch(self._store, self._models, config, scope, retrieval)
            lexical, dense, vectors = search.by_words_and_meaning(request)
            if vectors is None or search.still_valid(vectors):
                break
            if retrieval.expired():
                retrieval.time_out("vector")
                break

        stopwatch = Stopwatch()
        lists = [ranked_list for ranked_list in (*lexical.lists, *dense.lists) if ranked_list.items]
        ranking = request.ranking or self._ranking
        fused = reciprocal_rank(lists) if ranking == "contract" else convex(lists)
        retrieval.stages.append(Stage("fuse", "ran", f"ranking: {ranking}", stopwatch.milliseconds()))

        candidates = Candidates(
            parse(main_query),
            main_query,
            request.intent,
            lexical.first,
            dense,
            vectors.fingerprint if vectors else None,
            scope.population,
        )
        ranked = [
            replace(item, chunk=candidates.chunk(item.document))
            for item in self._rank(config, request, retrieval, ranking, fused, candidates)
        ]
        highlighter = Highlighter(candidates.query.terms, lexical.first.idf if lexical.first else None)
        hits = make_hits(self._store, config, highlighter, ranked, request)
        return SearchResponse(typed or main_query, hits, tuple(retrieval.stages), ranking)

    def _rank(
        self,
        config: Config,
        request: SearchRequest,
        retrieval: Retrieval,
        ranking: Ranking,
        fused: Sequence[Fused],
        candidates: Candidates,
    ) -> list[Ranked]:
        top = [entry.document for entry in fused[: request.candidate_limit]]
        scores: dict[int, float] = {}
        if not request.rerank:
            retrieval.skip("rerank", "not asked for", expected=True)
        elif not top:
            retrieval.skip("rerank", "nothing to rerank", expected=True)
        else:
            local = egress.local_only(config, self._models, "rerank")
            scores = rerank(self._store, self._models, retrieval, top, candidates, local)
        if ranking == "contract":
            return rankings.contract(fused, scores)
        evidence = gather_evidence(self._store, top, scores, candidates)
        return rankings.tuned(fused, evidence, candidates.coverage)


@dataclass(frozen=True, slots=True)
class _VectorSearch:
    """The retrieval of one search within its scope."""

    store: Store
    models: ModelProvider
    config: Config
    scope: Scope
    retrieval: Retrieval

    def by_meaning(self, vectors: ActiveVectors, request: SearchRequest) -> DenseResult:
        """Return the lists of the query and its variants. Raises the error if the query itself fails."""
        length = request.limit or ALL
        original = [SubQuery("original", request.query, False, True, 2.0)]
        task = self._start_dense(vectors, original, length)
        variants = self._variants(request, None)
        result = self.retrieval.gather("vector", task)
        if result is None:
            raise self.retrieval.failures[-1]
        self._add_variants(result, vectors, variants, length)
        return result

    def by_words_and_meaning(
        self, request: SearchRequest
    ) -> tuple[LexicalResult, DenseResult, ActiveVectors | None]:
        """Return the lists of the query and its variants, and the vectors that were searched.

        Raises the first error if neither words nor meaning could be searched.
        """
        retrieval, length = self.retrieval, max(LIST_LENGTH, request.limit or ALL)
        queries = _typed(request.searches) or [SubQuery("original", request.query, True, True, 2.0)]
        lexical_task = self._start_lexical(queries, length)
        vectors = self._usable_vectors(queries)
        dense_task = self._start_dense(vectors, queries, length) if vectors else None
        lexical = retrieval.gather("lexical", lexical_task)
        variants = self._variants(request, lexical)
        dense = retrieval.gather("vector", dense_task) if dense_task else None
        if dense is None and (lexical is None or not any(query.lexical for query in queries)):
            raise retrieval.failures[0]
        lexical, dense = lexical or LexicalResult(), dense or DenseResult()
        if any(query.lexical for query in variants):
            task = self._start_lexical(variants, length)
            lexical.lists += (retrieval.gather("lexical variants", task) or LexicalResult()).lists
        if vectors:
            self._add_variants(dense, vectors, variants, length)
        return lexical, dense, vectors

    def _usable_vectors(self, queries: Sequence[SubQuery]) -> ActiveVectors | None:
        """Return the vectors to search; None, and a stage with the reason, if there are none."""
        if not any(query.dense for query in queries):
            self.retrieval.skip("vector", "no vec: or hyde: search was given", expected=True)
            return None
        try:
            vectors = self.select()
        except QmdError as error:
            self.retrieval.failures.append(error)
            self.retrieval.skip("vector", error.in_one_line())
            return None
        self.note_gaps(vectors)
        return vectors

    def select(self) -> ActiveVectors:
        """Return the vectors to search. Raises `ModelError`, `VectorIndexMissingError`, `NotFoundError`."""
        try:
            return select(self.store, self.config, self.models, self.scope)
        except VectorIndexMissingError:
            if not self.scope.collections:
                raise _nothing_to_search(self.config) from None
            local = egress.local_only(self.config, self.models, "embed")
            if local.issuperset(self.scope.collections):
                message = f"No vectors of {egress.explain_local(self.scope.collections)}"
                raise ModelError(message, "Search it by words.") from None
            raise

    def still_valid(self, vectors: ActiveVectors) -> bool:
        """Tell whether the vectors still exist. If they were replaced meanwhile, results may be missing."""
        return self.store.vectors.exist(vectors.fingerprint, self.scope)

    def note_gaps(self, vectors: ActiveVectors) -> None:
        """Record a stage if the vectors are of another model, or if some documents have none."""
        if vectors.note is not None:
            self.retrieval.skip("embedding", vectors.note)
        local: frozenset[str] = frozenset()
        if vectors.configured:
            local = egress.local_only(self.config, self.models, "embed").intersection(self.scope.collections)
        if local:
            self.retrieval.skip("embedding", egress.explain_local(sorted(local)), expected=True)
        embedded = replace(self.scope, collections=egress.allowed(self.scope.collections, local))
        pending = self.store.pending.count(vectors.fingerprint, embedded)
        if pending:
            self.retrieval.skip("embedding", f"{pending} document(s) have no vectors yet: run 'qmd embed'")

    def _start_lexical(
        self, queries: Sequence[SubQuery], length: int
    ) -> tuple[Future[LexicalResult], Stopwatch]:
        return self.retrieval.start(lambda: retrieve_lexical(self.store, queries, self.scope, length))

    def _start_dense(
        self, vectors: ActiveVectors, queries: Sequence[SubQuery], length: int
    ) -> tuple[Future[DenseResult], Stopwatch]:
        if vectors.configured:
            egress.disclose(self.store, self.models, "embed")
        embedder, fingerprint = vectors.embedder, vectors.fingerprint
        return self.retrieval.start(
            lambda: retrieve_dense(self.store, embedder, fingerprint, queries, self.scope, length)
        )

    def _variants(self, request: SearchRequest, lexical: LexicalResult | None) -> list[SubQuery]:
        first, population = lexical.first if lexical else None, self.scope.population
        variants = expand(self.store, self.models, self.retrieval, request, first, population)
        return [_variant(number, variant) for number, variant in enumerate(variants, 1)]

    def _add_variants(
        self, result: DenseResult, vectors: ActiveVectors, variants: Sequence[SubQuery], length: int
    ) -> None:
        """Add the lists of variants. Chunks that match the query itself take precedence."""
        if any(variant.dense for variant in variants):
            task = self._start_dense(vectors, variants, length)
            added = self.retrieval.gather("vector variants", task) or DenseResult()
            result.lists += added.lists
            result.chunks = added.chunks | result.chunks


def read_query_document(request: SearchRequest) -> SearchRequest:
    """Move the typed lines of a query document to `searches`. Raises `QueryError` if it cannot be read."""
    if request.searches:
        refuse_exclusions(request.searches)
        return request
    document = parse_document(request.query)
    if document.expand is not None:
        return replace(request, query=document.expand)
    refuse_exclusions(document.searches)
    return replace(request, query="", searches=document.searches, intent=request.intent or document.intent)


def _nothing_to_search(config: Config) -> NotFoundError:
    if config.collections:
        return NotFoundError(
            "every collection is excluded from searches", "name one with -c, or 'qmd collection include NAME'"
        )
    return NotFoundError("there are no collections yet", "add one with 'qmd collection add PATH'")


def _similarity_score(cosine: float) -> float:
    """Return 1 / (1 + distance), with the cosine distance 1 − cosine."""
    return 1.0 / (1.0 + max(0.0, 1.0 - cosine))


def _without_terms(stage: str, query: str) -> SearchResponse:
    """Return the response to a query of filters only."""
    return SearchResponse(query, (), (Stage(stage, "skipped", NO_TERMS),))


def _main_query(request: SearchRequest) -> str:
    """Return the text for the reranker and the snippets: the query, or the first typed search.

    Of typed searches, `vec` takes precedence over `lex`, and `lex` over `hyde`.
    """
    if not request.searches:
        return request.query
    by_type = {search.type: search.query for search in reversed(request.searches)}
    return by_type.get("vec") or by_type.get("lex") or by_type["hyde"]


def _typed(searches: Sequence[TypedSearch]) -> list[SubQuery]:
    return [
        SubQuery(
            f"{search.type} {number}",
            search.query,
            lexical=search.type == "lex",
            dense=search.type != "lex",
            weight=2.0 if number == 1 else 1.0,
        )
        for number, search in enumerate(searches, 1)
    ]


def _variant(number: int, variant: Variant) -> SubQuery:
    lexical, dense = variant.kind in (None, "lex"), variant.kind != "lex"
    return SubQuery(f"variant {number}", variant.query, lexical, dense, 1.0)

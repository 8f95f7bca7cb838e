"""Search by meaning, and by words and meaning together."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from qmd.engine.deadline import Deadline, Stopwatch
from qmd.engine.embedding.active_vectors import ActiveVectors, select
from qmd.engine.models import egress
from qmd.engine.models.provider import ModelProvider
from qmd.engine.requests import ALL, DEFAULT_RANKING, SearchRequest
from qmd.engine.retrieval import likelihood
from qmd.engine.retrieval.adjust import Adjuster, Guidance
from qmd.engine.retrieval.expansion import expand
from qmd.engine.retrieval.filters import NO_TERMS, explain_no_hits, scope_of, without_filters
from qmd.engine.retrieval.hits import make_hits
from qmd.engine.retrieval.keyword_search import count_facets, list_documents
from qmd.engine.retrieval.reranking import Candidates, Read, gather_evidence, rerank
from qmd.engine.retrieval.retrievers import (
    DenseResult,
    LexicalResult,
    Retrieval,
    SubQuery,
    Task,
    retrieve_dense,
    retrieve_lexical,
)
from qmd.errors import ModelError, NotFoundError, QmdError, VectorIndexMissingError
from qmd.models.base import Cancelled, WindowReranker
from qmd.ranking import rerank as rankings
from qmd.ranking.calibration import doubts
from qmd.ranking.fusion import best_of, convex, reciprocal_rank
from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.text.highlight import Highlighter
from qmd.text.query import parse, parse_document, refuse_exclusions
from qmd.types import Config, Hit, Ranked, Ranking, SearchResponse, Stage, traces

#: Documents of each list before fusion.
LIST_LENGTH = 100


class Searcher:
    """Runs searches that use vectors, each with its stages in threads."""

    def __init__(self, store: Store, models: ModelProvider) -> None:
        self._store = store
        self._models = models
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="qmd-search")

    def close(self) -> None:
        """Wait for running stages, and start no others."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def dense(
        self,
        config: Config,
        request: SearchRequest,
        cancelled: Cancelled | None = None,
        guidance: Guidance | None = None,
    ) -> SearchResponse:
        """Search by meaning alone: by the query and its variants, merged by the best score of each document.

        Raises `VectorIndexMissingError` if there are no vectors, `ModelError` if the embedder is missing or
        fails, and `TimedOutError` if it is not ready in time.
        """
        typed, request = request.query, without_filters(request)
        scope = scope_of(self._store, config, request)
        if not request.query:
            return self._without_words(config, scope, replace(request, query=typed), "vector")
        adjuster = Adjuster(self._store, config, scope, request, guidance or Guidance())
        deadline = Deadline(request.timeout, cancelled)
        while True:
            search = self._search(config, scope, deadline)
            vectors = search.select()
            result = search.by_meaning(vectors, request, max(adjuster.depth, LIST_LENGTH))
            if search.still_valid(vectors):
                break
        ranked = []
        for document, cosine in best_of(result.lists):
            score = 1.0 / (1.0 + max(0.0, 1.0 - cosine))
            trace = traces.VectorMatch(cosine, score)
            ranked.append(Ranked(document, score, (trace,), result.chunks[document][1]))
        if request.scores == "calibrated":
            cosines = dict(best_of(result.lists))
            ranked = likelihood.of_meaning(ranked, cosines, self._store, vectors, scope)
        search.note_gaps(vectors)
        highlighter = Highlighter(parse(request.query).terms)
        hits = make_hits(self._store, config, highlighter, adjuster.apply(ranked), request)
        return self._response(search, typed, hits, request, ranked)

    def hybrid(
        self,
        config: Config,
        request: SearchRequest,
        cancelled: Cancelled | None = None,
        guidance: Guidance | None = None,
    ) -> SearchResponse:
        """Search by words and meaning, fuse the lists and rerank. Stages tell what could not run.

        Raises the first error if neither words nor meaning could be searched.
        """
        request = read_query_document(request)
        typed, request = request.query, without_filters(request)
        scope = scope_of(self._store, config, request)
        if not request.query and not request.searches:
            return self._without_words(config, scope, replace(request, query=typed), "lexical")
        deadline = Deadline(request.timeout, cancelled)
        while True:
            search = self._search(config, scope, deadline)
            candidates = search.by_words_and_meaning(request)
            if candidates.vectors is None or search.still_valid(candidates.vectors):
                break
            if deadline.passed():
                search.time_out("vector")
                break
        ranking = request.ranking or DEFAULT_RANKING
        ranked = _rank(search, request, ranking, candidates)
        adjuster = Adjuster(self._store, config, scope, request, guidance or Guidance())
        hits = make_hits(self._store, config, candidates.highlighter, adjuster.apply(ranked), request)
        return self._response(search, typed or main_query(request), hits, request, ranked, ranking)

    def _response(
        self,
        search: _Search,
        query: str,
        hits: tuple[Hit, ...],
        request: SearchRequest,
        ranked: Sequence[Ranked],
        ranking: Ranking | None = None,
    ) -> SearchResponse:
        """Return the response, with facets of the candidates, and the reason if a filter passes nothing."""
        stages = [*search.stages]
        if not ranked:
            stages += explain_no_hits(self._store, search.scope)
        elif request.scores == "calibrated":
            stages += doubts(ranked, hits, request.min_score)
        documents = [item.document for item in ranked]
        facets = count_facets(self._store, request, documents) if request.facets else {}
        if facets:
            reason = f"counted among the {len(documents)} candidates, not all documents"
            stages.append(Stage("facets", "ran", reason))
        return SearchResponse(query, hits, tuple(stages), ranking, facets)

    def _without_words(
        self, config: Config, scope: Scope, request: SearchRequest, stage: str
    ) -> SearchResponse:
        """Return the response to a query without words: a list of what passes its filters, if it has any."""
        if scope.where is not None:
            return list_documents(self._store, config, scope, request)
        return SearchResponse(request.query, (), (Stage(stage, "skipped", NO_TERMS),))

    def _search(self, config: Config, scope: Scope, deadline: Deadline) -> _Search:
        return _Search(self._store, self._models, config, scope, deadline, self._threads)


class _Search(Retrieval):
    """The retrieval of one search."""

    def by_meaning(self, vectors: ActiveVectors, request: SearchRequest, length: int) -> DenseResult:
        """Return the lists of the query and its variants. Raises the error if the query itself fails."""
        if request.facets:
            length = max(LIST_LENGTH, length)
        task = self._start_dense(vectors, [SubQuery("original", request.query, "vec", 2.0)], length)
        variants = self._variants(request, None)
        result = self.gather("vector", task)
        if result is None:
            raise self.failures[-1]
        self._add_variants(result, vectors, variants, length)
        return result

    def by_words_and_meaning(self, request: SearchRequest) -> Candidates:
        """Return the lists of the query and its variants, and the vectors that were searched.

        Raises the first error if neither words nor meaning could be searched.
        """
        length = max(LIST_LENGTH, request.limit or ALL)
        queries = [
            SubQuery(f"{search.type} {number}", search.query, search.type, 2.0 if number == 1 else 1.0)
            for number, search in enumerate(request.searches, 1)
        ] or [SubQuery("original", request.query, None, 2.0)]
        lexical_task = self._start_lexical(queries, length)
        vectors = self._usable_vectors(queries)
        dense_task = self._start_dense(vectors, queries, length) if vectors else None
        lexical = self.gather("lexical", lexical_task)
        variants = self._variants(request, lexical)
        dense = self.gather("vector", dense_task) if dense_task else None
        if dense is None and (lexical is None or not any(query.lexical for query in queries)):
            raise self.failures[0]
        if dense is None and lexical is not None and not any(found.items for found in lexical.lists):
            lexical_task = self._start_lexical(queries, length, longer=True)
            lexical = self.gather("longer words", lexical_task)
        lexical, dense = lexical or LexicalResult(), dense or DenseResult()
        if any(query.lexical for query in variants):
            task = self._start_lexical(variants, length)
            lexical.lists += (self.gather("lexical variants", task) or LexicalResult()).lists
        if vectors:
            self._add_variants(dense, vectors, variants, length)
        return Candidates(main_query(request), request.intent or "", lexical, dense, vectors)

    def _usable_vectors(self, queries: Sequence[SubQuery]) -> ActiveVectors | None:
        """Return the vectors to search; None, and a stage with the reason, if there are none."""
        if not any(query.dense for query in queries):
            self.skip("vector", "no vec: or hyde: search was given", expected=True)
            return None
        try:
            vectors = self.select()
        except QmdError as error:
            self.failures.append(error)
            self.skip("vector", error.in_one_line())
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
            self.skip("embedding", vectors.note)
        local: frozenset[str] = frozenset()
        if vectors.configured:
            local = egress.local_only(self.config, self.models, "embed").intersection(self.scope.collections)
        if local:
            self.skip("embedding", egress.explain_local(sorted(local)), expected=True)
        embedded = replace(self.scope, collections=egress.allowed(self.scope.collections, local))
        pending = self.store.pending.count(vectors.fingerprint, embedded)
        if pending:
            where = "in this index file" if self.models.portable else "yet: run 'qmd embed'"
            self.skip("embedding", f"{pending} document(s) have no vectors {where}")

    def _start_lexical(
        self, queries: Sequence[SubQuery], length: int, *, longer: bool = False
    ) -> Task[LexicalResult]:
        return self.start(lambda: retrieve_lexical(self.store, queries, self.scope, length, longer=longer))

    def _start_dense(
        self, vectors: ActiveVectors, queries: Sequence[SubQuery], length: int
    ) -> Task[DenseResult]:
        if vectors.configured:
            egress.disclose(self.store, self.models, "embed")
        embedder, fingerprint = vectors.embedder, vectors.fingerprint
        return self.start(
            lambda: retrieve_dense(self.store, embedder, fingerprint, queries, self.scope, length)
        )

    def _variants(self, request: SearchRequest, lexical: LexicalResult | None) -> list[SubQuery]:
        variants = expand(self, request, lexical.first if lexical else None)
        return [
            SubQuery(f"variant {n}", variant.query, variant.kind) for n, variant in enumerate(variants, 1)
        ]

    def _add_variants(
        self, result: DenseResult, vectors: ActiveVectors, variants: Sequence[SubQuery], length: int
    ) -> None:
        """Add the lists of variants. Chunks that match the query itself take precedence."""
        if any(variant.dense for variant in variants):
            task = self._start_dense(vectors, variants, length)
            added = self.gather("vector variants", task) or DenseResult()
            result.lists += added.lists
            result.chunks = added.chunks | result.chunks


def _rank(
    search: _Search, request: SearchRequest, ranking: Ranking, candidates: Candidates
) -> Sequence[Ranked]:
    """Fuse the lists, and rerank the first documents."""
    stopwatch = Stopwatch()
    lists = [result for result in (*candidates.lexical.lists, *candidates.dense.lists) if result.items]
    fused = reciprocal_rank(lists) if ranking == "contract" else convex(lists)
    search.stages.append(Stage("fuse", "ran", f"ranking: {ranking}", stopwatch.milliseconds()))
    top = [entry.document for entry in fused[: request.candidate_limit]]
    scores: dict[int, Read] = {}
    if request.rerank and top:
        scores = rerank(search, top, candidates)
    else:
        reason = "nothing to rerank" if request.rerank else "not asked for"
        search.skip("rerank", reason, expected=True)
    evidence = gather_evidence(search.store, top, scores, candidates)
    if ranking == "contract":
        ranked = rankings.contract(fused, {document: read.score for document, read in scores.items()})
    else:
        ranked = rankings.tuned(fused, evidence, candidates.coverage)
    if request.scores == "calibrated":
        if scores and not isinstance(search.models.reranker, WindowReranker):
            reason = f"scores depend on {search.models.reranker.name}, which was not calibrated"
            search.skip("calibrate", reason, expected=True)
        else:
            ranked = likelihood.of_both(ranked, candidates, evidence, search.store, search.scope)
    return [
        replace(
            item,
            chunk=candidates.chunk(item.document),
            windows=scores[item.document].windows if item.document in scores else (),
        )
        for item in ranked
    ]


def read_query_document(request: SearchRequest) -> SearchRequest:
    """Move the typed lines of a query document to `searches`. Raises `QueryError` if it cannot be read."""
    if request.searches:
        refuse_exclusions(request.searches)
        return request
    if not request.query.strip():
        return request  # its filters list documents
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


def main_query(request: SearchRequest) -> str:
    """Return the text for the reranker and the snippets: the query, or the first typed search.

    Of typed searches, `vec` takes precedence over `lex`, and `lex` over `hyde`.
    """
    if not request.searches:
        return request.query
    by_type = {search.type: search.query for search in reversed(request.searches)}
    return by_type.get("vec") or by_type.get("lex") or by_type["hyde"]

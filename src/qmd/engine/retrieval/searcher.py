"""Searches that use vectors: by meaning alone, and the hybrid of words and meaning (E30–E47)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qmd.engine.embedding.active_vectors import ActiveVectors, choose
from qmd.engine.models.egress import allowed, disclose, explain_local, local_only
from qmd.engine.models.provider import ModelProvider
from qmd.engine.requests import ALL, DEFAULT_RANKING, SearchRequest
from qmd.engine.retrieval.deadline import Deadline, Stopwatch
from qmd.engine.retrieval.expansion import expand
from qmd.engine.retrieval.filters import NOTHING_ASKED, scope_of, without_filters
from qmd.engine.retrieval.hits import Found, cut, hits
from qmd.engine.retrieval.reranking import Candidates, gather_evidence, rerank_stage
from qmd.engine.retrieval.retrievers import (
    DenseResult,
    LexicalResult,
    Retrieval,
    SubQuery,
    dense_leg,
    lexical_leg,
)
from qmd.errors import ModelError, NotFoundError, QmdError, VectorIndexMissingError
from qmd.models.base import Cancelled, Variant
from qmd.ranking import rerank as final
from qmd.ranking.fusion import Fused, best_of, convex, reciprocal_rank
from qmd.store.base import Scope, Store
from qmd.text.highlight import Highlighter
from qmd.text.query import parse, parse_document, refuse_exclusions
from qmd.types import Config, Ranking, SearchResponse, Stage, TypedSearch

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

#: How far each list goes before fusion.
LIST_LENGTH = 100


class Searcher:
    """Searches by vector over one store. `config` may be replaced between searches."""

    def __init__(self, store: Store, config: Config, roles: ModelProvider, ranking: Ranking | None) -> None:
        self._store = store
        self.config = config
        self._roles = roles
        self._ranking: Ranking = ranking or DEFAULT_RANKING
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    @property
    def _pool(self) -> ThreadPoolExecutor:
        """Where legs run."""
        with self._lock:
            if self._threads is None:
                from concurrent.futures import ThreadPoolExecutor

                self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="qmd-search")
            return self._threads

    def close(self) -> None:
        """Let no further leg start."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)

    def dense(self, request: SearchRequest, cancelled: Cancelled | None = None) -> SearchResponse:
        """Vectors alone: the query and its variants, merged by each document's best (M18).

        Raises `VectorIndexMissingError` if there are no vectors, `ModelError` if the embedder is missing or
        fails, `TimedOutError` if it is not ready in time.
        """
        asked, request = request.query, without_filters(request)
        scope = scope_of(self.config, request)
        if not request.query:
            return _nothing_asked("vector", asked)
        deadline = Deadline(request.timeout, cancelled)
        while True:
            legs = Retrieval(self._pool, deadline)
            vectors = self._choose(scope)
            leg = self._by_meaning(legs, vectors, request, scope)
            if not self._is_gone(vectors, scope):
                break
        found = []
        for document, similarity in best_of(leg.lists):
            score = _similarity_score(similarity)
            explain = {"vector": {"cosine": round(similarity, 4), "score": round(score, 4)}}
            found.append(
                Found(document, score, leg.chunks[document][1], explain if request.explain else None)
            )
        found = cut(found, request.limit, request.min_score)
        self._note_lacking(legs, vectors, scope)
        marker = Highlighter(parse(request.query).terms)
        shown = hits(self._store, self.config, marker, found, full=request.full)
        return SearchResponse(asked, shown, tuple(legs.stages))

    def _by_meaning(
        self, legs: Retrieval, vectors: ActiveVectors, request: SearchRequest, scope: Scope
    ) -> DenseResult:
        """The query's list and those of its variants. Raises why there is none for the query itself."""
        length = request.limit or ALL
        original = [SubQuery("original", request.query, False, True, 2.0)]
        started = self._start_dense(legs, vectors, original, scope, length)
        variants = _variants(expand(self._store, self._roles, legs, request, None, scope.population))
        leg = legs.gather("vector", started)
        if leg is None:
            raise legs.failures[-1]
        if any(each.dense for each in variants):
            self._add_variants(legs, leg, vectors, variants, scope, length)
        return leg

    def hybrid(self, request: SearchRequest, cancelled: Cancelled | None = None) -> SearchResponse:
        """BM25 and vectors, fused and reranked. Answers from what it has, and says what it lacks.

        Raises why neither has anything, if neither could be searched.
        """
        request = as_document(request)
        asked, request = request.query, without_filters(request)
        scope = scope_of(self.config, request)
        if not request.query and not request.searches:
            return _nothing_asked("lexical", asked)
        deadline = Deadline(request.timeout, cancelled)
        original = _main_query(request)
        query = parse(original)
        while True:
            legs = Retrieval(self._pool, deadline)
            lexical, vectors, chosen = self._retrieved(legs, request, scope)
            if chosen is None or not self._is_gone(chosen, scope):
                break
            if legs.late_already():
                legs.late("vector")
                break

        watch = Stopwatch()
        lists = [ranked for ranked in (*lexical.lists, *vectors.lists) if ranked.items]
        ranking = request.ranking or self._ranking
        fused = reciprocal_rank(lists) if ranking == "contract" else convex(lists)
        legs.stages.append(Stage("fuse", "ran", f"ranking: {ranking}", watch.milliseconds()))

        fingerprint = chosen.fingerprint if chosen else None
        candidates = Candidates(
            query, original, request.intent, lexical.first, vectors, fingerprint, scope.population
        )
        ranked = self._rerank(request, legs, ranking, fused, candidates)
        found = [
            Found(
                item.document,
                item.score,
                candidates.chunk(item.document),
                item.explain if request.explain else None,
            )
            for item in ranked
        ]
        found = cut(found, request.limit, request.min_score)
        marker = Highlighter(query.terms, lexical.first.idf if lexical.first else None)
        shown = hits(self._store, self.config, marker, found, full=request.full)
        return SearchResponse(asked or original, shown, tuple(legs.stages), ranking)

    def _retrieved(
        self, legs: Retrieval, request: SearchRequest, scope: Scope
    ) -> tuple[LexicalResult, DenseResult, ActiveVectors | None]:
        """What words and meaning find, variants included, and which vectors were searched.

        Raises the first reason if neither could be searched.
        """
        length = max(LIST_LENGTH, request.limit or ALL)
        wanted = _typed(request.searches) or [SubQuery("original", request.query, True, True, 2.0)]
        keywords = legs.start(lambda: lexical_leg(self._store, wanted, scope, length))
        chosen = self._usable_vectors(legs, scope, wanted)
        meaning = self._start_dense(legs, chosen, wanted, scope, length) if chosen else None
        lexical = legs.gather("lexical", keywords)
        first = lexical.first if lexical else None
        variants = expand(self._store, self._roles, legs, request, first, scope.population)
        vectors = legs.gather("vector", meaning) if meaning else None
        if vectors is None and (lexical is None or not any(item.lexical for item in wanted)):
            raise legs.failures[0]
        lexical, vectors = lexical or LexicalResult(), vectors or DenseResult()
        more = _variants(variants)
        if any(item.lexical for item in more):
            started = legs.start(lambda: lexical_leg(self._store, more, scope, length))
            lexical.lists += (legs.gather("lexical variants", started) or LexicalResult()).lists
        if chosen and any(item.dense for item in more):
            self._add_variants(legs, vectors, chosen, more, scope, length)
        return lexical, vectors, chosen

    def _rerank(
        self,
        request: SearchRequest,
        legs: Retrieval,
        ranking: Ranking,
        fused: Sequence[Fused],
        candidates: Candidates,
    ) -> list[final.Ranked]:
        top = [entry.document for entry in fused[: request.candidate_limit]]
        scores: dict[int, float] = {}
        if not request.rerank:
            legs.skip("rerank", "not asked for", expected=True)
        elif not top:
            legs.skip("rerank", "nothing to rerank", expected=True)
        else:
            private = local_only(self.config, self._roles, "rerank")
            scores = rerank_stage(self._store, self._roles, legs, top, candidates, private)
        if ranking == "contract":
            return final.contract(fused, scores)
        return final.tuned(fused, gather_evidence(self._store, top, scores, candidates), candidates.coverage)

    def _usable_vectors(
        self, legs: Retrieval, scope: Scope, wanted: Sequence[SubQuery]
    ) -> ActiveVectors | None:
        """The vectors to search by; None, with the stage saying why, where none can be used."""
        if not any(item.dense for item in wanted):
            legs.skip("vector", "no vec: or hyde: search was given", expected=True)
            return None
        try:
            chosen = self._choose(scope)
        except QmdError as error:
            legs.failures.append(error)
            legs.skip("vector", error.in_one_line())
            return None
        self._note_lacking(legs, chosen, scope)
        return chosen

    def _choose(self, scope: Scope) -> ActiveVectors:
        """The vectors to search by. Raises `ModelError` and `VectorIndexMissingError`, as `choose` does."""
        try:
            return choose(self._store, self.config, self._roles, scope)
        except VectorIndexMissingError:
            if not scope.collections:
                raise _nothing_to_search(self.config) from None
            private = local_only(self.config, self._roles, "embed")
            if private.issuperset(scope.collections):
                message = f"No vectors of {explain_local(scope.collections)}"
                raise ModelError(message, "Search it by words.") from None
            raise

    def _is_gone(self, chosen: ActiveVectors, scope: Scope) -> bool:
        """Whether the vectors were replaced since they were chosen: then what was searched may be nothing."""
        return not self._store.has_vectors(chosen.fingerprint, scope)

    def _note_lacking(self, legs: Retrieval, chosen: ActiveVectors, scope: Scope) -> None:
        """Say so where vectors are another model's, or there for a part of the documents only."""
        if chosen.note is not None:
            legs.skip("embedding", chosen.note)
        private = local_only(self.config, self._roles, "embed") if chosen.configured else frozenset()
        private = private.intersection(scope.collections)
        if private:
            legs.skip("embedding", explain_local(sorted(private)), expected=True)
        sent = replace(scope, collections=allowed(scope.collections, private))
        pending = self._store.pending_count(chosen.fingerprint, sent)
        if pending:
            legs.skip("embedding", f"{pending} document(s) have no vectors yet: run 'qmd embed'")

    def _start_dense(
        self, legs: Retrieval, chosen: ActiveVectors, wanted: Sequence[SubQuery], scope: Scope, length: int
    ) -> tuple[Future[DenseResult], Stopwatch]:
        if chosen.configured:
            disclose(self._store, self._roles, "embed")
        return legs.start(
            lambda: dense_leg(self._store, chosen.embedder, chosen.fingerprint, wanted, scope, length)
        )

    def _add_variants(
        self,
        legs: Retrieval,
        leg: DenseResult,
        chosen: ActiveVectors,
        variants: Sequence[SubQuery],
        scope: Scope,
        length: int,
    ) -> None:
        """Search the variants as well; of a document's chunks, the one nearest to the query itself stays."""
        started = self._start_dense(legs, chosen, variants, scope, length)
        added = legs.gather("vector variants", started) or DenseResult()
        leg.lists += added.lists
        leg.chunks = added.chunks | leg.chunks


def _nothing_to_search(config: Config) -> NotFoundError:
    if config.collections:
        return NotFoundError(
            "every collection is excluded from searches", "name one with -c, or 'qmd collection include NAME'"
        )
    return NotFoundError("there are no collections yet", "add one with 'qmd collection add PATH'")


def _similarity_score(cosine: float) -> float:
    """1 / (1 + distance), with the cosine's distance 1 − cosine (E30)."""
    return 1.0 / (1.0 + max(0.0, 1.0 - cosine))


def _nothing_asked(stage: str, asked: str) -> SearchResponse:
    return SearchResponse(asked, (), (Stage(stage, "skipped", NOTHING_ASKED),))


def as_document(request: SearchRequest) -> SearchRequest:
    """Read a query of typed lines into `searches`. Raises `QueryError`."""
    if request.searches:
        refuse_exclusions(request.searches)
        return request
    document = parse_document(request.query)
    if document.expand is not None:
        return replace(request, query=document.expand)
    refuse_exclusions(document.searches)
    return replace(request, query="", searches=document.searches, intent=request.intent or document.intent)


def _main_query(request: SearchRequest) -> str:
    """The text that passages are judged by: the question, else the first typed search in plain words."""
    if not request.searches:
        return request.query
    by_kind = {search.type: search.query for search in reversed(request.searches)}
    return by_kind.get("vec") or by_kind.get("lex") or by_kind["hyde"]


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


def _variants(variants: Sequence[Variant]) -> list[SubQuery]:
    return [
        SubQuery(
            f"variant {number}", variant.query, variant.kind in (None, "lex"), variant.kind != "lex", 1.0
        )
        for number, variant in enumerate(variants, 1)
    ]

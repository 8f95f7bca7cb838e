"""Run searches: plan, retrieve, fuse, rerank, calibrate, adjust, and show the hits."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from msgspec.structs import replace

from qmd.engine.deadline import Deadline, Stopwatch
from qmd.engine.documents.stated import states_in, unread_files, unread_since
from qmd.engine.models.provider import ModelProvider
from qmd.engine.requests import DEFAULT_RANKING, SearchRequest
from qmd.engine.retrieval.adjust import Adjuster, Cut, Guidance, Guide
from qmd.engine.retrieval.filters import (
    NO_TERMS,
    Asked,
    explain_no_hits,
    languages_in,
    read_request,
    scope_of,
)
from qmd.engine.retrieval.found import Found, whole_query
from qmd.engine.retrieval.hits import make_hits
from qmd.engine.retrieval.queries import read_query_document, without_searches
from qmd.engine.retrieval.search import Plan, Search
from qmd.ranking import fusion
from qmd.ranking.calibration import FIELD, RELATED, calibrate, doubts
from qmd.search_options import ALL
from qmd.store.base import Store
from qmd.store.lexical import longer_terms
from qmd.text.filters import folder_counts
from qmd.text.predicates import field_name
from qmd.text.query import foreign_operators
from qmd.text.question import Question
from qmd.text.values import STEMMED
from qmd.text.wording import plural
from qmd.types import Config, Hit, Ranked, SearchResponse, Stage
from qmd.types.traces import Likelihood, Listing

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from qmd.engine.documents.states import States
    from qmd.models.base import Cancelled
    from qmd.types import ValueCount

#: The most values of a facet.
FACET_VALUES = 20
#: Of so many documents with words of a query, or more, the number is not told.
COUNTED = 1_000

#: How many documents of a search by words are ranked by their best places as well.
PLACED = 50

#: The most files that are named in one line.
_NAMED = 3


class Pipeline:
    """Runs the searches of an index."""

    def __init__(self, store: Store, models: ModelProvider) -> None:
        self._store = store
        self._models = models
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """Wait for running stages, and start no others."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def run(
        self,
        plan: Plan,
        config: Config,
        request: SearchRequest,
        guide: Guide | None = None,
        cancelled: Cancelled | None = None,
    ) -> SearchResponse:
        """Return the response to a request.

        Stages tell what could not run. Raises the first error if nothing could be searched, and
        `CancelledError` as soon as `cancelled` returns true.
        """
        # By words a search reads for milliseconds. By meaning it takes long, and threads of its own.
        with nullcontext() if plan.meaning else self._store.snapshot():
            return self._run(plan, config, request, guide, cancelled)

    def _run(
        self,
        plan: Plan,
        config: Config,
        request: SearchRequest,
        guide: Guide | None,
        cancelled: Cancelled | None,
    ) -> SearchResponse:
        typed = plan.read(request)
        asked = plan.ask(self._store, config, typed)
        request = asked.request
        scope = scope_of(self._store, config, request)
        guidance, remark = guide(asked.question) if guide else (Guidance(), None)
        states = states_in(self._store, config)
        estimates = plan.estimates or request.scores == "calibrated"
        adjuster = Adjuster(self._store, config, scope, request, guidance, states, estimates)
        deadline = Deadline(request.timeout, cancelled)
        if request.offset:
            # How far the reranker reads, and how long the lists are, depends on the length of the answer. So
            # the pages before are those that were shown, not the beginning of a longer list.
            first = replace(request, limit=request.offset, offset=0)
            earlier = replace(adjuster, request=first)
            _, _, _, pages = self._rank(plan, replace(asked, request=first), earlier, deadline)
            adjuster = replace(adjuster, before=frozenset(item.document for item in pages.items))
        search, found, ranked, page = self._rank(plan, asked, adjuster, deadline)
        hits = make_hits(search, found.highlighter, page.items, found.source)
        if search.vectors is not None:
            from qmd.engine.retrieval.retrievers import note_pending

            note_pending(search, hits, hybrid=plan.hybrid)
        search.stages += _unread(self._store, hits)
        if not ranked:
            search.stages += explain_no_hits(self._store, config, scope, typed.where)
        elif request.scores == "calibrated":
            search.stages += doubts(ranked, hits, request.min_score)
        total = _total(search, found, ranked, page, adjuster)
        if request.offset and not hits and total:
            search.skip("offset", f"there are only {plural(total, 'result')}")
        facets = _facets(search, found, ranked, states) if request.facets else {}
        ranking = (request.ranking or DEFAULT_RANKING) if plan.hybrid and found.text else None
        stages = (*search.stages, *asked.stages, *_advice(search))
        stages += () if remark is None else (remark,)
        query = typed.query or asked.question.words
        return SearchResponse(
            query,
            hits,
            stages,
            ranking,
            facets,
            asked.unknown,
            offset=request.offset,
            more=bool(page.after),
            total=total,
        )

    def _rank(
        self, plan: Plan, asked: Asked, adjuster: Adjuster, deadline: Deadline
    ) -> tuple[Search, Found, Sequence[Ranked], Cut]:
        """Return a search that has run, the results of its retrievers, the ranking, and the page of it."""
        request, scope, depth = asked.request, adjuster.scope, adjuster.depth
        # One more, to know whether others follow.
        length = ALL if plan.complete and adjuster.by_date else max(plan.least, depth + 1)
        search = Search(
            plan,
            asked,
            self._store,
            self._models,
            adjuster.config,
            scope,
            length,
            depth,
            deadline,
            self._threads,
        )
        if request.query or request.searches:
            found, ranked = plan.find(search)
            return search, found, ranked, adjuster.apply(ranked, complete=plan.complete)
        found = Found(Question(""))
        if scope.where is None:
            search.skip("lexical" if plan.words else "vector", NO_TERMS)
            return search, found, (), Cut([])
        reason = "no words: the documents that pass the filters, newest first"
        search.stages.append(Stage("filter", "ran", reason))
        newest = self._store.fields.newest(scope, length)
        ranked = [Ranked(document, 1.0, (Listing(),)) for document in newest]
        return search, found, ranked, adjuster.cut(ranked)

    def _threads(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="qmd-search")
            return self._pool


def _total(
    search: Search, found: Found, ranked: Sequence[Ranked], page: Cut, adjuster: Adjuster
) -> int | None:
    """Return the number of hits on all pages; None if only the first of them were looked for.

    By meaning every document is a hit, so only the number of those that were ranked could be told.
    """
    lists = (ranked, *(each.items for each in (*found.lexical, *found.dense)))
    cut = max(map(len, lists)) >= search.length
    asked = search.request.query or search.request.searches
    if search.plan.meaning and asked and (cut or not found.lexical):
        return None
    low = bool(ranked) and ranked[-1].score < search.request.min_score
    if not cut or low:
        return len(adjuster.before) + len(page.items) + page.after
    if adjuster.fold or search.request.min_score > 0:
        return None
    if not found.text:
        return search.store.fields.count(search.scope)
    # The last pages have what only has longer words.
    words = replace(found.query, terms=(*found.query.terms, *longer_terms(found.query)))
    total = search.store.lexical.count(words, search.scope, COUNTED)
    return total if total < COUNTED else None


def _unread(store: Store, hits: Sequence[Hit]) -> Iterator[Stage]:
    """Yield a stage that names the hits whose files could not be read any more."""
    if not any(unread_files(store, collection) for collection in {hit.collection for hit in hits}):
        return
    since = {hit.file: found for hit in hits if (found := unread_since(store, hit))}
    if since:
        more = f" and {len(since) - _NAMED:,} more" if len(since) > _NAMED else ""
        files = f"{', '.join([*since][:_NAMED])}{more}"
        reason = f"text of before, because the file could not be read since {min(since.values())}: {files}"
        yield Stage("unread", "skipped", reason)


def _advice(search: Search) -> Iterator[Stage]:
    """Yield a stage for each operator of other search engines, which is a word here."""
    for query in search.asked.queries if search.plan.words else ():
        for advice in foreign_operators(query.query) if query.lexical else ():
            yield Stage("operators", "skipped", advice)


def _retrieve(search: Search) -> Found:
    """Return the results of the retrievers of a search that uses vectors."""
    from qmd.engine.retrieval.retrievers import retrieve

    while True:
        found = retrieve(search)
        if found.vectors is None or search.store.vectors.exist(found.vectors.fingerprint, search.scope):
            return found
        # The vectors were replaced meanwhile, so documents may be missing.
        if search.deadline.passed():
            search.time_out("vector")
            return found
        search.stages.clear()
        search.failures.clear()


def _find_by_words(search: Search) -> tuple[Found, Sequence[Ranked]]:
    """Search by words alone. In order of date, some of the words are only enough if no document has all."""
    stopwatch, question = Stopwatch(), search.asked.question
    if not STEMMED.keys().isdisjoint(languages := languages_in(search.store, search.scope)):
        from qmd.engine.retrieval.widening import widened

        question, said = widened(search.store, search.config, search.scope, question, languages)
        search.stages += [said] if said else []
    found = Found(question, search.request.intent or "")
    by_date = search.request.sort == "date"
    lexical, length = search.store.lexical, max(search.length, PLACED)
    matches = lexical.search(found.query, search.scope, length, all_first=by_date, placed=PLACED)
    if matches.bound and not any(match.tier == "all" for match in matches.matches):
        from qmd.engine.retrieval.spelling import respelled  # most searches start without it

        if other := respelled(search, found.question, matches):
            found = replace(found, question=other)
            matches = lexical.search(found.query, search.scope, length, all_first=by_date, placed=PLACED)
    if by_date and matches.matches:
        best = tuple(match for match in matches.matches if match.tier == matches.matches[0].tier)
        matches = replace(matches, matches=best)
    found.words = matches
    whole, chance = whole_query(found.query, matches, languages)
    ranked = fusion.by_words(matches.matches, matches.bound, PLACED, whole)[: search.length]
    if found.query.terms:
        search.stages.append(Stage("lexical", "ran", None, stopwatch.milliseconds()))
    else:
        search.skip("lexical", NO_TERMS)
    return found, calibrate(ranked, chance=chance) if search.request.scores == "calibrated" else ranked


def _find_by_meaning(search: Search) -> tuple[Found, Sequence[Ranked]]:
    found = _retrieve(search)
    nearest = fusion.by_meaning(found.dense)
    ranked = [replace(item, chunk=found.chunks[item.document].chunk) for item in nearest]
    return found, _calibrated(search, ranked, found)


def _find_by_both(search: Search) -> tuple[Found, Sequence[Ranked]]:
    """Search by words and by meaning, fuse and rerank."""
    from qmd.engine.retrieval import reranking

    found = _retrieve(search)
    return found, _calibrated(search, reranking.rank(search, found), found)


def _calibrated(search: Search, ranked: Sequence[Ranked], found: Found) -> Sequence[Ranked]:
    if search.request.scores != "calibrated":
        return ranked
    from qmd.engine.retrieval import likelihood

    return likelihood.calibrated(search, ranked, found)


def _find_similar(search: Search) -> tuple[Found, Sequence[Ranked]]:
    from qmd.engine.retrieval.similar import find_similar

    return find_similar(search)


def _ask_about(store: Store, config: Config, request: SearchRequest) -> Asked:
    """Return a request whose query names a document, and has no filters."""
    return Asked(request, Question(request.query))


PLANS: Mapping[str, Plan] = {
    "search": Plan(
        without_searches, read_request, _find_by_words, words=True, meaning=False, least=1 + FIELD
    ),
    "vsearch": Plan(without_searches, read_request, _find_by_meaning, words=False, meaning=True),
    "query": Plan(read_query_document, read_request, _find_by_both, words=True, meaning=True),
    "similar": Plan(
        without_searches, _ask_about, _find_similar, words=False, meaning=True, least=1, estimates=True
    ),
}


def _facets(
    search: Search, found: Found, ranked: Sequence[Ranked], states: States | None
) -> dict[str, tuple[ValueCount, ...]]:
    """Return the most frequent values of the fields that a request asks for, among the matches.

    By meaning every document matches, so those that score as unrelated are not counted.
    """
    store, scope = search.store, search.scope
    if not found.text:
        documents = store.fields.newest(scope, ALL) if scope.where is not None else []
    elif search.plan.complete:
        documents = store.lexical.matching(found.query, scope)
    else:
        estimated = any(isinstance(trace, Likelihood) for item in ranked[:1] for trace in item.traces)
        least = max(search.request.min_score, RELATED if estimated else 0.0)
        documents = [item.document for item in ranked if item.score >= least]
        reason = f"counted among the {len(documents)} related candidates, not all documents"
        search.stages.append(Stage("facets", "ran", reason))
    facets: dict[str, tuple[ValueCount, ...]] = {}
    for name in search.request.facets:
        # No two documents have the same path, so its folders are counted.
        limit = ALL if field_name(name) == "path" else FACET_VALUES
        counts = store.fields.facet(documents, field_name(name), limit)
        facets[name] = tuple(folder_counts(counts)[:FACET_VALUES] if limit == ALL else counts)
    # A field of this name that documents have themselves takes precedence.
    if states is not None and facets.get("state") == ():
        facets["state"] = states.counts(documents)
    return facets

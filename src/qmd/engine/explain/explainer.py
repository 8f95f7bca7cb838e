"""Why a document is, or is not, among the results of a search.

Nothing is ranked here: the search is run as it was asked, and once more without its cut, and the document is
looked up in both answers. So every number is one that the search itself gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from qmd.engine.embedding.active_vectors import choose
from qmd.engine.explain.lookup import Presence
from qmd.engine.explain.term_matches import TermMatch, match_terms
from qmd.engine.models.egress import disclose
from qmd.engine.models.provider import ModelProvider
from qmd.engine.requests import ALL, SearchRequest
from qmd.engine.retrieval.filters import filtered_out, scope_of, without_filters
from qmd.engine.retrieval.searcher import LIST_LENGTH, as_document
from qmd.errors import ModelError, TimedOutError, VectorIndexMissingError
from qmd.store.base import ChunkMatch, Scope, Store
from qmd.text.query import LexicalQuery, parse
from qmd.types import Config, Document, Hit, SearchResponse, Stage

Kind = Literal["search", "vsearch", "query"]
Verdict = Literal["shown", "below_limit", "below_min_score", "not_found", "not_searched", "not_indexed"]
Run = Callable[[str, SearchRequest], SearchResponse]

#: How far `search` and `vsearch` are looked through. `query` has its own length: its scores depend on how
#: long its lists are, so a longer answer would be another one.
DEPTH = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a search without a cut puts the document: `hit`, at `rank` from 1 of `of`; None where nowhere.

    `complete` is false where there may be more than `of`; `last` is the last of them. `passage` is the
    document's chunk nearest to the query.
    """

    kind: Kind
    query: str
    rank: int | None
    of: int
    complete: bool
    hit: Hit | None
    last: Hit | None
    passage: ChunkMatch | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """The answer: a verdict, its reason in words, and what would change it.

    `file` is the display path, or the path on disk of a file that is not indexed. `places` are the rankings
    that the search is made of, and last its own. `shown` results are shown, the last of which scores `least`.
    `stages` are those that did not run.
    """

    kind: Kind
    query: str
    file: str
    document: Document | None
    verdict: Verdict
    reason: str
    hint: str | None = None
    notes: tuple[str, ...] = ()
    terms: tuple[TermMatch, ...] = ()
    places: tuple[Place, ...] = ()
    shown: int = 0
    least: float | None = None
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """The search in question, and the texts of it that words and vectors are compared with."""

    kind: Kind
    request: SearchRequest
    lexical: tuple[str, ...]
    dense: tuple[str, ...]

    def alone(self, kind: Kind, text: str) -> _Asked:
        """One of the searches that a hybrid one is made of."""
        return replace(self, kind=kind, request=replace(self.request, query=text, searches=(), intent=None))

    @property
    def depth(self) -> int:
        """How many results it has at most, without its cut."""
        least = LIST_LENGTH if self.kind == "query" else DEPTH
        return ALL if self.request.limit is None else max(least, self.request.limit)

    @property
    def uncut(self) -> SearchRequest:
        """The same search, with everything that it ranks."""
        return replace(self.request, limit=self.request.limit and self.depth, min_score=0.0)


class Explainer:
    """Asks one index; `run` is its search."""

    def __init__(
        self, store: Store, config: Config, roles: ModelProvider, presence: Presence, run: Run
    ) -> None:
        self._store = store
        self._config = config
        self._roles = roles
        self._presence = presence
        self._run = run

    def answer(self, reference: str, kind: Kind, request: SearchRequest) -> Why:
        """Why what `reference` names is or is not a result; see `Index.why` for what is raised."""
        asked = _asked(kind, replace(request.checked(), explain=True, full=False))
        scope = scope_of(self._config, asked.request)
        query = request.query or "\n".join(f"{each.type}: {each.query}" for each in request.searches)
        document = self._presence.find(reference)
        if isinstance(document, str):
            absence = self._presence.absence(document)
            return Why(kind, query, document, None, "not_indexed", absence.reason, absence.hint)
        words = _words(asked)
        why = Why(
            kind,
            query,
            document.file,
            document,
            "not_searched",
            f"its collection '{document.collection}' is searched only when named",
            f"add -c {document.collection}",
            tuple(self._presence.differences(document)),
            tuple(match_terms(self._store, document, words)),
        )
        if document.collection in scope.collections:
            why = replace(why, hint=None)
            reason = filtered_out(scope, document)
            return replace(why, reason=reason) if reason else self._ranked(why, document, asked)
        if request.collections:
            named = ", ".join(f"'{name}'" for name in scope.collections)
            why = replace(why, reason=f"it is in '{document.collection}', and only {named} is searched")
        return why

    def _ranked(self, why: Why, document: Document, asked: _Asked) -> Why:
        passages = self._passages(document, asked.dense)
        lacking = bool(asked.dense) and not any(passages)
        try:
            shown, deep = self._run(asked.kind, asked.request), self._run(asked.kind, asked.uncut)
        except VectorIndexMissingError:
            reason = "nothing that is searched has vectors yet"
            return replace(why, verdict="not_found", reason=reason, hint="run 'qmd embed'")
        own = _place(asked, why.query, shown, document)
        whole = _place(asked, why.query, deep, document)
        place = replace(whole, rank=own.rank, hit=own.hit) if own.hit else whole
        if asked.kind == "vsearch" and passages:
            place = replace(place, passage=passages[0])
        parts = self._parts(document, asked, passages) if asked.kind == "query" else []
        why = replace(
            why,
            places=(*parts, place),
            shown=len(shown.hits),
            least=shown.hits[-1].score if shown.hits else None,
            stages=tuple(
                dict.fromkeys(each for each in (*shown.stages, *deep.stages) if each.status != "ran")
            ),
        )
        if asked.kind == "query":
            why = replace(why, notes=(*why.notes, *_left_out(place, asked, deep, lacking)))
        if own.hit is not None:
            return replace(why, verdict="shown", reason=f"result {own.rank} of the {why.shown} shown")
        if place.hit is not None and place.rank is not None:
            return _cut_off(why, place.hit, place.rank, asked.request)
        return _not_found(why, place, lacking)

    def _parts(self, document: Document, asked: _Asked, passages: Sequence[ChunkMatch | None]) -> list[Place]:
        """The rankings by words and by meaning that a hybrid search is made of."""
        places = []
        for text in asked.lexical:
            alone = asked.alone("search", text)
            places.append(_place(alone, text, self._run("search", alone.uncut), document))
        for text, passage in zip(asked.dense, passages, strict=True):
            alone = asked.alone("vsearch", text)
            try:
                response = self._run("vsearch", alone.uncut)
            except (VectorIndexMissingError, ModelError, TimedOutError):
                continue  # a stage of the hybrid search says so
            places.append(replace(_place(alone, text, response, document), passage=passage))
        return places

    def _passages(self, document: Document, texts: Sequence[str]) -> list[ChunkMatch | None]:
        """The document's chunk nearest to each text; None where it has no vectors."""
        if not texts:
            return []
        try:
            chosen = choose(self._store, self._config, self._roles, Scope((document.collection,)))
            if chosen.configured:
                disclose(self._store, self._roles, "embed")
            return [
                self._store.similarities(chosen.fingerprint, vector, [document.id]).get(document.id)
                for vector in chosen.embedder.embed_queries(list(texts))
            ]
        except (ModelError, VectorIndexMissingError):
            return [None] * len(texts)


def _asked(kind: Kind, request: SearchRequest) -> _Asked:
    """Raises `QueryError` for a query document that cannot be read."""
    meant = without_filters(as_document(request) if kind == "query" else request)
    # Asked as it was typed, but with its filters in force for the parts of it too.
    request = replace(request, author=meant.author, after=meant.after, before=meant.before)
    lexical: tuple[str, ...] = (meant.query,) if meant.query else ()
    dense = lexical
    if meant.searches:
        lexical = tuple(each.query for each in meant.searches if each.type == "lex")
        dense = tuple(each.query for each in meant.searches if each.type != "lex")
    return _Asked(kind, request, () if kind == "vsearch" else lexical, () if kind == "search" else dense)


def _words(asked: _Asked) -> LexicalQuery:
    """All terms that are looked for, or that leave documents out."""
    parsed = [parse(text) for text in asked.lexical]
    return LexicalQuery(
        tuple(dict.fromkeys(term for each in parsed for term in each.terms)),
        tuple(dict.fromkeys(term for each in parsed for term in each.negative)),
    )


def _place(asked: _Asked, query: str, response: SearchResponse, document: Document) -> Place:
    hits = response.hits
    rank, hit = next(((n, hit) for n, hit in enumerate(hits, 1) if hit.file == document.file), (None, None))
    return Place(asked.kind, query, rank, len(hits), len(hits) < asked.depth, hit, hits[-1] if hits else None)


def _left_out(place: Place, asked: _Asked, response: SearchResponse, lacking: bool) -> list[str]:
    """What a hybrid search did not look at in the document, and why."""
    notes = []
    if lacking:
        notes.append("it has no vectors yet, so only its words count: run 'qmd embed'")
    explain = place.hit.explain if place.hit is not None else None
    stage = response.stage("rerank")
    if explain is not None and "rerank" not in explain and stage is not None and stage.status == "ran":
        rank = explain["fused"]["rank"]
        most = asked.request.candidate_limit
        notes.append(f"not reranked: only the best {most} of the fused list are, and it is number {rank}")
    return notes


def _cut_off(why: Why, hit: Hit, rank: int, request: SearchRequest) -> Why:
    """Ranked, but not shown: which options would show it."""
    options = [f"-n {rank}"] if request.limit is not None and rank > request.limit else []
    verdict: Verdict = "below_limit"
    reason = f"it is number {rank}, beyond the {why.shown} shown"
    if why.least is not None:
        reason += f"; the last of them scores {why.least:.3f}, it {hit.score:.3f}"
    if hit.score < request.min_score:
        options.append(f"--min-score {math.floor(hit.score * 100) / 100:.2f}")
        verdict = "below_min_score"
        reason = f"its score {hit.score:.3f} is below --min-score {request.min_score:g}"
    hint = f"{' '.join(options)} shows it" if options else None
    return replace(why, verdict=verdict, reason=reason, hint=hint)


def _not_found(why: Why, place: Place, lacking: bool) -> Why:
    """Not ranked at all, or below all that was looked through."""
    unwanted = [term.term for term in why.terms if term.excluded and term.found]
    held = [term for term in why.terms if not term.excluded and (term.found or term.longer)]
    hint = None
    if why.kind == "search" and unwanted:
        reason = f"the query leaves out what has {', '.join(map(repr, unwanted))}"
    elif why.kind == "search" and not held:
        reason, hint = "it has none of the query's words", "'qmd query' and 'qmd vsearch' search by meaning"
    elif why.kind == "query" and not held and lacking:
        reason, hint = "it has none of the query's words, and no vectors yet", "run 'qmd embed'"
    elif lacking and why.kind == "vsearch":
        reason, hint = "it has no vectors yet", "run 'qmd embed'"
    elif why.kind == "query":
        reason = f"neither its words nor its meaning are among the best {LIST_LENGTH}"
    else:
        reason = f"it is not among the best {place.of:,}"
    return replace(why, verdict="not_found", reason=reason, hint=hint)

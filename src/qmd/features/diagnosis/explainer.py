"""Explain why a document is, or is not, among the results of a search.

Nothing is ranked here. The search runs once as requested and once without its limit, and the document is
looked up in both responses. Therefore every number comes from the search itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from qmd.engine.access.kept import reasons
from qmd.engine.access.rules import Rule
from qmd.engine.documents.lookup import Lookup, lookup_in
from qmd.engine.embedding.active_vectors import select
from qmd.engine.models.egress import disclose
from qmd.engine.models.provider import ModelProvider
from qmd.engine.parts import Part
from qmd.engine.requests import SearchRequest
from qmd.engine.retrieval.filters import filtered_out, languages_in, scope_of
from qmd.engine.retrieval.pipeline import PLANS
from qmd.engine.retrieval.queries import LIST_LENGTH
from qmd.engine.retrieval.widening import widened
from qmd.errors import ModelError, TimedOutError, VectorIndexMissingError
from qmd.features.diagnosis.term_matches import TermMatch, match_terms
from qmd.search_options import ALL, SearchKind
from qmd.store.base import Store
from qmd.store.values import ChunkMatch, Scope
from qmd.text.extraction import extract
from qmd.text.highlight import Highlighter
from qmd.text.predicates import Fields
from qmd.text.query import LexicalQuery
from qmd.text.question import Question
from qmd.types import Config, Document, Hit, SearchResponse, Stage
from qmd.types.traces import ContractBlend, Fusion, TunedBlend

if TYPE_CHECKING:
    from qmd.engine.parts import Searches

Verdict = Literal["shown", "below_limit", "below_min_score", "not_found", "not_searched", "not_indexed"]
Run = Callable[[str, SearchRequest], SearchResponse]

#: How many results of `search` and `vsearch` are inspected. `query` has its own limit, because its scores
#: depend on the length of its lists.
DEPTH = 1000


class Standing(Struct, frozen=True):
    """The document's rank among the `total` results of a search without its limit; None if it is not there.

    `complete` is false if there may be more results. `last` is the last of them. `passage` is the document's
    chunk nearest to the query.
    """

    kind: SearchKind
    query: str
    rank: int | None
    total: int
    complete: bool
    hit: Hit | None
    last: Hit | None
    passage: ChunkMatch | None = None


class Why(Struct, frozen=True):
    """A verdict with its reason, and a hint how to change it.

    Attributes:
        file: The display path, or the path on disk of a file that is not indexed.
        standings: The standings in the searches that a hybrid search combines, then in the search itself.
        shown: The number of results that the search shows.
        lowest_score: The score of the last result shown.
        stages: The stages of the search that did not run.
        fields: The values of the document's fields by name.
    """

    kind: SearchKind
    query: str
    file: str
    document: Document | None
    verdict: Verdict
    reason: str
    hint: str | None = None
    notes: tuple[str, ...] = ()
    terms: tuple[TermMatch, ...] = ()
    standings: tuple[Standing, ...] = ()
    shown: int = 0
    lowest_score: float | None = None
    stages: tuple[Stage, ...] = ()
    fields: Fields = field(default_factory=dict)


class _Search(Struct, frozen=True):
    """The search to explain, and its texts for lexical and for vector search."""

    kind: SearchKind
    request: SearchRequest
    lexical: tuple[Question, ...]
    dense: tuple[str, ...]

    def alone(self, kind: SearchKind, text: str) -> _Search:
        """Return one of the searches that a hybrid search combines."""
        return replace(self, kind=kind, request=replace(self.request, query=text, searches=(), intent=None))

    @property
    def depth(self) -> int:
        """The largest number of results without the limit."""
        minimum = LIST_LENGTH if self.kind == "query" else DEPTH
        return ALL if self.request.limit is None else max(minimum, self.request.limit)

    @property
    def uncut(self) -> SearchRequest:
        """The same search without its limit and minimum score."""
        return replace(self.request, limit=self.request.limit and self.depth, min_score=0.0)


class Explainer(Struct, frozen=True):
    """Explains the results of one index. `run` is the index's search."""

    store: Store
    config: Config
    models: ModelProvider
    lookup: Lookup
    run: Run

    def answer(self, reference: str, kind: SearchKind, request: SearchRequest) -> Why:
        """Explain why the document that `reference` names is or is not a result. Raises as `Index.why`."""
        search = self._search(kind, replace(request.checked(), explain=True, full=False, offset=0))
        scope = scope_of(self.store, self.config, search.request)
        query = request.query or "\n".join(f"{part.type}: {part.query}" for part in request.searches)
        document = self.lookup.find(reference)
        if isinstance(document, str):
            absence = self.lookup.absence(document)
            return Why(kind, query, document, None, "not_indexed", absence.reason, absence.hint)
        fields = self.store.fields.of([document.id]).get(document.id, {})
        why = Why(
            kind,
            query,
            document.file,
            document,
            "not_searched",
            "",
            notes=(
                *self.lookup.differences(document),
                *self._omitted(document, fields),
                *reasons(self.config, document, fields),
            ),
            terms=tuple(match_terms(self.store, document, _words(search))),
            fields=fields,
        )
        collection = document.collection
        if collection in scope.collections:
            reason = filtered_out(self.store, scope, document)
            return replace(why, reason=reason) if reason else self._ranked(why, document, search)
        reason = f"its collection '{collection}' is searched only if you name it"
        if request.collections:
            named = ", ".join(f"'{name}'" for name in scope.collections)
            reason = f"it is in '{collection}', and only {named} is searched"
        return replace(why, reason=reason, hint=f"add -c {collection}")

    def _search(self, kind: SearchKind, request: SearchRequest) -> _Search:
        """Split a request into lexical and vector texts. Raises `QueryError` if it is no query document."""
        plan = PLANS[kind]
        asked = plan.ask(self.store, self.config, plan.read(request))
        queries = [query for query in asked.queries if query.query]
        scope = scope_of(self.store, self.config, asked.request)
        languages = languages_in(self.store, scope)
        return _Search(
            kind,
            # The query stays as typed. Its filters also apply to the searches that it combines.
            replace(request, where=asked.request.where),
            tuple(
                widened(self.store, self.config, scope, query.question, languages)[0]
                for query in queries
                if plan.words and query.lexical
            ),
            tuple(query.query for query in queries if plan.meaning and query.dense),
        )

    def _omitted(self, document: Document, fields: Fields) -> list[str]:
        """Return the omissions when the fields and links of a Markdown document were extracted."""
        if "markdown" not in fields.get("format", ()):
            return []  # the text of another format does not contain its fields
        text = self.store.documents.texts([document.id]).get(document.id, "")
        return [f"left out: {phrase}" for phrase in extract(text, document.path).omitted]

    def _ranked(self, why: Why, document: Document, search: _Search) -> Why:
        passages = self._passages(document, search.dense)
        lacking = bool(search.dense) and not any(passages)
        try:
            response, unlimited = self.run(search.kind, search.request), self.run(search.kind, search.uncut)
        except VectorIndexMissingError:
            reason = "none of the documents searched have vectors yet"
            return replace(why, verdict="not_found", reason=reason, hint="run 'qmd embed'")
        displayed = _standing(search, why.query, response, document)
        ranked = _standing(search, why.query, unlimited, document)
        standing = replace(ranked, rank=displayed.rank, hit=displayed.hit) if displayed.hit else ranked
        if search.kind == "vsearch" and passages:
            standing = replace(standing, passage=passages[0])
        parts, notes = [], list(why.notes)
        if search.kind == "query":
            parts = self._parts(document, search, passages)
            notes += _left_out(standing, search, unlimited, lacking)
        notes += _of_headings(standing, _words(search))
        stages = [stage for stage in (*response.stages, *unlimited.stages) if stage.status != "ran"]
        why = replace(
            why,
            notes=tuple(notes),
            standings=(*parts, standing),
            shown=len(response.hits),
            lowest_score=response.hits[-1].score if response.hits else None,
            stages=tuple(dict.fromkeys(stages)),
        )
        if displayed.hit is not None:
            return replace(why, verdict="shown", reason=f"result {displayed.rank} of the {why.shown} shown")
        if standing.hit is not None and standing.rank is not None:
            return _cut_off(why, standing.hit, standing.rank, search.request)
        return _not_found(why, standing, lacking)

    def _parts(
        self, document: Document, search: _Search, passages: Sequence[ChunkMatch | None]
    ) -> list[Standing]:
        """Return the standings in the lexical and vector searches that a hybrid search combines."""
        standings = []
        for text in (question.words for question in search.lexical):
            alone = search.alone("search", text)
            standings.append(_standing(alone, text, self.run("search", alone.uncut), document))
        for text, passage in zip(search.dense, passages, strict=True):
            alone = search.alone("vsearch", text)
            try:
                response = self.run("vsearch", alone.uncut)
            except (VectorIndexMissingError, ModelError, TimedOutError):
                continue  # a stage of the hybrid search reports the reason
            standings.append(replace(_standing(alone, text, response, document), passage=passage))
        return standings

    def _passages(self, document: Document, texts: Sequence[str]) -> list[ChunkMatch | None]:
        """Return the document's chunk nearest to each text; None for each text if there are no vectors."""
        if not texts:
            return []
        try:
            chosen = select(self.store, self.config, self.models, Scope((document.collection,)))
            if chosen.configured:
                disclose(self.store, self.models, "embed")
            return [
                chosen.nearest_chunks(self.store, probe, [document.id]).get(document.id)
                for probe in chosen.probes(texts)
            ]
        except (ModelError, VectorIndexMissingError):
            return [None] * len(texts)


def _words(search: _Search) -> LexicalQuery:
    """Return all terms of the query, required and excluded."""
    queries = [question.terms for question in search.lexical]
    return LexicalQuery(
        tuple(dict.fromkeys(term for query in queries for term in query.terms)),
        tuple(dict.fromkeys(term for query in queries for term in query.negative)),
    )


def _standing(search: _Search, query: str, response: SearchResponse, document: Document) -> Standing:
    hits, total = response.hits, len(response.hits)
    rank, hit = next(((n, hit) for n, hit in enumerate(hits, 1) if hit.file == document.file), (None, None))
    return Standing(search.kind, query, rank, total, total < search.depth, hit, hits[-1] if hits else None)


def _of_headings(standing: Standing, words: LexicalQuery) -> list[str]:
    """Name the words of the query in the headings of the passage, which count most for its choice."""
    section = standing.hit.section if standing.hit is not None else None
    places = Highlighter(words.terms).highlights(section) if section else ()
    found = dict.fromkeys(section[start:end] for start, end in places) if section else {}
    named = " and ".join(f"'{each}'" for each in found)
    return (
        [f"the headings of its passage, which count more than text, have {named}: {section}"] if found else []
    )


def _left_out(standing: Standing, search: _Search, response: SearchResponse, lacking: bool) -> list[str]:
    """Describe the steps of a hybrid search that the document did not take, and why."""
    notes = []
    if lacking:
        notes.append("it has no vectors yet, so only its words count: run 'qmd embed'")
    stage = response.stage("rerank")
    match standing.hit.traces if standing.hit is not None else ():
        case (Fusion(rank=rank), *rest) if stage is not None and stage.status == "ran":
            if not any(isinstance(trace, ContractBlend | TunedBlend) for trace in rest):
                best = f"only the best {search.request.candidate_limit} of the fused list are"
                notes.append(f"not reranked: {best}, and it is number {rank}")
    return notes


def _cut_off(why: Why, hit: Hit, rank: int, request: SearchRequest) -> Why:
    """Explain a document that is ranked but not shown, and name the options that show it."""
    options = [f"-n {rank}"] if request.limit is not None and rank > request.limit else []
    verdict: Verdict = "below_limit"
    reason = f"it is number {rank}, beyond the {why.shown} shown"
    if why.kind == "query" and request.limit is not None and rank <= request.limit:
        # The reranker reads only the candidates that a search for so few is likely to show.
        reason = f"it is number {rank} of more results, for which the reranker reads more candidates"
        options = [f"-n {LIST_LENGTH}"]
    if why.lowest_score is not None:
        reason += f"; the last of them scores {why.lowest_score:.3f}, it {hit.score:.3f}"
    if hit.score < request.min_score:
        options.append(f"--min-score {math.floor(hit.score * 100) / 100:.2f}")
        verdict = "below_min_score"
        reason = f"its score {hit.score:.3f} is below --min-score {request.min_score:g}"
    hint = f"{' '.join(options)} shows it" if options else None
    return replace(why, verdict=verdict, reason=reason, hint=hint)


def _not_found(why: Why, standing: Standing, lacking: bool) -> Why:
    """Explain a document that is not among the results inspected."""
    excluded = [term.term for term in why.terms if term.excluded and term.found]
    present = [term for term in why.terms if not term.excluded and (term.found or term.longer)]
    hint = None
    if why.kind == "search" and excluded:
        reason = f"the query excludes documents with {', '.join(map(repr, excluded))}"
    elif why.kind == "search" and not present:
        reason, hint = "it has none of the query's words", "'qmd query' and 'qmd vsearch' search by meaning"
    elif why.kind == "query" and not present and lacking:
        reason, hint = "it has none of the query's words, and no vectors yet", "run 'qmd embed'"
    elif lacking and why.kind == "vsearch":
        reason, hint = "it has no vectors yet", "run 'qmd embed'"
    elif why.kind == "query":
        reason = f"it is not among the best {LIST_LENGTH} matches by words or by meaning"
    else:
        reason = f"it is not among the best {standing.total:,}"
    return replace(why, verdict="not_found", reason=reason, hint=hint)


class WhyMethods(Part):
    """Explain the results of a search."""

    _rules: Mapping[str, Rule] = {"why": Rule(action="ask about files on disk")}

    def why(self, reference: str, kind: SearchKind, request: SearchRequest) -> Why:
        """Explain why a document, or a file on disk, is or is not among the results of a search.

        `reference` is anything that `get` takes, or the path of a file. Raises as `get` if it is neither, and
        as the search, except that `VectorIndexMissingError` becomes part of the explanation.
        """
        workspace, index = self._workspace, cast("Searches", self)
        explainer = Explainer(
            workspace.store, workspace.config, workspace.models, lookup_in(workspace), index.run
        )
        return explainer.answer(reference, kind, request)

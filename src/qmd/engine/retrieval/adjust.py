"""Adjust the final scores of a search: weights of collections, recency, marks, pins, copies, and the cut.

Every adjustment is off by default. Without any, the ranked documents are only cut to the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from qmd.engine.requests import SearchRequest
from qmd.engine.retrieval.factors import Facts, superseded, weigh
from qmd.ranking.calibration import within
from qmd.search_options import ALL
from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.text.predicates import matches
from qmd.text.question import Question
from qmd.types import Collection, Config, Document, Ranked, Stage, traces
from qmd.types.states import CURRENT

if TYPE_CHECKING:
    from qmd.engine.documents.states import States

#: The half-life of `recent` in days, if neither the request nor the configuration has one.
DEFAULT_HALF_LIFE = 90.0
#: An adjusted search considers at least this many documents.
POOL = 100
#: The most copies of a document that a hit names.
MAX_COPIES = 20


class Guidance(Struct, frozen=True):
    """The user's word on a query: pinned documents in order, and marks, by display path."""

    pinned: tuple[str, ...] = ()
    marks: Mapping[str, Literal["good", "bad"]] = field(default_factory=dict)


class Cut(Struct, frozen=True):
    """The documents of a page, and how many of those that were ranked come after it."""

    items: list[Ranked]
    after: int = 0


#: Returns the user's word on a query, and a stage if there is anything to tell about that.
Guide = Callable[[Question], tuple[Guidance, Stage | None]]


class Adjuster(Struct, frozen=True):
    """The adjustments of one search."""

    store: Store
    config: Config
    scope: Scope
    request: SearchRequest
    guidance: Guidance = field(default_factory=Guidance)
    states: States | None = None  #: The states of documents, if some are not current
    estimates: bool = False  #: Whether scores are estimates, which stay between those of `uncertain`
    before: frozenset[int] = frozenset()  #: The documents of the pages before

    @property
    def fold(self) -> bool:
        """True if documents with the same text are one hit."""
        return self.config.fold if self.request.fold is None else self.request.fold

    @property
    def by_date(self) -> bool:
        return self.request.sort == "date"

    @property
    def weighs(self) -> bool:
        """True if a factor may differ from 1."""
        collections = self._collections
        return (
            bool(self.guidance.marks)
            or self.sinks
            or len({collection.weight for collection in collections}) > 1
            or any(self._half_life(collection) is not None for collection in collections)
        )

    @property
    def sinks(self) -> bool:
        """True if documents may sink because of their state."""
        return self.states is not None and self.states.sink

    @property
    def depth(self) -> int:
        """The number of documents to find before the cut."""
        if self.request.limit is None:
            return ALL
        limit = self.request.offset + self.request.limit
        if self.weighs or self.fold or self.by_date or self.guidance.pinned:
            return max(POOL, 3 * limit)
        return limit

    def apply(self, ranked: Sequence[Ranked], *, complete: bool = False) -> Cut:
        """Return the documents of the page, in order.

        A low score leaves a document out before it is adjusted, so that weights change the order only.
        Args:
            ranked: The documents by score.
            complete: Whether these are all matches. If they are to be sorted by date, the newest of them are
                shown, otherwise the best ones, newest first.
        """
        items = [item for item in ranked if item.score >= self.request.min_score]
        if self.weighs or self.by_date or self.guidance.pinned:
            documents = self.store.documents.by_id([item.document for item in items])
            items = [item for item in items if item.document in documents]
            if self.weighs:
                successors = self._successors(items)
                items = self._weighed(items, documents, successors)
                if not self.by_date:
                    items = succeeded(items, successors, documents)
                if self.estimates:
                    items = [replace(item, score=within(item.score)) for item in items]
            if self.by_date and complete:
                items = _newest_first(items, documents)
            cut = self.cut([*self._pinned(items), *items])
            if self.by_date and not complete:
                pinned = [item for item in cut.items if item.pinned]
                others = _newest_first([item for item in cut.items if not item.pinned], documents)
                cut = replace(cut, items=[*pinned, *others])
            return cut
        return self.cut(items)

    def cut(self, items: Sequence[Ranked]) -> Cut:
        """Return the page: each document once, and without copies if they are folded."""
        unique: dict[int, Ranked] = {}
        for item in items:
            unique.setdefault(item.document, item)
        if not self.fold:
            rest = [item for item in unique.values() if item.document not in self.before]
            page = rest[: self.request.limit]
            return Cut(page, len(rest) - len(page))
        documents = self.store.documents.by_id([*unique, *self.before])
        before = {documents[document].hash for document in self.before if document in documents}
        first: dict[str, Ranked] = {}
        for item in unique.values():
            if (document := documents.get(item.document)) and document.hash not in before:
                first.setdefault(document.hash, item)
        rest = [*first.values()]
        page = [self._with_copies(item, documents[item.document]) for item in rest[: self.request.limit]]
        return Cut(page, len(rest) - len(page))

    @property
    def _collections(self) -> list[Collection]:
        names = self.scope.collections
        return [self.config.collections[name] for name in names if name in self.config.collections]

    def _half_life(self, collection: Collection) -> float | None:
        """Return the half-life of a collection's scores in days; None if the date does not count."""
        if self.request.recent is False:
            return None
        if self.request.half_life is not None:
            return self.request.half_life
        configured = self.config.recency if collection.recency is None else collection.recency
        if configured is None and self.request.recent:
            return DEFAULT_HALF_LIFE
        return configured or None

    def _successors(self, items: Sequence[Ranked]) -> dict[int, list[int]]:
        """Return the documents in the scope that replace others, one after the other, by id."""
        if self.states is None:
            return {}
        chains = {item.document: chain for item in items if (chain := self.states.chain(item.document))}
        following = {document for chain in chains.values() for document in chain}
        covered = {each.id for each in self._covers([*self.store.documents.by_id([*following]).values()])}
        return {
            document: found
            for document, chain in chains.items()
            if (found := [each for each in chain if each in covered])
        }

    def _weighed(
        self,
        items: Sequence[Ranked],
        documents: Mapping[int, Document],
        successors: Mapping[int, Sequence[int]],
    ) -> list[Ranked]:
        collections = {collection.name: collection for collection in self._collections}
        highest = max((collection.weight for collection in collections.values()), default=1.0)
        half_lives = {name: self._half_life(collection) for name, collection in collections.items()}
        now = datetime.now(UTC)
        scored = []
        for item in items:
            document = documents[item.document]
            facts = Facts(
                date=document.date,
                now=now,
                weight=collections[document.collection].weight,
                highest=highest,
                half_life=half_lives[document.collection],
                mark=self.guidance.marks.get(document.file),
                state=CURRENT
                if self.states is None or document.id in successors
                else self.states.of(document.id),
            )
            scored.append(weigh(item, facts))
        return sorted(scored, key=lambda item: -item.score)

    def _pinned(self, items: Sequence[Ranked]) -> list[Ranked]:
        """Return the pinned documents that the search covers. They score 1, because the user chose them."""
        ranked = {item.document: item for item in items}
        pinned = []
        for file in self.guidance.pinned:
            collection, _, path = file.partition("/")
            document = self.store.documents.find(collection, path)
            if document is not None and self._covers([document]):
                item = ranked.get(document.id) or Ranked(document.id, 1.0)
                pinned.append(replace(item, score=1.0, traces=(*item.traces, traces.Pin()), pinned=True))
        return pinned

    def _with_copies(self, item: Ranked, document: Document) -> Ranked:
        """Name the other documents with the same text that the search covers, and no others."""
        copies = [copy for copy in self.store.documents.by_hash(document.hash) if copy.id != document.id]
        files = [copy.file for copy in self._covers(copies)]
        if not files:
            return item
        trace = traces.Fold(len(files))
        return replace(item, also=tuple(files[:MAX_COPIES]), traces=(*item.traces, trace))

    def _covers(self, documents: Sequence[Document]) -> list[Document]:
        """Return the documents that are in the scope of the search."""
        inside = [document for document in documents if document.collection in self.scope.collections]
        where = self.scope.where
        if where is None or not inside:
            return inside
        fields = self.store.fields.of([document.id for document in inside])
        return [
            document
            for document in inside
            if matches(where, {"id": (document.id,), **fields.get(document.id, {})})
        ]


def succeeded(
    items: Sequence[Ranked], successors: Mapping[int, Sequence[int]], documents: Mapping[int, Document]
) -> list[Ranked]:
    """Give documents the place of those that they replace, also if they are not among the items.

    A document that moves up gets the score of the one that it replaces, whose own score gets lower. Of a
    document's `successors`, those that are replaced themselves are only moved, not added.
    """
    if not successors:
        return [*items]
    ranked = {item.document: item for item in items}
    placed: dict[int, Ranked] = {}
    for item in items:
        *others, last = successors.get(item.document, (item.document,))
        for document in (last, *reversed(others)):
            known = document in ranked or document == last
            if document in placed or document == item.document or not known:
                continue
            own = ranked.get(document) or Ranked(document, 0.0)
            trace = traces.Succession(documents[item.document].file, own.score)
            placed[document] = replace(own, score=item.score, traces=(*own.traces, trace))
        placed.setdefault(item.document, item)
    # Sorting is stable: the replacement of a document stays above it.
    lowered = (superseded(item) if item.document in successors else item for item in placed.values())
    return sorted(lowered, key=lambda item: -item.score)


def _newest_first(items: Sequence[Ranked], documents: Mapping[int, Document]) -> list[Ranked]:
    dated = [
        replace(item, traces=(*item.traces, traces.DateOrder(documents[item.document].date)))
        for item in items
    ]
    return sorted(dated, key=lambda item: documents[item.document].date, reverse=True)

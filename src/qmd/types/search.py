"""A search, its steps and its results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from qmd.types.content import Anchor, Snippet
from qmd.types.documents import Chunk
from qmd.types.lists import ValueCount
from qmd.types.notes import Copies, Note, Pin, Source, Stale, first
from qmd.types.sessions import AgentSession
from qmd.types.states import CURRENT, DocumentState
from qmd.types.traces import Signal, Trace, explained

StageStatus = Literal["ran", "skipped", "failed", "timed_out"]
SearchType = Literal["lex", "vec", "hyde"]
SortOrder = Literal["relevance", "date"]


class Stage(Struct, frozen=True):
    """The outcome of one step of a search, so that the caller can see skipped and failed steps."""

    stage: str
    status: StageStatus
    reason: str | None = None  #: Why it was skipped or failed
    milliseconds: float | None = None  #: How long it took
    expected: bool = False  #: Whether it was skipped on request, or because there was nothing to do

    @property
    def notable(self) -> bool:
        """Whether the user should know: a step could not run, nothing seems to answer, or what was read."""
        return self.stage in ("answer", "dates", "spelling") or (self.status != "ran" and not self.expected)


class Window(Struct, frozen=True):
    """A part of a text, a [start, end) span of characters, as a candidate for the passage to show."""

    start: int
    end: int
    share: float = 0.0  #: The part of the weight of the query's terms that it contains, 0..1
    quoted: int = 0  #: How many of the terms that the user has quoted it contains
    score: float | None = None  #: The reranker's score of the window alone; None if it has not read it
    around: float = 0.0  #: The share of it and the windows beside it together, 0..1
    heading: float = 0.0  #: The weight of the terms in the headings above it, relative to the whole query
    alone: bool = False  #: Whether its heading has the words of the query and no others

    @property
    def is_named(self) -> bool:
        """True if its heading has as much as the whole query, or the number that was asked for."""
        return self.heading >= 1.0


class Ranked(Struct, frozen=True):
    """A document of the final list. Scores do not increase with rank."""

    document: int
    score: float  #: 0..1
    traces: tuple[Trace, ...] = ()  #: What each step has done for it
    signals: Mapping[Signal, float] = field(default_factory=dict)  #: What was measured of it
    chunk: Chunk | None = None  #: The chunk that matched by vector; None if there is none
    near: Chunk | None = None  #: The chunk of the document asked about that it is similar to
    windows: tuple[Window, ...] = ()  #: The windows that the reranker has read
    pinned: bool = False  #: Whether the user pinned it for this query
    also: tuple[str, ...] = ()  #: The display paths of other documents with the same text


class Hit(Struct, frozen=True):
    """One document of a search result.

    `score` is between 0 and 1 and decreases with rank, unless the result is sorted by date.
    """

    docid: str
    file: str
    collection: str
    path: str
    title: str
    score: float
    context: str | None
    line: int
    snippet: Snippet
    hash: str
    section: str = ""  #: The headings above the snippet, as `Operations > Backups`
    passages: tuple[Snippet, ...] = ()  #: As many passages as the request asks for; the snippet is the best
    anchor: Anchor | None = None  #: The place in the source file, if lines of the text are not lines of it
    date: str = ""  #: The date of the document, as in `Document`
    body: str | None = None
    fences: tuple[tuple[int, int], ...] = ()  #: [start, end) of code in the body
    traces: tuple[Trace, ...] = ()  #: How its score came about, if the request asks for that
    notes: tuple[Note, ...] = ()  #: What there is to say of it beside its text

    @property
    def state(self) -> DocumentState:
        """Whether it is still the present word: superseded, expired and so on."""
        return first(self.notes, DocumentState) or CURRENT

    @property
    def session(self) -> AgentSession | None:
        """The session of a coding agent whose transcript it is."""
        return first(self.notes, AgentSession)

    @property
    def pinned(self) -> bool:
        """True if the user pinned it for this query."""
        return first(self.notes, Pin) is not None

    @property
    def also(self) -> tuple[str, ...]:
        """The display paths of other documents with the same text."""
        copies = first(self.notes, Copies)
        return () if copies is None else copies.files

    @property
    def stale(self) -> Literal["gone", "changed"] | None:
        """How its file differs from the one that was indexed; None if it seems the same."""
        stale = first(self.notes, Stale)
        return None if stale is None else stale.file

    @property
    def similar_to(self) -> Snippet | None:
        """The passage of the document asked about that it is similar to."""
        source = first(self.notes, Source)
        return None if source is None else source.passage

    @property
    def explain(self) -> Mapping[str, Any] | None:
        """The traces as plain values, as in JSON; None if there are none."""
        return explained(self.traces) or None

    @property
    def percent(self) -> int:
        """The score in percent, rounded half up: 0.285 is 29, although its float is slightly less."""
        return math.floor(self.score * 100 + 0.5 + 1e-9)


class TypedSearch(Struct, frozen=True):
    """One line of a query document."""

    type: SearchType
    query: str


class SearchResponse(Struct, frozen=True):
    """The result of a search: the hits, best first, and the steps that ran."""

    query: str
    hits: tuple[Hit, ...]
    stages: tuple[Stage, ...]
    ranking: str | None = None
    #: The most frequent values of the fields that the request asks for.
    facets: Mapping[str, tuple[ValueCount, ...]] = field(default_factory=dict)
    #: Fields that the query has in brackets and no document has, so that these brackets are text.
    unknown_fields: tuple[str, ...] = ()
    note: str = ""  #: What was left out of the hits to stay within a number of tokens
    left_out: int = 0  #: How many hits that were found are left out
    offset: int = 0  #: How many hits come before these
    more: bool = False  #: Whether other hits come after these
    #: The number of hits on all pages; None if the search did not find out.
    total: int | None = None

    @property
    def found(self) -> int:
        """The number of hits, with those that were left out."""
        return len(self.hits) + self.left_out

    @property
    def next_offset(self) -> int | None:
        """The offset of the next page; None if there is none."""
        return self.offset + len(self.hits) if self.hits and (self.more or self.left_out) else None

    @property
    def extent(self) -> str:
        """Which of how many hits these are, in words: `results 6 to 10 of 57`."""
        last = self.offset + len(self.hits)
        these = f"results {self.offset + 1:,} to {last:,}" if len(self.hits) > 1 else f"result {last:,}"
        return these if self.total is None else f"{these} of {self.total:,}"

    def stage(self, name: str) -> Stage | None:
        """Return the step of this name; None if it was not part of the search."""
        return next((stage for stage in self.stages if stage.stage == name), None)

"""Immutable values that are shared by all layers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

DEFAULT_PATTERN = "**/*.md"
#: The limits of a collection's weight.
MIN_WEIGHT, MAX_WEIGHT = 0.01, 100.0

StageStatus = Literal["ran", "skipped", "failed", "timed_out"]
Ranking = Literal["contract", "tuned"]
#: What scores mean: how likely a document answers the query, or the value that its rank comes from.
ScoreScale = Literal["calibrated", "raw"]
SearchType = Literal["lex", "vec", "hyde"]
SortOrder = Literal["relevance", "date"]
EmbedMode = Literal["auto", "manual"]
LinkKind = Literal["wikilink", "markdown", "embed", "url"]


@dataclass(frozen=True, slots=True)
class Collection:
    """A folder of documents, as defined in the configuration."""

    name: str  #: The name, unique in an index
    path: str
    #: A glob, or several separated by commas, that files must match; "" if the formats decide
    pattern: str = DEFAULT_PATTERN
    ignore: tuple[str, ...] = ()  #: Globs of excluded files and folders
    #: Descriptions of folders by path inside the collection; "" or "/" is the whole collection.
    context: Mapping[str, str] = field(default_factory=dict)
    update: str | None = None  #: A shell command to run before the collection is scanned
    include_by_default: bool = True  #: Whether the collection is searched if the query names no collection
    encoding: str | None = None  #: The charset of files that are not UTF-8
    remote: bool = True  #: Whether the text may be sent to models on other machines
    weight: float = 1.0  #: How much its documents count in a search, relative to other collections
    #: The half-life of its documents' scores in days; 0 for none, None for that of the index.
    recency: float | None = None
    watch: bool = True  #: Whether servers and `qmd watch` follow changes of the files
    #: Whether watchers also embed changed documents; None: if the embedder runs on this machine.
    embed: EmbedMode | None = None
    #: Names of the formats to read, or `all`. If there is no pattern, they decide which files belong to it.
    formats: tuple[str, ...] = ()

    @property
    def selection(self) -> str:
        """What decides which files belong to the collection: its pattern, or `formats: pdf, docx`."""
        return self.pattern or f"formats: {', '.join(self.formats)}"


@dataclass(frozen=True, slots=True)
class Models:
    """The models by role, and their resources. None means the default. `generate` expands queries."""

    embed: str | None = None
    rerank: str | None = None
    generate: str | None = None
    openai_api_key_file: str | None = None  #: A file with the key for OpenAI-compatible servers
    threads: int | None = None
    max_ram_mb: int | None = None  #: The memory limit for models, in megabytes


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """An unknown key of `index.yml`, its line, and the most similar known key."""

    line: int
    key: str
    nearest: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The content of `index.yml`."""

    path: str  #: The file, which need not exist
    digest: str  #: The SHA-256 of the file's bytes
    collections: Mapping[str, Collection] = field(default_factory=dict)
    global_context: str | None = None  #: A description of all documents
    editor_uri: str | None = None  #: A template for links to files
    models: Models = field(default_factory=Models)
    ranking: Ranking | None = None  #: The ranking of search results; None means the default
    scores: ScoreScale | None = None  #: The scale of scores; None means the default
    archive: str | None = None  #: The folder of an archive of posts
    store: str | None = None  #: The address of a store other than SQLite
    recency: float | None = None  #: The half-life of scores in days; None if the date does not count
    fold: bool = False  #: Whether a search shows documents with the same text once
    # Not compared: an edit changes their lines.
    unknown_keys: tuple[UnknownKey, ...] = field(default=(), compare=False)  #: Keys that qmd does not know
    #: Whether collections are missing because the caller may not see them. Results must then not depend on
    #: the missing collections, not even through statistics.
    restricted: bool = False

    @property
    def population(self) -> tuple[str, ...] | None:
        """The collections that statistics are computed from, for `Scope.population`; None means all."""
        return tuple(self.collections) if self.restricted else None


class Fingerprint(NamedTuple):
    """The metadata of a file. If it is unchanged, the file counts as unchanged."""

    size: int
    mtime_ns: int
    inode: int


class SourceFile(NamedTuple):
    """A file of a collection. `path` is relative to the collection, with forward slashes, in NFC."""

    path: str
    absolute: str
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a document: its target as written, its text, and its line, counted from 1."""

    target: str
    text: str
    line: int
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """A link between documents.

    Attributes:
        file: The display path of the document with the link.
        line: The line of the link, counted from 1.
        kind: The kind of the link.
        target: The target as written.
        to: The display path of the document that it leads to; None if there is none.
    """

    file: str
    line: int
    kind: LinkKind
    target: str
    to: str | None


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, its level from 1, and the lines of its section with all subsections, both included."""

    heading: str
    level: int
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in the source file where a line of the text begins, such as page 12 or cell 4.

    `kind` is a word in lower case. The places of a document have one kind, and their values increase.
    """

    line: int
    kind: str
    value: int

    @property
    def address(self) -> str:
        """The place as references write it after a path, such as `p12`."""
        return f"{self.kind[0]}{self.value}"


@dataclass(frozen=True, slots=True)
class Extracted:
    """The content of a source file.

    Attributes:
        text: What is indexed, chunked and shown.
        title: The title, in one line.
        fields: Values by field name. Dates have the form `2024-03-07` or `2024-03-07T10:00:00`.
        links: The links in order.
        anchors: Places in the source file, by line; empty if lines of the text are lines of the file.
        omitted: What was left out because of limits or errors, a phrase each.
    """

    text: str
    title: str
    fields: Mapping[str, tuple[str | float | bool, ...]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    omitted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceText:
    """The decoded text of a file, and properties from its content."""

    text: str  #: The text without byte-order mark, with line feeds as line ends
    hash: str  #: The SHA-256 of the text, in hexadecimal
    title: str
    author: str = ""  #: The author in the front matter, or ""
    date: str = ""  #: The date in the front matter, or ""
    zeros: int = 0  #: The number of NUL characters that were replaced by spaces
    #: Values by field name.
    fields: Mapping[str, tuple[str | float | bool, ...]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()  #: The links in order
    anchors: tuple[Anchor, ...] = ()  #: Places in the source file, in order
    omitted: tuple[str, ...] = ()  #: What was left out, a phrase each


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document: characters [start, end), lines first_line to last_line, counted from 1."""

    seq: int
    start: int
    end: int
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document in the index, without its text."""

    id: int
    collection: str
    path: str
    title: str
    hash: str  #: The SHA-256 of the text
    size: int  #: The size of the file, in bytes
    modified_ns: int  #: The modification time of the file, in nanoseconds since the epoch
    author: str = ""  #: The author, or "" if unknown
    date: str = ""  #: The date as `2024-03-07T10:00:00`, without time zone

    @property
    def docid(self) -> str:
        return "#" + self.hash[:6]

    @property
    def file(self) -> str:
        """The display path: `collection/relative/path.md`."""
        return f"{self.collection}/{self.path}"


@dataclass(frozen=True, slots=True)
class Author:
    """An author, the number of their documents, and the dates of the oldest and the newest one."""

    name: str
    documents: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """A field, the types of its values, and the numbers of documents and of distinct values."""

    name: str
    types: tuple[str, ...]
    documents: int
    values: int


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value of a field, as the first document writes it, and the number of documents that have it."""

    value: str | float | bool
    documents: int


@dataclass(frozen=True, slots=True)
class Stage:
    """The outcome of one step of a search, so that the caller can see skipped and failed steps."""

    stage: str
    status: StageStatus
    reason: str | None = None  #: Why it was skipped or failed
    milliseconds: float | None = None  #: How long it took
    expected: bool = False  #: Whether it was skipped on request, or because there was nothing to do

    @property
    def notable(self) -> bool:
        """Whether the user should know: a step could not run, or nothing seems to answer the query."""
        return self.stage == "answer" or (self.status != "ran" and not self.expected)


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text, a [start, end) span of characters, as a candidate for the passage to show."""

    start: int
    end: int
    share: float = 0.0  #: The part of the weight of the query's terms that it contains, 0..1
    first: int = -1  #: The position of the first match; -1 if nothing matches
    score: float | None = None  #: The reranker's score of the window alone; None if it has not read it

    @property
    def place(self) -> int:
        """The position that a reader should look at: the first match, otherwise the start."""
        return self.start if self.first < 0 else self.first


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document of the final list. Scores do not increase with rank."""

    document: int
    score: float  #: 0..1
    explain: Mapping[str, Any] | None = None
    chunk: Chunk | None = None  #: The chunk that matched by vector; None if there is none
    windows: tuple[Window, ...] = ()  #: The windows that the reranker has read
    pinned: bool = False  #: Whether the user pinned it for this query
    also: tuple[str, ...] = ()  #: The display paths of other documents with the same text


@dataclass(frozen=True, slots=True)
class Snippet:
    """A passage of a document for a query."""

    text: str  #: The passage as in the file
    first_line: int  #: The line number of the passage's first line in the file
    line: int  #: The line number of the first line with a match
    section: str = ""  #: The headings above the line, as `Operations > Backups`
    score: float = 0.0  #: How well it matches compared with the document's other passages, 0..1


@dataclass(frozen=True, slots=True)
class Hit:
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
    explain: Mapping[str, Any] | None = None
    pinned: bool = False  #: Whether the user pinned it for this query
    also: tuple[str, ...] = ()  #: The display paths of other documents with the same text

    @property
    def percent(self) -> int:
        """The score in percent, rounded half up: 0.285 is 29, although its float is slightly less."""
        return math.floor(self.score * 100 + 0.5 + 1e-9)


@dataclass(frozen=True, slots=True)
class TypedSearch:
    """One line of a query document."""

    type: SearchType
    query: str


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The result of a search: the hits, best first, and the steps that ran."""

    query: str
    hits: tuple[Hit, ...]
    stages: tuple[Stage, ...]
    ranking: str | None = None
    #: The most frequent values of the fields that the request asks for.
    facets: Mapping[str, tuple[ValueCount, ...]] = field(default_factory=dict)

    def stage(self, name: str) -> Stage | None:
        """Return the step of this name; None if it was not part of the search."""
        return next((stage for stage in self.stages if stage.stage == name), None)

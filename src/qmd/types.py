"""Immutable values that are shared by all layers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

DEFAULT_PATTERN = "**/*.md"

StageStatus = Literal["ran", "skipped", "failed", "timed_out"]
Ranking = Literal["contract", "tuned"]
SearchType = Literal["lex", "vec", "hyde"]
LinkKind = Literal["wikilink", "markdown", "embed", "url"]


@dataclass(frozen=True, slots=True)
class Collection:
    """A folder of documents, as defined in the configuration.

    Attributes:
        name: the name, unique in an index.
        path: the folder.
        pattern: a glob, or several separated by commas, that files must match.
        ignore: globs of excluded files and folders.
        context: descriptions of folders by path inside the collection; "" or "/" is the whole collection.
        update: a shell command to run before the collection is scanned.
        include_by_default: whether the collection is searched if the query names no collection.
        encoding: the charset of files that are not UTF-8.
        remote: whether the text may be sent to models on other machines.
    """

    name: str
    path: str
    pattern: str = DEFAULT_PATTERN
    ignore: tuple[str, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    update: str | None = None
    include_by_default: bool = True
    encoding: str | None = None
    remote: bool = True


@dataclass(frozen=True, slots=True)
class Models:
    """The models by role, and their resources. None means the default.

    Attributes:
        embed: the embedding model.
        rerank: the reranking model.
        generate: the model for query expansion.
        openai_api_key_file: a file with the key for OpenAI-compatible servers.
        threads: the number of threads for models.
        max_ram_mb: the memory limit for models, in megabytes.
    """

    embed: str | None = None
    rerank: str | None = None
    generate: str | None = None
    openai_api_key_file: str | None = None
    threads: int | None = None
    max_ram_mb: int | None = None


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """An unknown key of `index.yml`, its line, and the most similar known key."""

    line: int
    key: str
    nearest: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The content of `index.yml`.

    Attributes:
        path: the file, which need not exist.
        digest: the SHA-256 of the file's bytes.
        collections: the collections by name.
        global_context: a description of all documents.
        editor_uri: a template for links to files.
        models: the models by role.
        ranking: the ranking of search results; None means the default.
        archive: the folder of an archive of posts.
        store: the address of a store other than SQLite.
        unknown_keys: keys that qmd does not know.
        restricted: whether collections are missing because the caller may not see them. Results must then not
            depend on the missing collections, not even through statistics.
    """

    path: str
    digest: str
    collections: Mapping[str, Collection] = field(default_factory=dict)
    global_context: str | None = None
    editor_uri: str | None = None
    models: Models = field(default_factory=Models)
    ranking: Ranking | None = None
    archive: str | None = None
    store: str | None = None
    # Not compared: an edit changes their lines.
    unknown_keys: tuple[UnknownKey, ...] = field(default=(), compare=False)
    restricted: bool = False

    @property
    def population(self) -> tuple[str, ...] | None:
        """The collections that statistics are computed from, for `Scope.population`; None means all."""
        return tuple(self.collections) if self.restricted else None


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The metadata of a file. If it is unchanged, the file counts as unchanged."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class SourceFile:
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
    """A place in the source file that a line of the text comes from, such as `page 12` or `cell 4`."""

    line: int
    name: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """The content of a source file.

    Attributes:
        text: What is indexed, chunked and shown.
        title: The title, in one line.
        fields: Values by field name. Dates have the form `2024-03-07` or `2024-03-07T10:00:00`.
        links: The links in order.
        sections: The sections in order.
        anchors: Places in the source file, by line; empty if lines of the text are lines of the file.
        omitted: What was left out because of limits or errors, a phrase each.
    """

    text: str
    title: str
    fields: Mapping[str, tuple[str | float | bool, ...]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    sections: tuple[Section, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    omitted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceText:
    """The decoded text of a file, and properties from its content.

    Attributes:
        text: the text without byte-order mark, with line feeds as line ends.
        hash: the SHA-256 of the text, in hexadecimal.
        title: the title of the document.
        author: the author in the front matter, or "".
        date: the date in the front matter, or "".
        zeros: the number of NUL characters that were replaced by spaces.
        fields: values by field name.
        links: the links in order.
    """

    text: str
    hash: str
    title: str
    author: str = ""
    date: str = ""
    zeros: int = 0
    fields: Mapping[str, tuple[str | float | bool, ...]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()


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
    """A document in the index, without its text.

    Attributes:
        id: the number of the document in the store.
        collection: the name of the collection.
        path: the path inside the collection.
        title: the title.
        hash: the SHA-256 of the text.
        size: the size of the file, in bytes.
        modified_ns: the modification time of the file, in nanoseconds since the epoch.
        author: the author, or "" if unknown.
        date: the date as `2024-03-07T10:00:00`, without time zone.
    """

    id: int
    collection: str
    path: str
    title: str
    hash: str
    size: int
    modified_ns: int
    author: str = ""
    date: str = ""

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
    """The outcome of one step of a search, so that the caller can see skipped and failed steps.

    Attributes:
        stage: the name of the step.
        status: how the step ended.
        reason: why it was skipped or failed.
        milliseconds: how long it took.
        expected: whether it was skipped on request, or because there was nothing to do.
    """

    stage: str
    status: StageStatus
    reason: str | None = None
    milliseconds: float | None = None
    expected: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document of the final list. Scores do not increase with rank.

    Attributes:
        document: The id of the document.
        score: The score, 0..1.
        explain: How the score came about.
        chunk: The chunk that matched by vector; None if there is none.
    """

    document: int
    score: float
    explain: Mapping[str, Any] | None = None
    chunk: Chunk | None = None


@dataclass(frozen=True, slots=True)
class Snippet:
    """The best passage of a document for a query.

    Attributes:
        text: the passage as in the file.
        first_line: the line number of the passage's first line in the file.
        line: the line number of the first line with a match.
    """

    text: str
    first_line: int
    line: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One document of a search result. `score` is between 0 and 1 and decreases with rank."""

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
    body: str | None = None
    explain: Mapping[str, Any] | None = None

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

    def stage(self, name: str) -> Stage | None:
        """Return the step of this name; None if it was not part of the search."""
        return next((stage for stage in self.stages if stage.stage == name), None)

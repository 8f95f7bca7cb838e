"""Frozen values that pass between the floors. No behaviour beyond what a value can say about itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

DEFAULT_PATTERN = "**/*.md"

StageStatus = Literal["ran", "skipped", "failed", "timed_out"]
Ranking = Literal["contract", "tuned"]
SearchType = Literal["lex", "vec", "hyde"]


@dataclass(frozen=True, slots=True)
class Collection:
    """A folder of documents as the configuration defines it.

    `context` maps a path inside the collection ("" or "/" for all of it) to a text. `encoding` names the
    charset of files that are not UTF-8. `include_by_default` false: searched only when named. `remote` false:
    its text goes to no model on another machine.
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
    """What each role uses; None is the default that needs no download.

    `openai_api_key_file` holds the key for OpenAI-compatible servers. `threads` and `max_ram_mb` bound what
    models take of this machine; None leaves it to them.
    """

    embed: str | None = None
    rerank: str | None = None
    generate: str | None = None
    openai_api_key_file: str | None = None
    threads: int | None = None
    max_ram_mb: int | None = None


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key of `index.yml` that has no meaning there, its line, and the known key that is most like it."""

    line: int
    key: str
    nearest: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """`index.yml`, read. `path` is the file (which may not exist yet), `digest` the SHA-256 of its bytes.

    `store` is the address of a store that is no SQLite file. `restricted`: collections were left out because
    the caller may not see them, so that answers must not depend on them in any way.
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
    # An edit moves them to other lines, and is none of what the file says.
    unknown_keys: tuple[UnknownKey, ...] = field(default=(), compare=False)
    restricted: bool = False

    @property
    def population(self) -> tuple[str, ...] | None:
        """The collections that statistics are taken from: `Scope.population`."""
        return tuple(self.collections) if self.restricted else None


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells a changed file from an unchanged one without reading it."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that belongs to a collection. `path` is relative to the root, with forward slashes, NFC."""

    path: str
    absolute: str
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file, read: text without byte-order mark, lines ended by line feeds; the SHA-256 of that text.

    `author` and `date` are what its front matter says, "" where it says nothing. `zeros` is how many NUL
    characters of the file are spaces in the text.
    """

    text: str
    hash: str
    title: str
    author: str = ""
    date: str = ""
    zeros: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: characters [start, end), lines first_line..last_line (from 1, both included)."""

    seq: int
    start: int
    end: int
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the index, without its text.

    `author` is "" where nobody is known; `date` is `2024-03-07T10:00:00`, of no time zone.
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
    """An author: how many documents there are of them, and the dates of the first and of the last."""

    name: str
    documents: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Stage:
    """What became of one step of a search, so that nothing is left out silently.

    `expected`: left out because that was asked for, or because there was nothing for it to do.
    """

    stage: str
    status: StageStatus
    reason: str | None = None
    milliseconds: float | None = None
    expected: bool = False


@dataclass(frozen=True, slots=True)
class Snippet:
    """The best passage for a query: text as in the file, and the file's own line numbers.

    `first_line` is the number of the snippet's first line, `line` that of the first line with a match.
    """

    text: str
    first_line: int
    line: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One document of a result, best first. `score` is 0..1 and falls with rank."""

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
        """The score in percent, rounded half up: 0.285 is 29, though its float is a little less."""
        return math.floor(self.score * 100 + 0.5 + 1e-9)


@dataclass(frozen=True, slots=True)
class TypedSearch:
    """One line of a query document."""

    type: SearchType
    query: str


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """What every search answers: the hits, and what ran to find them."""

    query: str
    hits: tuple[Hit, ...]
    stages: tuple[Stage, ...]
    ranking: str | None = None

    def stage(self, name: str) -> Stage | None:
        return next((stage for stage in self.stages if stage.stage == name), None)

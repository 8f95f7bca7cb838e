"""The configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from qmd.types.states import STATE_FIELDS, StateRole

DEFAULT_PATTERN = "**/*.md"
#: The limits of a collection's weight.
MIN_WEIGHT, MAX_WEIGHT = 0.01, 100.0

Ranking = Literal["contract", "tuned"]
#: The meaning of scores: how likely a document is about the query, or the value that its rank comes from.
ScoreScale = Literal["calibrated", "raw"]
EmbedMode = Literal["auto", "manual"]
#: Values that are masked for agents on request, besides secrets.
Mask = Literal["iban"]


class Secret(str):
    """A key or password. Its `repr`, which logs and tracebacks show, does not contain it."""

    def __repr__(self) -> str:
        return "Secret(...)"


class Collection(Struct, frozen=True):
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
    agents: bool = True  #: Whether agents may have its documents
    #: Names of the formats to read, or `all`. If there is no pattern, they decide which files belong to it.
    formats: tuple[str, ...] = ()
    gitignore: bool = False  #: Whether files that git ignores are left out
    ocr: bool = False  #: Whether the text in pictures and scanned pages is recognized
    #: The language of texts that do not state one, ISO 639-1; if None, their words show it.
    language: str | None = None

    @property
    def selection(self) -> str:
        """The rule for the files of the collection: its pattern, or `formats: pdf, docx`."""
        return self.pattern or f"formats: {', '.join(self.formats)}"


class Models(Struct, frozen=True):
    """The models by role, and their resources. None means the default. `generate` expands queries."""

    embed: str | None = None
    rerank: str | None = None
    generate: str | None = None
    openai_api_key_file: str | None = None  #: A file with the key for OpenAI-compatible servers
    threads: int | None = None
    max_ram_mb: int | None = None  #: The memory limit for models, in megabytes


class Hook(Struct, frozen=True):
    """The limits of the hooks of agents."""

    threshold: float = 0.5  #: The least score of a passage that is given for a prompt, 0..1
    collections: tuple[str, ...] = ()  #: The collections to search; empty for all that are not excluded


class Synonyms(Struct, frozen=True):
    """Words of the user's own: a search for one of `words` also finds `others`.

    If each of them finds all the others, both are the same.
    """

    words: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def one_way(self) -> bool:
        """True if a search for `others` does not find `words`."""
        return self.words != self.others


class UnknownKey(Struct, frozen=True):
    """An unknown key of `index.yml`, its line, and the most similar known key."""

    line: int
    key: str
    nearest: str | None = None


class Config(Struct, frozen=True):
    """The content of `index.yml`."""

    path: str  #: The file, which need not exist
    digest: str  #: The SHA-256 of the file's bytes
    collections: Mapping[str, Collection] = field(default_factory=dict)
    global_context: str | None = None  #: A description of all documents
    editor_uri: str | None = None  #: A template for links to files
    models: Models = field(default_factory=Models)
    hook: Hook = field(default_factory=Hook)
    ranking: Ranking | None = None  #: The ranking of search results; None means the default
    scores: ScoreScale | None = None  #: The scale of scores; None means the default
    archive: str | None = None  #: The folder of an archive of posts
    store: str | None = None  #: The address of a store other than SQLite
    recency: float | None = None  #: The half-life of scores in days; None if the date does not count
    fold: bool = False  #: Whether a search shows documents with the same text once
    #: More names of fields that say the state of a document, and what they say.
    state: Mapping[str, StateRole] = field(default_factory=dict)
    synonyms: tuple[Synonyms, ...] = ()  #: Words that find other words as well
    masks: tuple[Mask, ...] = ()  #: What is masked for agents on request
    unknown_keys: tuple[UnknownKey, ...] = ()  #: Keys that qmd does not know
    #: Whether collections are missing because the caller may not see them. Results must then not depend on
    #: the missing collections, not even through statistics.
    restricted: bool = False

    @property
    def state_fields(self) -> Mapping[str, StateRole]:
        """The names of all fields that say the state of a document, and what they say."""
        return {**STATE_FIELDS, **self.state}

    @property
    def population(self) -> tuple[str, ...] | None:
        """The collections that statistics are computed from, for `Scope.population`; None means all."""
        return tuple(self.collections) if self.restricted else None

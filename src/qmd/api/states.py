"""The answers about the index itself: its collections, contexts, scans and state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from msgspec import Struct
from msgspec.structs import asdict

from qmd.engine.documents.fields import FieldValues
from qmd.engine.indexing.scan import ScanReport
from qmd.text.values import DATE_ORIGIN, LANGUAGE, UNREAD, shown
from qmd.text.wording import visible
from qmd.types import ValueCount

#: The most fields, values of each, and tags that the overview of an index reads.
OVERVIEW_FIELDS = 12
OVERVIEW_VALUES = 3
OVERVIEW_TAGS = 15
#: Limits that keep what an overview says of fields and tags below 300 tokens.
_FIELDS_BYTES = 330
_TAGS_BYTES = 140
_VALUE_BYTES = 30
#: Fields that say little, or that an overview has apart.
_NOT_LISTED = ("tag", "ext", "format", DATE_ORIGIN, LANGUAGE, UNREAD)


class Collection(Struct, frozen=True):
    """A collection and the number of its documents."""

    name: str
    path: str
    pattern: str
    documents: int


class CollectionState(Collection, frozen=True):
    """A collection; `last_updated` is the time of its last scan, ISO 8601 in UTC."""

    last_updated: str | None


class CollectionDetails(Collection, frozen=True):
    """A collection; `last_indexed` is the time of its last scan, ISO 8601 in UTC.

    `formats` are those that it names. If there is no `pattern`, they select its files.
    """

    last_indexed: str | None
    formats: tuple[str, ...]


class Collections(Struct, frozen=True):
    """All collections, in the order of the configuration."""

    collections: tuple[Collection, ...]
    content: str


class Problem(Struct, frozen=True):
    """A file that could not be read."""

    path: str
    reason: str


class Report(Struct, frozen=True):
    """The result of a scan. `error` is the reason if it is incomplete.

    `notices` are other messages, also about files that wait for an extra.
    """

    collection: str
    added: int
    updated: int
    unchanged: int
    removed: int
    problems: tuple[Problem, ...]
    notices: tuple[str, ...]
    error: str | None

    @classmethod
    def of(cls, report: ScanReport) -> Self:
        """Return the result for a scan of the engine."""
        return cls(
            collection=report.collection,
            added=report.added,
            updated=report.updated,
            unchanged=report.unchanged,
            removed=report.removed,
            problems=tuple(Problem(path, reason) for path, reason in report.problems),
            notices=(*report.notices, *report.waits()),
            error=None if report.error is None else report.error.in_one_line(),
        )


class Indexed(Struct, frozen=True):
    """The scans of all collections; `collections` is their number."""

    status: Literal["indexed"]
    collections: int
    total_documents: int
    reports: tuple[Report, ...]
    content: str


class Updated(Struct, frozen=True):
    """The scans of all collections; `collections` is their number."""

    status: Literal["updated"]
    collections: int
    reports: tuple[Report, ...]
    content: str


class Embeddings(Struct, frozen=True):
    """One vector of length 1 per text, in their order."""

    embeddings: list[list[float]]


class Added(Struct, frozen=True):
    """The new collection, the files that could not be read, and messages, as of `/update`."""

    status: Literal["added"]
    name: str
    path: str
    documents: int
    problems: tuple[Problem, ...]
    notices: tuple[str, ...]
    content: str


class Removed(Struct, frozen=True):
    """The removed collection. Its files stay on the disk."""

    status: Literal["removed"]
    name: str
    content: str


class Renamed(Struct, frozen=True):
    """The renamed collection."""

    status: Literal["renamed"]
    old_name: str
    new_name: str
    content: str


class Context(Struct, frozen=True):
    """A path, as a `qmd://` address, and its description."""

    path: str
    text: str


class Contexts(Struct, frozen=True):
    """All contexts."""

    contexts: tuple[Context, ...]


class ContextAdded(Struct, frozen=True):
    """The new context."""

    status: Literal["added"]
    path: str
    content: str


class ContextRemoved(Struct, frozen=True):
    """The removed context."""

    status: Literal["removed"]
    path: str


class IndexState(Struct, frozen=True):
    """The state of the index; `needs_embedding` is the number of texts without vectors.

    `watching` is how changes of files are noticed: `events`, `polling`, or `off` if nothing watches.
    `indexed_at` is the time of the index: later changes on disk are not in it.
    """

    total_documents: int
    needs_embedding: int
    has_vector_index: bool
    watching: Literal["events", "polling", "off"]
    indexed_at: str | None
    collections: tuple[CollectionState, ...]

    def text(self) -> str:
        """Return the state in lines for a reader."""
        lines = [
            "QMD Index Status:",
            f"  Total documents: {self.total_documents}",
            f"  Needs embedding: {self.needs_embedding}",
            f"  Vector index: {'yes' if self.has_vector_index else 'no'}",
            f"  Collections: {len(self.collections)}",
            *(f"    - {visible(item.path)} ({item.documents} docs)" for item in self.collections),
        ]
        return "\n".join(lines)


class State(IndexState, frozen=True):
    """The state of the index; see `IndexState`.

    `dates` are the numbers of documents by the origin of their date: `text`, `name`, `git`, `file`, or "" if
    it is not known.
    """

    content: str
    dates: dict[str, int]
    languages: dict[str, int]


class IndexOverview(IndexState, frozen=True):
    """The state of the index, its most frequent fields with their values, and its most frequent tags."""

    fields: tuple[str, ...]
    tags: tuple[str, ...]

    @classmethod
    def of(cls, state: IndexState, fields: Sequence[FieldValues], tags: Sequence[ValueCount]) -> Self:
        """Return the overview of an index with these fields and tags, most frequent first."""
        named = [_field_line(field) for field in fields if field.summary.name not in _NOT_LISTED]
        return cls(
            **asdict(state),
            fields=_bounded(named, _FIELDS_BYTES),
            tags=_bounded([*map(_counted, tags)], _TAGS_BYTES),
        )

    def lines(self, dates: Mapping[str, int]) -> str:
        """Return the state in lines for a reader, with the numbers of `State.dates`."""
        lines = [
            IndexState.text(self),
            f"  Watching: {self.watching}; indexed at {self.indexed_at or 'no time yet'}",
        ]
        if self.fields:
            lines += ["  Top fields:", *(f"    - {line}" for line in self.fields)]
        if self.tags:
            lines.append(f"  Top tags: {', '.join(self.tags)}")
        if dates:
            origins = (f"{origin or 'unknown'} {count}" for origin, count in dates.items())
            lines.append(f"  Dates from: {', '.join(origins)}")
        return "\n".join(lines)


def _field_line(field: FieldValues) -> str:
    """Return a field with the number of its documents and some values: `status 3: draft 2, done 1`."""
    values = ", ".join(map(_counted, field.values))
    name = f"{_short(field.summary.name)} {field.summary.documents}"
    return f"{name}: {values}" if values else name


def _counted(count: ValueCount) -> str:
    return f"{_short(shown(count.value))} {count.documents}"


def _short(text: str) -> str:
    text = visible(text)
    start = text.encode()[:_VALUE_BYTES].decode(errors="ignore")
    return text if start == text else f"{start}..."


def _bounded(lines: Sequence[str], size: int) -> tuple[str, ...]:
    """Return the first lines that have at most `size` bytes together."""
    kept: list[str] = []
    for line in lines:
        size -= len(line.encode()) + 6  # with what stands between lines
        if size < 0:
            break
        kept.append(line)
    return tuple(kept)

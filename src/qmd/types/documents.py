"""Documents, their parts, and the files that they are made from."""

from __future__ import annotations

import os
from typing import NamedTuple, Self, TypeAlias

from msgspec import Struct

#: The largest number that stores can keep: as a time in nanoseconds, it is in the year 2262.
_MOST = (1 << 63) - 1


class Fingerprint(NamedTuple):
    """The metadata of a file. If it is unchanged, the file counts as unchanged."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """Return the metadata of a file, within the numbers of stores. Some file systems have others."""
        time = status.st_mtime_ns
        if not -_MOST <= time <= _MOST:
            time = _MOST if time > 0 else -_MOST
        return cls(status.st_size, time, status.st_ino & _MOST)


#: The values of the fingerprints of files, by path.
States: TypeAlias = dict[str, tuple[int, int, int]]


class SourceFile(NamedTuple):
    """A file of a collection. `path` is relative to the collection, with forward slashes, in NFC.

    `recognized` has the text that was recognized in it; see `qmd.sources.formats.recognized`.
    """

    path: str
    absolute: str
    fingerprint: Fingerprint
    recognized: bytes = b""


class Chunk(Struct, frozen=True):
    """A part of a document: characters [start, end), lines first_line to last_line, counted from 1."""

    seq: int
    start: int
    end: int
    first_line: int
    last_line: int


class Document(Struct, frozen=True):
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


class Commit(Struct, frozen=True):
    """A commit that changed the file of a document, or changes that are not committed, without a hash."""

    commit: str  #: The hash, in hexadecimal; "" for changes that are not committed
    short: str  #: The beginning of the hash by which git finds it
    date: str  #: The time of the commit, or of the file, in the time zone of this process, in ISO 8601
    author: str
    subject: str  #: The first line of the message
    path: str  #: The path of the file in the collection then
    added: int | None = None  #: The number of lines that were added; None for a binary file, and for a merge
    removed: int | None = None  #: The number of lines that were removed


class Section(Struct, frozen=True, omit_defaults=True):
    """A heading, its level from 1, and the lines of its section with all subsections, both included.

    `id` is the anchor that the heading states, as in `## Setup {#install}`; "" if it states none.
    """

    heading: str
    level: int
    first_line: int
    last_line: int
    id: str = ""

"""The record of a collection's last scan, which the store keeps as text."""

from __future__ import annotations

# msgspec's own JSON refuses names of files that are not UTF-8.
import json
import os
from typing import Self

from msgspec import Struct, ValidationError, convert, field, to_builtins

from qmd.sources.walk import device_of
from qmd.types import Collection


class UnreadFiles(Struct, frozen=True):
    """The files that a scan did not index; see `qmd.engine.indexing.unread`."""

    #: Four characters for each path and state, by reason and details
    files: dict[str, str] = field(default_factory=dict)
    cut: int = 0  #: The number of files that are not in `files`, because there are too many
    waiting: dict[str, dict[str, int]] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    #: The files of documents that are as they were indexed before, with the time of the first failure
    kept: dict[str, str] = field(default_factory=dict)
    #: By the characters of a path: how often a reason that passes was met, and when last, in Unix time
    tries: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: The lines with invalid bytes of files that were read, by path
    invalid: dict[str, tuple[int, ...]] = field(default_factory=dict)


class ScanRecord(Struct, frozen=True, array_like=True):
    """The record that a scan leaves for the next one. Without a path, there was no scan.

    Fields are stored by position, and versions since the first read that, so new ones come last.
    """

    owner: str = ""  #: The configuration file that names the collection
    path: str = ""  #: The folder there
    device: int | None = None  #: The device that the folder is on
    real: str = ""  #: Its path without links
    formats: dict[str, str] = field(default_factory=dict)  #: The formats by suffix, with their versions
    unread: UnreadFiles = UnreadFiles()
    commits: dict[str, str] = field(default_factory=dict)  #: The last commit, by the top folder of a clone
    dates: int = 0  #: The version of the rules for dates of documents
    #: The folders with documents, and when the last scan of all began, for `qmd.engine.documents.freshness`
    folders: tuple[str, ...] = ()
    began: int = 0

    @classmethod
    def of(cls, collection: Collection, owner: str) -> Self:
        """Return the record of the folder that is now at a collection's path."""
        real = os.path.realpath(collection.path)
        return cls(owner, collection.path, device_of(real), real)

    @classmethod
    def read(cls, stored: str | None) -> Self:
        """Return a stored record."""
        values = json.loads(stored or "[]")
        try:
            return convert(values, cls)
        except ValidationError:  # an early version had another form of unread files
            return convert(values[:5], cls)

    def stored(self) -> str:
        """Return the record as text for the store."""
        return json.dumps(to_builtins(self))

    def replaces(self, last: ScanRecord) -> bool:
        """Tell whether this is another folder than at the last scan, without being configured."""
        if not last.path or (self.device, self.real) == (last.device, last.real):
            return False
        return self.path == last.path or self.owner != last.owner

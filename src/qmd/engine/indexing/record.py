"""The record of a collection's last scan, which the store keeps as text."""

from __future__ import annotations

# msgspec's own JSON refuses names of files that are not UTF-8.
import os
from contextlib import suppress
from typing import Any, Self

from msgspec import Struct, convert, field, json, to_builtins

from qmd.sources.walk import device_of
from qmd.store.records import parts_of_record
from qmd.types import Collection


class UnreadFile(Struct, frozen=True, omit_defaults=True):
    """A file that a scan did not index, or not as it is; see `qmd.engine.indexing.unread`."""

    reason: str = ""  #: Why it was not read; "" if that is not its own fault
    detail: str = ""
    state: str = ""  #: A digest of what it was read with; see `unread.state_of`
    tries: int = 0  #: How often a reason that passes was met
    tried: int = 0  #: When last, in Unix time
    since: str = ""  #: The time of the first failure, if its documents stay as they were indexed before
    lines: tuple[int, ...] = ()  #: The lines with invalid bytes, if it was read


class ScanRecord(Struct, frozen=True, array_like=True):
    """The record that a scan leaves for the next one. Without a path, there was no scan.

    Fields are stored by position, and versions since the first read that, so new ones come last.
    """

    owner: str = ""  #: The configuration file that names the collection
    path: str = ""  #: The folder there
    device: int | None = None  #: The device that the folder is on
    real: str = ""  #: Its path without links
    formats: dict[str, str] = field(default_factory=dict)  #: The formats by suffix, with their versions
    former: Any = field(default_factory=dict)  #: The unread files in the forms of earlier versions
    commits: dict[str, str] = field(default_factory=dict)  #: The last commit, by the top folder of a clone
    dates: int = 0  #: The version of the rules for dates of documents
    unread: dict[str, UnreadFile] = field(default_factory=dict)  #: By path
    cut: int = 0  #: The number of files that are not in `unread`, because there are too many
    waiting: dict[str, dict[str, int]] = field(default_factory=dict)  #: Numbers of files, by extra and suffix
    unknown: dict[str, int] = field(default_factory=dict)  #: Those that no format reads, by suffix
    #: The folders with documents, and when the last scan of all began, for `qmd.engine.documents.freshness`
    folders: tuple[str, ...] = ()
    began: int = 0
    #: What git ignores, by the folders of clones, for scans at which it does not answer
    ignored: dict[str, tuple[str, ...]] = field(default_factory=dict)
    remote: int = 0  #: The number of files that are in the cloud only
    renamed: dict[str, str] = field(default_factory=dict)  #: The paths that documents have, by former ones
    alike: tuple[tuple[str, str, int], ...] = ()  #: Folders that say nearly the same; see `alike`

    @classmethod
    def of(cls, collection: Collection, owner: str) -> Self:
        """Return the record of the folder that is now at a collection's path."""
        real = os.path.realpath(collection.path)
        return cls(owner, collection.path, device_of(real), real)

    @classmethod
    def read(cls, stored: str | None) -> Self:
        """Return a stored record."""
        return convert(parts_of_record(stored or "[]"), cls)

    @property
    def kept(self) -> dict[str, str]:
        """The files that could not be read and whose documents stay, with the times of first failures."""
        return {path: file.since for path, file in self.unread.items() if file.since}

    def stored(self) -> str:
        """Return the record as text for the store."""
        # Versions since the first look for parts of it, as the json of Python writes them.
        with suppress(UnicodeEncodeError):
            return json.format(json.encode(self), indent=0).decode()
        from json import dumps  # a name is not UTF-8

        return dumps(to_builtins(self))

    def replaces(self, last: ScanRecord) -> bool:
        """Tell whether this is another folder than at the last scan, without being configured."""
        if not last.path or (self.device, self.real) == (last.device, last.real):
            return False
        return self.path == last.path or self.owner != last.owner

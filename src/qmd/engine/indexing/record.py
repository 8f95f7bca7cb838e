"""The record of a collection's last scan, which the store keeps as text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from qmd.sources.walk import device_of
from qmd.types import Collection


class Folder(NamedTuple):
    """The folder that was scanned.

    Attributes:
        owner: The configuration file that names the collection.
        path: The path there.
        device: The device that the folder is on.
        real: The path without links.
    """

    owner: str
    path: str
    device: int | None
    real: str

    @classmethod
    def of(cls, collection: Collection, owner: str) -> Self:
        """Return the folder that is now at a collection's path."""
        real = os.path.realpath(collection.path)
        return cls(owner, collection.path, device_of(real), real)

    def replaced(self, last: Folder | None) -> bool:
        """Tell whether this is another folder than `last` although the user did not configure another."""
        if last is None or self[2:] == last[2:]:
            return False
        return self.path == last.path or self.owner != last.owner


class ScanRecord(NamedTuple):
    """What a scan leaves for the next one.

    Attributes:
        folder: The folder; None before the first scan.
        formats: The formats of its files by suffix, with their versions.
        unread: The files that were not indexed; see `qmd.engine.indexing.unread`.
    """

    folder: Folder | None = None
    formats: Mapping[str, str] = {}
    unread: Mapping[str, Any] = {}

    @classmethod
    def read(cls, stored: str | None) -> Self:
        """Return a stored record. Those of earlier versions lack the last parts, or have a list of unread."""
        match json.loads(stored or "[]"):
            case [owner, path, device, real, *more]:
                formats, unread = [*more, {}, {}][:2]
                folder = Folder(owner, path, device, real)
                return cls(folder, formats, unread if isinstance(unread, dict) else {})
        return cls()

    def stored(self) -> str:
        """Return the record as text for the store. Versions since the first read this form."""
        return json.dumps([*(self.folder or ()), self.formats, self.unread])

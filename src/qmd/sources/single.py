"""Read one file of a collection as a scan would."""

from __future__ import annotations

import os
import unicodedata

from qmd.errors import SourceError
from qmd.sources.problems import in_words
from qmd.sources.read import read_source
from qmd.sources.rules import exclusion
from qmd.types import Collection, Fingerprint, SourceFile, SourceText


def source_at(collection: Collection, path: str) -> SourceText:
    """Read the file at `path` inside a collection.

    Raises `SourceError` if a scan would not index the file; the message names the rule that excludes it, or
    the error. Raises `UsageError` if the pattern or an ignore glob is invalid.
    """
    excluded = exclusion(collection, path)
    if excluded is not None:
        setting = excluded.setting
        hint = f"change '{setting}' of the collection '{collection.name}' in index.yml" if setting else None
        raise SourceError(excluded.reason, hint)
    absolute = absolute_path(collection.path, path)
    try:
        status = os.stat(absolute)
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot be read: {in_words(error)}") from error
    file = SourceFile(path, absolute, Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino))
    source, _ = read_source(file, encoding=collection.encoding)
    if not source.text.strip():
        raise SourceError("the file is empty")
    return source


def absolute_path(root: str, path: str) -> str:
    """Return the absolute path of a file. Unlike `path`, the names on the disk need not be in NFC."""
    absolute = root
    for name in path.split("/"):
        exact = os.path.join(absolute, name)
        absolute = exact if os.path.lexists(exact) else os.path.join(absolute, _name_on_disk(absolute, name))
    return absolute


def _name_on_disk(folder: str, name: str) -> str:
    """Return the entry of a folder that equals `name` in NFC, or `name` if there is none."""
    try:
        names = os.listdir(folder)
    except (OSError, ValueError):
        return name
    return next((other for other in names if unicodedata.normalize("NFC", other) == name), name)

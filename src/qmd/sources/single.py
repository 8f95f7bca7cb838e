"""One file of a collection: the text that a scan would read, or what keeps it out."""

from __future__ import annotations

import os
import unicodedata

from qmd.errors import SourceError
from qmd.sources.problems import in_words
from qmd.sources.read import read_source
from qmd.sources.rules import exclusion
from qmd.types import Collection, Fingerprint, SourceFile, SourceText


def source_at(collection: Collection, path: str) -> SourceText:
    """The text of the one file `path` (relative to the root) of a collection.

    Raises SourceError for a file that a scan would not index: what rule leaves it out, or what is wrong with
    it; UsageError for a pattern or an ignore glob that cannot be read.
    """
    found = exclusion(collection, path)
    if found is not None:
        setting = found.setting
        hint = f"change '{setting}' of the collection '{collection.name}' in index.yml" if setting else None
        raise SourceError(found.reason, hint)
    absolute = absolute_path(collection.path, path)
    try:
        status = os.stat(absolute)
    except (OSError, ValueError) as error:
        reason = in_words(error) if isinstance(error, OSError) else str(error)
        raise SourceError(f"cannot be read: {reason}") from error
    file = SourceFile(path, absolute, Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino))
    source, _ = read_source(file, encoding=collection.encoding)
    if not source.text.strip():
        raise SourceError("nothing is in it")
    return source


def absolute_path(root: str, path: str) -> str:
    """Where the file `path` of a collection is on the disk, whose names need not be in NFC as the path is."""
    place = root
    for name in path.split("/"):
        exact = os.path.join(place, name)
        place = exact if os.path.lexists(exact) else os.path.join(place, _spelt(place, name))
    return place


def _spelt(folder: str, name: str) -> str:
    """The name in a folder that is `name` in NFC; `name` itself where there is none."""
    try:
        names = os.listdir(folder)
    except (OSError, ValueError):
        return name
    return next((other for other in names if unicodedata.normalize("NFC", other) == name), name)

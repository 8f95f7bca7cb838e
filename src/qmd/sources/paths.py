"""Paths on the disk, and messages for errors of the file system."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable

OnProblem = Callable[[str, str], None]
"""Called with a path relative to the collection (with a trailing `/` if it is a folder) and a reason."""


def in_words(error: OSError | ValueError) -> str:
    """Return the reason of a failed system call without number and path, such as `permission denied`."""
    if isinstance(error, ValueError):
        return str(error)
    reason = error.strerror or str(error) or type(error).__name__
    return reason[:1].lower() + reason[1:]


def printable(name: str) -> str:
    """Escape the invalid bytes of a file name that is not UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def is_inside(path: str, root: str) -> bool:
    """Return whether `path` is the folder `root` or inside it. Both paths must have no links."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def absolute_path(root: str, path: str) -> str:
    """Return the absolute path of a file. Unlike `path`, the names on the disk need not be in NFC."""
    absolute = root
    for name in path.split("/"):
        exact = os.path.join(absolute, name)
        if not os.path.lexists(exact):
            same = (other for other in entries_of(absolute) if unicodedata.normalize("NFC", other) == name)
            exact = os.path.join(absolute, next(same, name))
        absolute = exact
    return absolute


def entries_of(folder: str) -> list[str]:
    """Return the names in a folder; [] if it cannot be listed."""
    try:
        return os.listdir(folder)
    except (OSError, ValueError):
        return []

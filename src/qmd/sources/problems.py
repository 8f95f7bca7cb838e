"""Messages for errors of the file system."""

from __future__ import annotations

import os
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

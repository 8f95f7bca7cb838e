"""What goes wrong on the disk, in words."""

from __future__ import annotations

import os
from collections.abc import Callable

OnProblem = Callable[[str, str], None]
"""Called with a path relative to the root (a folder's ends in `/`) and a reason."""


def in_words(error: OSError) -> str:
    """The reason of a failed system call, without number and path: `permission denied`."""
    reason = error.strerror or str(error) or type(error).__name__
    return reason[:1].lower() + reason[1:]


def printable(name: str) -> str:
    """A name that is not valid UTF-8, with its odd bytes escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")

"""Files that are in the cloud only: a disk shows them with their sizes, and opening one would fetch it."""

from __future__ import annotations

import os

#: A file without data on macOS (`SF_DATALESS`).
_DATALESS = 0x40000000
#: A file that Windows fetches when it is opened or read, or that is offline.
_RECALLED = 0x400000 | 0x40000 | 0x1000
#: A smaller file may be kept without blocks of its own.
_LEAST = 4096


def is_placeholder(status: os.stat_result) -> bool:
    """Return whether a file is not on this disk: by its flags, or because it has a size and no blocks."""
    if getattr(status, "st_flags", 0) & _DATALESS or getattr(status, "st_file_attributes", 0) & _RECALLED:
        return True
    return status.st_size >= _LEAST and getattr(status, "st_blocks", 1) == 0

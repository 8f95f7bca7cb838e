"""The process's stdin and stdout, reserved for the protocol.

This module imports nothing that could print, because it runs before the rest of the server is imported.
"""

from __future__ import annotations

import os
import sys
from typing import BinaryIO


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the streams that were stdin and stdout.

    After the call stdin is empty and stdout is stderr, for this process and its children. So a library that
    reads or prints does not disturb the protocol.
    """
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(null, 1)
    os.close(null)
    sys.stdout = sys.stderr
    return source, sink

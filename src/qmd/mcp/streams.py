"""The process's own stdin and stdout, kept for the protocol (M4)."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """The streams that were stdin and stdout.

    From then on stdin is empty and stdout is stderr, for this process and those it starts: whatever a library
    reads or prints, the protocol is left alone.
    """
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout = sys.stderr
    return source, sink

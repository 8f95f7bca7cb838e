"""Reading what another program writes, within limits."""

from __future__ import annotations

import os
import sys

from qmd.processes import read


def _read(code: str, *, timeout: float = 60, most: int = 1000) -> tuple[int, bytes, str, bool]:
    return read([sys.executable, "-c", code], environ=os.environ, timeout=timeout, most=most)


def test_read_returns_output_errors_and_code() -> None:
    code = "import sys; print('out', end=''); print('err', end='', file=sys.stderr); sys.exit(3)"
    assert _read(code) == (3, b"out", "err", False)


def test_read_ends_a_program_that_writes_too_much() -> None:
    found = _read("while True: print('x' * 1000)")
    assert len(found[1]) == 1001
    assert not found[3]


def test_read_ends_a_program_that_takes_too_long() -> None:
    code, written, _, late = _read("import time; print('begun', flush=True); time.sleep(600)", timeout=0.5)
    assert late
    assert code != 0
    assert written in (b"", b"begun\n")

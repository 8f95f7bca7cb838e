"""The plugin that repeats failed tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILE = """
from pathlib import Path

def test_stable():
    pass

def test_once():
    seen = Path("seen")
    first = not seen.exists()
    seen.touch()
    assert not first

def test_broken():
    assert {broken}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "code", "flaky"), [(1, 0, 1), (0, 1, 1)])
def test_repeat_plugin_repeats_failed_tests_and_lists_flaky_ones(
    tmp_path: Path, broken: int, code: int, flaky: int
) -> None:
    (tmp_path / "test_it.py").write_text(FILE.format(broken=broken), encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "pytest", "-p", "tests.repeat", "--numprocesses", "2"]
    run = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert (run.returncode, f"flaky: {flaky}" in run.stdout) == (code, True)
    assert "test_it.py::test_once\n" in run.stdout.partition("flaky:")[2]

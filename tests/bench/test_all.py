"""`bench/all.py`: what may run beside what, rows that fail, and the commit that results name."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module `all`."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("all")


@pytest.mark.parametrize(
    ("waiting", "running", "started"),
    [
        (["quality-scifact", "http"], [], "quality-scifact"),
        (["quality-scifact", "http"], ["quality-claude_docs"], "quality-scifact"),
        (["hooks", "mcp-faces"], ["peers-locomo"], "mcp-faces"),
        (["http", "mcp-faces"], ["hooks"], ""),
        (["mcp-faces"], ["http"], ""),
        (["http", "mcp-faces"], [], "http"),
        (["mcp-faces"], ["hooks", "fuzz"], ""),
    ],
    ids=["first", "pair", "shared index", "clock waits", "clock alone", "clock", "no third"],
)
def test_rows_run_beside_each_other_unless_they_measure_time_or_share_an_index(
    module: Any, waiting: list[str], running: list[str], started: str
) -> None:
    assert module.startable(waiting, running, 2) == started


def test_a_row_that_fails_says_why_and_leaves_its_result(tmp_path: Path) -> None:
    result = BENCH / "results" / "quality-qmd_own.json"
    before = result.read_bytes()
    (tmp_path / "eval" / "qmd_own").mkdir(parents=True)
    command = [sys.executable, BENCH / "all.py", "--only", "quality-qmd_own", "--again"]
    places = ["--eval", tmp_path / "eval", "--work", tmp_path / "work"]
    done = subprocess.run([*command, *places], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no corpus.jsonl or corpus.jsonl.gz" in done.stderr
    assert "not measured: quality-qmd_own" in done.stderr
    assert result.read_bytes() == before


def test_rows_that_do_not_end_in_time_are_named_and_left_out(tmp_path: Path) -> None:
    command = [sys.executable, BENCH / "all.py", "--only", "mcp-faces", "--again", "--minutes", "0.1"]
    done = subprocess.run([*command, "--work", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "mcp-faces: left out, takes " in done.stderr
    assert "not measured: mcp-faces" in done.stderr


def test_results_name_their_commit_and_changes_only_of_what_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    common = importlib.import_module("common")
    for name in ("src/code.py", "bench/quality.py", "bench/results/quality.json", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    commands = ["init --quiet", "add .", "-c user.name=a -c user.email=a@b commit --quiet -m first"]
    for words in commands:
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    monkeypatch.setattr(common, "SOURCE", tmp_path / "src")
    (tmp_path / "README.md").write_text("2\n")
    (tmp_path / "bench/results/quality.json").write_text("2\n")
    commit = common.commit()
    assert len(commit) == 8
    (tmp_path / "bench/quality.py").write_text("2\n")
    assert common.commit() == f"{commit}+changes"

"""`bench/report.py`: pages show the committed results, and say of which state of the code these are."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


def test_pages_and_the_plot_show_the_committed_results() -> None:
    command = [sys.executable, str(BENCH / "report.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "Not current" not in done.stdout


def test_each_committed_result_has_a_row_of_what_it_measures() -> None:
    command = [sys.executable, "-c", "import report_state; print(report_state.outdated())"]
    done = subprocess.run(command, cwd=BENCH, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_each_committed_result_is_measured_by_a_run_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    rows = importlib.import_module("all").ROWS
    measured = {result for name, row in rows.items() for result in (name, *row.also)}
    committed = {file.stem for file in (BENCH / "results").glob("*.json")} - {"peers-published"}
    assert committed <= measured
    assert all((BENCH / row.command.split()[0]).exists() for row in rows.values())


def test_the_plan_of_all_says_what_is_missing(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH / "all.py"), "--list", "--only", "mcp-faces,peers-gno"]
    done = subprocess.run([*command, "--work", str(tmp_path)], capture_output=True, text=True, check=True)
    [plan] = [line for line in done.stdout.splitlines() if line.startswith("| peers-gno ")]
    assert "needs {data}/gmickel/gno" in plan


def test_check_lists_results_that_are_older_than_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    from common import MEASURED, code_state
    from report_state import outdated

    codes = {
        "embedding": code_state(MEASURED["embedding*"]),
        "web-7425": code_state(MEASURED["embedding*"]),
        "links": None,
    }
    files = []
    for name, code in codes.items():
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({"machine": {"code": code} if code else {}}), encoding="utf-8")
    assert outdated(files) == ["web-7425", "links"]


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (("a1", "a1"), "are of one state of the code (`a1`)"),
        (("a1", None), "are of 2 states of the code: `a1`: quality-0; `unknown`: quality-1."),
    ],
)
def test_state_tells_results_of_different_code_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codes: tuple[str | None, ...], said: str
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    from report_state import state

    files = []
    for number, code in enumerate(codes):
        files.append(tmp_path / f"quality-{number}.json")
        files[-1].write_text(json.dumps({"machine": {"code": code} if code else {}}), encoding="utf-8")
    assert said in state(files)

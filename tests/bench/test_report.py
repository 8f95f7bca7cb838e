"""`bench/report.py`: pages show the committed results, and say of which state of the code these are."""

from __future__ import annotations

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


def test_check_lists_results_that_are_older_than_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    from common import MEASURED, code_state
    from report_state import outdated

    codes = {
        "vectors": code_state(MEASURED["vectors"]),
        "web-7425": code_state(MEASURED["vectors"]),
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

"""`bench/instructions.py`: its texts are the same everywhere, and rows above their numbers fail."""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module `instructions`."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("instructions")


def test_texts_are_the_same_everywhere(module: Any, tmp_path: Path) -> None:
    module.write_documents(tmp_path)
    kinds = [text(module.Writer(module.SEED), 2_000) for text in module.KINDS.values()]
    files = sorted(tmp_path.rglob("*.md"), key=lambda file: file.as_posix())
    texts = [*(file.read_text(encoding="utf-8") for file in files), *kinds, *module.queries(10, 3)]
    assert len(files) == 97
    assert hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12] == "767fb7110dfe"


def test_row_is_dear_1_5_percent_above_its_number_and_cheap_3_percent_below(
    module: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = {"same": 100.0, "more": 100.0, "dear": 100.0, "less": 100.0, "cheap": 100.0, "gone": 100.0}
    counts = {"same": 100.0, "more": 101.4, "dear": 101.6, "less": 97.1, "cheap": 96.9, "new": 1.0}
    assert module.compared(budget, counts) == (["dear", "gone", "new"], ["cheap"])
    assert (
        "dear                                              100.0      101.6   1.016"
        in capsys.readouterr().out
    )


def test_work_grows_too_fast_if_doubling_costs_more_than_2_2(module: Any) -> None:
    sizes = (250_000, 500_000, 1_000_000)
    assert module._growing("linear", [300.0, 500.0, 700.0, 1_100.0], sizes) == []
    assert module._growing("small", [300.0, 301.0, 303.0, 307.0], sizes) == []
    (line,) = module._growing("quadratic", [300.0, 500.0, 1_100.0, 3_500.0], sizes)
    assert line.startswith("quadratic")
    assert module._growing("quadratic in words", [300.0, 310.0, 1_300.0, 100_000.0], (10, 1_000, 10_000))


def test_table_has_the_rows(module: Any) -> None:
    assert [*json.loads(module.BUDGET.read_text(encoding="utf-8"))["rows"]] == [*module.ROWS]


def test_budget_passes_and_says_so_without_valgrind() -> None:
    command = [sys.executable, str(BENCH / "instructions.py"), "--budget"]
    done = subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (
        0,
        "Instructions are not counted, because valgrind is missing.\n",
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind: see scripts/packages.sh")
def test_counts_of_a_command_hardly_vary(module: Any, tmp_path: Path) -> None:
    home = module.Home(Path(sys.executable).parent / "qmd", tmp_path / "home")
    home.folder.mkdir()
    first, again = home.command("--help"), home.command("--help")
    assert first == pytest.approx(again, rel=0.002)
    assert first > 10

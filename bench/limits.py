"""The costs of qmd, of tobi/qmd, and of the least that the same work can cost, in one run.

    python bench/limits.py --eval EVAL [--node NODE --peer QMD_JS] [--indexes WORK] [--rows a,b] [--json OUT]

`EVAL` is a folder of collections in BEIR layout, `WORK` has the indexes of `quality.py --work`, which are
made if they are missing. Each row is a function of the table `ROWS`. What several rows need, such as an index
of 38,000 files, is made once. If a row fails, the others are measured. Rows and
figures that need `--peer`, wrk or Chromium are missing without them. Beside `OUT`, `speed.json` gets
the work of processes, with both corpora and the peer, and `in-process.json` the warm searches in 7,425
documents. Run it on a machine without other work.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

import limit_rows as rows
from common import say, write_json
from limit_rows import LARGE, SMALL, Bench, Figure, Figures
from processes import peer
from report_limits import as_table

#: Seconds after which a row is given up.
_PATIENCE = 1_200
_RERANKED = ("claude_docs", "xquad_zh2en", "code_chunks", rows.LARGEST)


class Row(Struct, frozen=True):
    """What a row measures: its text, its unit and its goal."""

    text: str
    unit: str
    goal: str
    measure: Callable[[Bench], Figures]


ROWS: Mapping[str, Row] = {
    **{
        f"{key}-{size.split()[0].replace(',', '')}": Row(
            f"{text}, {size}", "ms", goal, partial(rows.processes, work, size)
        )
        for key, text, work, goals in (
            ("search", "`qmd search`, a process", "search", ("65", "65")),
            ("update", "update without change", "no-change update", (".10 of tobi/qmd", ".10 of tobi/qmd")),
            ("edited", "1% edited", "1% edited", (".12 of tobi/qmd", ".10 of tobi/qmd")),
            ("cold", "cold index", "cold index", (".08 of tobi/qmd", ".08 of tobi/qmd")),
        )
        for size, goal in zip((SMALL, LARGE), goals, strict=True)
    },
    "attached": Row("`qmd search` with a server running, 38,000 files", "ms", "45", rows.attached),
    "http": Row("HTTP lexical, 16 connections, 38,000 files", "a second", "900", rows.http),
    "words-rare": Row("words in 100,000 documents, rare", "ms", ".6", partial(rows.words, "selective")),
    "words-questions": Row(
        "words in 100,000 documents, questions", "ms", "p95 4", partial(rows.words, "questions")
    ),
    # `scale.py` has the same for a million.
    "vectors-100k": Row("vectors, 100,000", "ms", "1.4 of reading", partial(rows.scan, 100_000)),
    "first-query": Row("first `query` in a cold process", "ms", "450", rows.first_query),
    **{
        f"reranked-{name}": Row(
            f"`query`, 30 reranked, warm, {name}",
            "ms",
            "100; 250 without stored token vectors",
            partial(rows.reranked, name),
        )
        for name in _RERANKED
    },
    "install": Row("install without weights", "MB", "130", rows.install),
    "page": Row("key to list in a browser, 38,000 documents", "ms", "p95 60", rows.page),
    "memory": Row("memory of an idle server with models", "MB", "250", rows.idle_memory),
}


def main() -> None:
    options = _options()
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    if options.peer and (reason := refusal(options)):
        say(f"without tobi/qmd: {reason}")
        options.peer = None
    bench = Bench(options)
    found = [measured(bench, name) for name in options.rows]
    print(as_table(found))
    write_json(options.json, {"seconds": round(sum(row["seconds"] for row in found)), "rows": found})
    if options.json and len(bench.summaries) == 8 and options.peer:
        write_json(options.json.with_name("speed.json"), {"processes": bench.summaries})
    if options.json and bench.warm:
        write_json(options.json.with_name("in-process.json"), {"in_process": bench.warm})
    if failed := [row["row"] for row in found if "error" in row]:
        say(f"not measured: {', '.join(failed)}")


def refusal(options: argparse.Namespace) -> str:
    """Return why tobi/qmd cannot index a folder with one file; "" if it can."""
    folder = options.work / "one-file"
    folder.mkdir()
    (folder / "one.md").write_text("# One\n\nfile\n", encoding="utf-8")
    try:
        peer(options.node, options.peer, folder / "peer").run(
            "collection", "add", str(folder), "--name", "one"
        )
    except SystemExit as error:
        return str(error)
    return ""


def measured(bench: Bench, name: str) -> dict[str, Any]:
    """Return a row with its figures, or with the reason why there are none."""
    row, began = ROWS[name], time.monotonic()
    result: dict[str, Any] = {"row": name, "text": row.text, "unit": row.unit, "goal": row.goal}
    signal.alarm(_PATIENCE)
    try:
        result["figures"] = {of: _rounded(figure) for of, figure in row.measure(bench).items()}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the other rows are measured
        result["error"] = f"{type(error).__name__}: {error}"[:500]
    finally:
        signal.alarm(0)
    result["seconds"] = round(time.monotonic() - began, 1)
    say(f"{name}: {result.get('error') or result['figures']} ({result['seconds']} s)")
    return result


def _rounded(figure: Figure) -> dict[str, float]:
    given = {name: value for name, value in to_builtins(figure).items() if value is not None}
    return {name: float(f"{value:.3g}") if value < 1000 else round(value) for name, value in given.items()}


def _expired(_signal: int, _frame: object) -> None:
    raise TimeoutError(f"not done after {_PATIENCE} seconds")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Costs of qmd beside their limits.")
    parser.add_argument("--eval", type=Path, required=True, help="folder of collections in BEIR layout")
    parser.add_argument(
        "--indexes", type=Path, default=Path("bench-work"), help="the indexes of quality.py --work"
    )
    parser.add_argument("--node", type=Path, default=shutil.which("node"), help="the Node that runs tobi/qmd")
    parser.add_argument("--peer", type=Path, help="tobi/qmd's dist/cli/qmd.js")
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    parser.add_argument("--rows", type=lambda text: text.split(","), default=[*ROWS], help=", ".join(ROWS))
    parser.add_argument("--rounds", type=int, default=3, help="rounds of indexing (3)")
    parser.add_argument("--queries", type=int, default=12, help="searches as processes (12)")
    parser.add_argument("--idle", type=float, default=10, help="seconds before the memory is measured (10)")
    parser.add_argument("--work", type=Path, default=Path("bench-work") / "limits")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if unknown := [name for name in options.rows if name not in ROWS]:
        parser.error(f"no row {unknown[0]}; there are {', '.join(ROWS)}")
    options.work = options.work.resolve()
    signal.signal(signal.SIGALRM, _expired)
    return options


if __name__ == "__main__":
    main()

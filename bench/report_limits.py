"""The table of `limits.py`, and that of the README beside tobi/qmd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from common import table
from report_state import load, two_digits


def as_table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    body = []
    for row in rows:
        figures = iter(row.get("figures", {"": {"value": "not measured"}}).items())
        _, first = next(figures)
        others = "; ".join(f"{of} {_shown(figure)}{_ratio(first, figure)}" for of, figure in figures)
        body.append([f"{row['text']}, {row['unit']}", _shown(first), row["goal"], others])
    return table(["what", "qmd / processor time", "goal", "beside it (qmd relative to it)"], body)


def _shown(figure: Mapping[str, Any]) -> str:
    marks = {"value": "", "processor": " / ", "p95": ", p95 "}
    return "".join(f"{mark}{figure[name]}" for name, mark in marks.items() if name in figure)


def _ratio(first: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return ours relative to another figure, for each value that both have."""
    return f" ({' / '.join(f'{first[name] / of:.2f}' for name, of in other.items() if of and name in first)})"


def compared() -> str:
    """Return the rows of the README that compare figures with tobi/qmd."""
    speed, calls, requests = load("speed.json"), load("mcp.json"), load("http.json")
    if not (speed and calls and requests):
        return ""
    works: dict[str, list[dict[str, Any]]] = {}
    for row in speed["processes"]:
        works.setdefault(row["work"], []).append(row)

    def ratios(work: str) -> str:
        return " / ".join(two_digits(row["ratio"]["seconds"]) for row in works[work])

    def memory(program: str) -> str:
        return " / ".join(f"{row[program]['memory_mb']:,.0f}" for row in works["cold index"]) + " MB"

    rate, served = calls["load"], requests["load"]
    ours, theirs = (rate[name]["calls_per_second"] for name in ("qmd-python", "tobi/qmd"))
    sent = [served[name]["per_second"] for name in ("qmd-python", "tobi/qmd")]
    rows: list[list[object]] = [
        ["time of a cold index, 7,425 / 38,000 files", ratios("cold index"), 1],
        ["peak memory while indexing", memory("qmd-python"), memory("tobi/qmd")],
        ["time of an update without changes, 7,425 / 38,000 files", ratios("no-change update"), 1],
        ["time of the command `qmd search`, 7,425 / 38,000 files", ratios("search"), 1],
        ["on disk, without models", f"{load('install-size.json')['total_mb']:.0f} MB", "976 MB"],
        [
            "time of `search` over MCP and HTTP, 38,000 documents",
            f"{two_digits(rate['ratio']['p50'])} ({ours:.0f} calls a second)",
            f"1 ({theirs:.0f} calls a second)",
        ],
        [
            f"searches a second over HTTP, {requests['connections']} connections",
            f"{sent[0] / sent[1]:.1f}, {served['qmd-python']['errors'] or 'no'} errors",
            1,
        ],
    ]
    return table(["", "qmd-python", "tobi/qmd 2.8.3"], rows)


def warm() -> str:
    """Say how long a query takes."""
    rows = {row["search"]: row["p50"] for row in load("in-process.json").get("in_process", ())}
    if not rows:
        return ""
    return (
        f"A `query` that reranks 30 candidates in an index of 7,425 documents takes "
        f"{rows['query, 30 reranked']:.0f} milliseconds on two cores; without reranking, "
        f"{rows['query, no reranking']:.0f} (medians)."
    )

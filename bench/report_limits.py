"""The table of `limits.py`, and that of the README beside tobi/qmd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from common import table
from report_state import load, measured_at, two_digits


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
        return " / ".join(f"{row[program]['memory_mb']:,.0f}" for row in works["cold index"])

    rate, served = calls["load"], requests["load"]
    answered = [rate[name]["calls_per_second"] for name in ("qmd-python", "tobi/qmd")]
    sent = [served[name]["per_second"] for name in ("qmd-python", "tobi/qmd")]
    sizes, installed = "7,425 / 38,000 files", load("install-size.json")["total_mb"]
    connections = requests["connections"]
    rows: list[tuple[str, str, list[object], str]] = [
        (f"time of a cold index, {sizes}", "lower", [ratios("cold index"), 1], "speed"),
        (f"time of an update without changes, {sizes}", "lower", [ratios("no-change update"), 1], "speed"),
        (f"time of the command `qmd search`, {sizes}", "lower", [ratios("search"), 1], "speed"),
        (
            f"MB of memory while indexing, {sizes}",
            "lower",
            [memory("qmd-python"), memory("tobi/qmd")],
            "speed",
        ),
        ("MB on disk, without models", "lower", [f"{installed:.0f}", 976], "install-size"),
        ("searches a second over MCP and HTTP, 38,000 documents", "higher", [*map(round, answered)], "mcp"),
        (f"searches a second over HTTP, {connections} connections", "higher", [*map(round, sent)], "http"),
    ]
    body = [[text, better, *values, measured_at(name)] for text, better, values, name in rows]
    return table(["", "better", "qmd-python", "tobi/qmd 2.8.3", "measured"], body)


def warm() -> str:
    """Say how long a query takes."""
    rows = {row["search"]: row["p50"] for row in load("in-process.json").get("in_process", ())}
    if not rows:
        return ""
    return (
        f"A `query` that reranks 30 candidates in an index of 7,425 documents takes "
        f"{rows['query, 30 reranked']:.0f} milliseconds on two cores; without reranking, "
        f"{rows['query, no reranking']:.0f} (medians; {measured_at('in-process')})."
    )

"""The table of `limits.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from common import table


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

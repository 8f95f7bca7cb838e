"""The figures of the README, in three lines."""

from __future__ import annotations

from report_quality import by_mode
from report_state import load

_LARGE = "38,000 files"
_RESULTS = ("peers-locomo", "quality-tldr_zh2en", "speed")


def figures() -> str:
    """Return the lines; "" if a result is missing."""
    if not all(load(f"{name}.json") for name in _RESULTS):
        return ""
    dialogues = {
        row["mode"]: row for row in load("peers-locomo.json")["results"] if row["subset"] == "all categories"
    }
    asked = {mode: row["questions"] for mode, row in dialogues.items()}
    found = {mode: f"{row['measures']['R@5']:.0%}" for mode, row in dialogues.items()}
    across = {mode: by_mode()["tldr_zh2en", mode]["measures"]["nDCG@10"] for mode in ("search", "query")}
    works = {row["work"]: row for row in load("speed.json")["processes"] if row["corpus"] == _LARGE}
    first, again = (works[work]["ratio"]["seconds"] for work in ("cold index", "no-change update"))
    ours, theirs = (works["cold index"][name]["memory_mb"] for name in ("qmd-python", "tobi/qmd"))
    return (
        "In figures, on two virtual cores ([more, beside other programs](docs/benchmarks.md)):\n\n"
        f"- Long dialogues (LoCoMo): `search` has {found['search']} of the evidence among its first five\n"
        f"  results ({asked['search']:,} questions), and `query` {found['query']} ({asked['query']:,}).\n"
        f"- Chinese questions find English pages: nDCG@10 is {across['query']:.2f} by `query`, and "
        f"{across['search']:.2f} by words alone.\n"
        f"- A first index of {_LARGE} takes {first:.0%} of the time of tobi/qmd, and {ours:,.0f} MB\n"
        f"  of memory instead of {theirs:,.0f}; an update without changes takes {again:.0%} of its time."
    )

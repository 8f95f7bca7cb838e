"""The parts of `report.py` about quality: our collections, and the benchmarks of peers."""

from __future__ import annotations

import json
import re
from typing import Any

from common import table
from report_state import RESULTS, load, state

#: Our collections, in the order of the tables.
COLLECTIONS = (
    "scifact",
    "claude_docs",
    "code_chunks",
    "tidb_docs_zh",
    "tldr_zh2en",
    "xquad_zh2en",
    "qmd_own",
)
PEERS = ("locomo", "vault", "gno", "longmemeval", "scifact")
#: The panels of the plot: a benchmark, the subset of its questions, and the measure.
_PANELS = (
    ("locomo", "all categories", "R@5", "LoCoMo"),
    ("vault", "all", "nDCG@5", "Obsidian vault"),
    ("gno", "general", "nDCG@10", "gno, five languages"),
    ("scifact", "all", "nDCG@10", "SciFact"),
)
_MODES = ("search", "vsearch", "query")


def quality() -> str:
    measured = by_mode()
    rows = []
    for name in COLLECTIONS:
        if (name, "search") not in measured:
            continue
        row: list[object] = [name]
        for mode in _MODES:
            measures = measured.get((name, mode), {}).get("measures")
            row.append(f"{measures['nDCG@10']:.3f} / {measures['R@100']:.3f}" if measures else "-")
        hits = measured.get((name, "search"), {}).get("measures")
        row.append(f"{hits['Success@3']:.3f}" if hits else "-")
        rows.append(row)
    heads = ["collection", "search", "vsearch", "query", "Hit@3 of search"]
    return f"### Quality: nDCG@10 / Recall@100\n\n{table(heads, rows)}\n\n{_samples(measured)}{state()}"


def by_mode() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the results by the names of the collection and the mode."""
    rows = [row for name in COLLECTIONS for row in load(f"quality-{name}.json").get("results", ())]
    return {(row["collection"], row["mode"]): row for row in rows}


def languages() -> str:
    """Return a table of the languages: nDCG@10, and whether scores say what they should."""
    found = load("languages.json").get("results", ())
    by = {(row["language"], row["mode"]): row for row in found}
    rows: list[list[object]] = []
    for language in dict.fromkeys(row["language"] for row in found):
        its = [by[language, mode] for mode in _MODES]
        shares = ("ndcg", "right_about", "right_unrelated", "far_about", "far_unrelated")
        rows.append([language, *(" / ".join(f"{row[name]:.2f}" for row in its) for name in shares)])
    heads = ["`search` / `vsearch` / `query`", "nDCG@10", "right ≥ .5", "right < .3", "far ≥ .5", "far < .3"]
    return table(heads, rows) if rows else ""


def _samples(measured: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Say for which collections `query` was asked only a sample of the questions, if any."""
    said = [
        f"{row['queries']} of the {every['queries']:,} questions of {name}"
        for (name, mode), row in measured.items()
        if mode == "query" and (every := measured.get((name, "search"))) and row["queries"] < every["queries"]
    ]
    return f"`query` was asked {', '.join(said)}. " if said else ""


def peers(benchmark: str) -> str:
    """Return a table for each subset of a benchmark: our results, then what others publish."""
    ours = load(f"peers-{benchmark}.json").get("results", ())
    theirs = [row for row in published() if row["benchmark"] == benchmark]
    names = list(dict.fromkeys(name for row in (*ours, *theirs) for name in row["measures"]))
    texts = []
    for subset in dict.fromkeys(row["subset"] for row in (*ours, *theirs)):
        rows = [
            (f"qmd `{_shown(row['mode'])}`", row, "`bench/peers.py`")
            for row in ours
            if row["subset"] == subset
        ]
        rows += [(row["system"], row, _link(row["source"])) for row in theirs if row["subset"] == subset]
        body = [
            [name, f"{row['questions']:,}", *(short(row["measures"].get(each)) for each in names), source]
            for name, row, source in rows
        ]
        head = "program" if subset == "all" else subset
        texts.append(table([head, "questions", *names, "source"], body))
    return "\n\n".join(texts)


def published() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / "peers-published.json").read_text(encoding="utf-8"))
    return rows


def bars() -> list[tuple[str, list[tuple[str, float]]]]:
    """Return the panels of the plot: a title, and the names and values of its bars."""
    panels = []
    for benchmark, subset, measure, title in _PANELS:
        ours = [row for row in load(f"peers-{benchmark}.json").get("results", ()) if row["subset"] == subset]
        most = max((row["questions"] for row in ours), default=0)
        shown = [(_bar(row, most), row["measures"][measure]) for row in ours]
        shown += [
            (re.sub(r" \(.*\)", "", row["system"]), row["measures"][measure])
            for row in published()
            if (row["benchmark"], row["subset"]) == (benchmark, subset) and measure in row["measures"]
        ]
        panels.append((f"{title}: {measure}", sorted(shown, key=lambda bar: -bar[1])))
    return panels


def _bar(row: dict[str, Any], most: int) -> str:
    """Return the name of one of our bars, with the number of questions if it is only a sample of them."""
    sample = f" ({row['questions']:,} questions)" if row["questions"] < most else ""
    return f"qmd {_shown(row['mode'])}{sample}"


def _shown(mode: str) -> str:
    return mode.replace("query-no-rerank", "query --no-rerank")


def _link(source: str) -> str:
    """Return a link with a short text: the repository, and the number of an issue or the name of a file."""
    _, _, rest = source.partition("github.com/")
    owner, repository, *more = re.split(r"[/#]", rest)
    last = f" #{more[-1]}" if more[:1] == ["issues"] else f" {more[-1]}" if len(more) > 1 else ""
    return f"[{owner}/{repository}{last}]({source})"


def short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".lstrip("0")

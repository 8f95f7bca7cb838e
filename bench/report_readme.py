"""The table of the README: what is measured, which way is better, and of how many questions or runs."""

from __future__ import annotations

from typing import Any

from common import table
from report_quality import by_mode, short
from report_state import load, measured_at, two_digits

#: The collections whose nDCG@10 is shown, and what is asked there.
_COLLECTIONS = {
    "scifact": "scientific claims",
    "code_chunks": "questions about code",
    "tidb_docs_zh": "Chinese documentation",
    "tldr_zh2en": "Chinese questions, English pages",
}
_LARGE = "38,000 files"
#: The results that the table is made of.
_RESULTS = (
    "peers-locomo",
    *(f"quality-{name}" for name in _COLLECTIONS),
    "packs",
    "hooks",
    "speed",
    "http",
    "install-size",
)


def figures() -> str:
    """Return the table; "" if a result is missing."""
    if not all(load(f"{name}.json") for name in _RESULTS):
        return ""
    rows = [*_quality(), *_evidence(), *_costs()]
    heads = ["", "better", "qmd", "tobi/qmd 2.8.3", "measured with"]
    said = (
        f"Measured at {measured_at(*_RESULTS)}, on a machine with two virtual cores. Pairs are of `search` "
        "and `query` where nothing else is said. Times beside tobi/qmd are relative to its time in the same "
        "run."
    )
    return f"{table(heads, rows)}\n\n{said}"


def _quality() -> list[list[object]]:
    dialogues = {
        row["mode"]: row for row in load("peers-locomo.json")["results"] if row["subset"] == "all categories"
    }
    its = [dialogues[mode] for mode in ("search", "query")]
    found = [f"{row['measures']['R@5']:.0%}" for row in its]
    rows = [
        _row("evidence among the first five, dialogues (LoCoMo)", found, [row["questions"] for row in its])
    ]
    measured = by_mode()
    for name, text in _COLLECTIONS.items():
        its = [measured[name, mode] for mode in ("search", "query")]
        values = [short(row["measures"]["nDCG@10"]) for row in its]
        rows.append(_row(f"nDCG@10, {text} ({name})", values, [row["queries"] for row in its]))
    return rows


def _row(text: str, values: list[str], counts: list[int]) -> list[object]:
    asked = " / ".join(f"{count:,}" for count in counts)
    return [text, "higher", " / ".join(values), "", f"{asked} questions"]


def _evidence() -> list[list[object]]:
    packed = {(row["set"], row["way"], row["tokens"]): row for row in load("packs.json")["results"]}
    pack, query = (packed["locomo", way, 2_000] for way in ("pack", "query"))
    hooks = load("hooks.json")
    served = [row for row in hooks["served"] if row["threshold"] == 0.5 and not row["words only"]]
    answered, unrelated = (
        " / ".join(f"{row[kind]:.0%}" for row in served) for kind in ("answered", "unrelated")
    )
    where, prompts = " / ".join(row["index"] for row in served), f"{hooks['prompts']} prompts each"
    return [
        [
            "evidence within 2,000 tokens, by `query` / by `pack`",
            "higher",
            f"{query['recall']:.0%} / {pack['recall']:.0%}",
            "",
            f"{pack['questions']} questions",
        ],
        [f"prompts that notes answer: a hook speaks ({where})", "higher", answered, "", prompts],
        ["unrelated prompts: a hook speaks", "lower", unrelated, "", prompts],
    ]


def _costs() -> list[list[object]]:
    works = {row["work"]: row for row in load("speed.json")["processes"] if row["corpus"] == _LARGE}

    def time(text: str, work: str) -> list[object]:
        row = works[work]
        return [text, "lower", two_digits(row["ratio"]["seconds"]), 1, f"{row['qmd-python']['runs']} runs"]

    cold = [works["cold index"][name]["memory_mb"] for name in ("qmd-python", "tobi/qmd")]
    served, requests = load("http.json"), load("http.json")["load"]
    rates = [requests[name]["per_second"] for name in ("qmd-python", "tobi/qmd")]
    size: dict[str, Any] = load("install-size.json")
    return [
        time("time of a first index, 38,000 files", "cold index"),
        time("time of an update without changes", "no-change update"),
        time("time of the command `qmd search`", "search"),
        ["MB of memory while indexing", "lower", *(f"{mb:,.0f}" for mb in cold), "the same runs"],
        [
            f"lexical searches a second over HTTP, {served['connections']} connections",
            "higher",
            *(f"{rate:,.0f}" for rate in rates),
            f"{served['seconds']} seconds",
        ],
        [
            "MB on disk after the first query, without the model",
            "lower",
            f"{size['total_mb']:.0f}",
            "",
            "1 installation",
        ],
    ]

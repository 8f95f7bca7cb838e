"""The plots of `report.py`: each is drawn from results, whose digest its file contains."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from report_quality import bars, short
from report_state import RESULTS, load

_IMAGES = RESULTS.parent.parent / "docs" / "images"
#: Ours, and all others.
_OWN, _OTHERS = "#2b6cb0", "#b8c2cc"


class Plot(Struct, frozen=True):
    """A plot: its file, what it shows, and the function that draws that on a figure of matplotlib."""

    file: str
    data: Callable[[], Any]
    draw: Callable[[Any, Any], None]
    size: tuple[float, float]
    panels: tuple[int, int]

    @property
    def path(self) -> Path:
        return _IMAGES / self.file

    def is_current(self) -> bool:
        return self.path.exists() and self._digest() in self.path.read_text(encoding="utf-8")

    def write(self) -> None:
        """Draw it, if it is not current."""
        if self.is_current() or not self.data():
            return
        import matplotlib

        matplotlib.use("svg")
        matplotlib.rcParams.update({"svg.hashsalt": "qmd", "font.size": 9})
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(*self.panels, figsize=self.size, layout="constrained", squeeze=False)
        self.draw(axes.flat, self.data())
        for each in axes.flat:
            each.spines[["top", "right"]].set_visible(False)
        figure.savefig(self.path, metadata={"Date": None, "Description": self._digest()}, bbox_inches="tight")

    def _digest(self) -> str:
        return hashlib.sha256(json.dumps(self.data()).encode()).hexdigest()


def _draw_bars(all_axes: Sequence[Any], panels: Any) -> None:
    """Draw the benchmarks as bars, ours in a darker colour."""
    for axes, (title, shown) in zip(all_axes, panels, strict=True):
        names, values = [name for name, _ in shown], [value for _, value in shown]
        colours = [_OWN if name.startswith("qmd ") else _OTHERS for name in names]
        drawn = axes.barh(range(len(shown)), values, color=colours)
        axes.bar_label(drawn, [short(value) for value in values], padding=3)
        axes.set_yticks(range(len(shown)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.08)
        axes.set_title(title, loc="left", fontsize=10)


def _silence() -> list[tuple[str, dict[str, list[tuple[float, float]]]]]:
    """Return a panel for each index and way: the share of prompts that are served over the threshold."""
    rows = load("hooks.json").get("served", ())
    ways = dict.fromkeys((row["index"], row["words only"]) for row in rows)
    return [
        (
            f"{index}, {'words alone' if words_only else 'with a server'}",
            {
                kind: [
                    (row["threshold"], row[kind])
                    for row in rows
                    if (row["index"], row["words only"]) == (index, words_only)
                ]
                for kind in ("answered", "near", "unrelated")
            },
        )
        for index, words_only in ways
    ]


def _draw_silence(all_axes: Sequence[Any], panels: Any) -> None:
    for axes, (title, lines) in zip(all_axes, panels, strict=True):
        for name, points in lines.items():
            axes.plot(*zip(*points, strict=True), label=name)
        axes.axvline(0.5, color="0.7", linewidth=1)
        axes.set_xlabel("threshold")
        axes.set_ylabel("share of prompts served")
        axes.set_ylim(0, 1.02)
        axes.set_title(title, loc="left", fontsize=10)
        axes.legend(frameon=False)


def _recall() -> list[tuple[str, dict[str, list[tuple[float, float]]]]]:
    """Return a panel for each set: the recall of each way over the tokens."""
    rows = load("packs.json").get("results", ())
    return [
        (
            name,
            {
                way: [
                    (row["tokens"], row["recall"]) for row in rows if (row["set"], row["way"]) == (name, way)
                ]
                for way in ("pack", "query", "files")
            },
        )
        for name in dict.fromkeys(row["set"] for row in rows)
    ]


def _draw_recall(all_axes: Sequence[Any], panels: Any) -> None:
    for axes, (title, lines) in zip(all_axes, panels, strict=True):
        for name, points in lines.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=name)
        axes.set_xlabel("tokens")
        axes.set_ylabel("share of the evidence")
        axes.set_ylim(0, 1.02)
        axes.set_title(title, loc="left", fontsize=10)
        axes.legend(frameon=False, loc="lower right")


def _sections() -> list[tuple[str, list[tuple[str, list[float]]]]]:
    """Return a panel for each collection: of each search, the shares of the kinds of questions."""
    rows = load("sections.json").get("sections", ())
    return [
        (
            name,
            [
                (mode, [row["first"] for row in rows if (row["collection"], row["mode"]) == (name, mode)])
                for mode in dict.fromkeys(row["mode"] for row in rows if row["collection"] == name)
            ],
        )
        for name in dict.fromkeys(row["collection"] for row in rows)
    ]


def _draw_sections(all_axes: Sequence[Any], panels: Any) -> None:
    kinds = ("by number", "by heading", "in other words")
    colours = {"search": _OWN, "query": "#63a0d8"}
    for axes, (title, modes) in zip(all_axes, panels, strict=True):
        for number, (mode, shares) in enumerate(modes):
            places = [at + 0.27 * (number - 1) for at in range(len(shares))]
            drawn = axes.bar(places, shares, 0.25, label=mode, color=colours.get(mode, _OTHERS))
            axes.bar_label(drawn, [f"{share:.2f}" for share in shares], padding=2, fontsize=8)
        axes.set_xticks(range(len(kinds)), kinds)
        axes.set_ylim(0, 1.15)
        axes.set_ylabel("right section first")
        axes.set_title(title.replace("_", " "), loc="left", fontsize=10)
        axes.legend(frameon=False, loc="upper right", ncols=3)


#: The lines of the plot of growing sizes, by the names of their figures.
_TIMES = {
    "selective_p50": "search, selective",
    "questions_p50": "search, questions",
    "selective_1%_p50": "search, collection of 1%",
    "dense_p50": "vectors alone",
    "dense_1%_p50": "vectors alone, collection of 1%",
    "vsearch_p50": "vsearch",
    "query_not_reranked_p50": "query, not reranked",
    "query_p50": "query, 30 reranked",
}


def _scale() -> list[tuple[str, dict[str, list[tuple[float, float]]]]]:
    """Return a panel: milliseconds over the number of documents."""
    rows = load("scale.json").get("growth", ())
    lines = {label: [(row["documents"], row[key]) for row in rows] for key, label in _TIMES.items()}
    return [("milliseconds, p50, warm", lines)] if rows else []


def _growth() -> list[tuple[str, dict[str, list[tuple[float, float]]]]]:
    """Return a panel: all costs over the number of files, with their exponents."""
    result = load("growth.json")
    lines = {
        f"{name}: $n^{{{result['exponents'][key]}}}$": [
            (row["documents"], row[key]) for row in result["sizes"]
        ]
        for key, name in result.get("measures", {}).items()
    }
    return [("seconds, MB, milliseconds", lines)] if lines else []


def _draw_powers(all_axes: Sequence[Any], panels: Any) -> None:
    """Draw lines over sizes, both in powers of ten."""
    for axes, (unit, lines) in zip(all_axes, panels, strict=True):
        for name, points in lines.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=name)
        axes.set(xscale="log", yscale="log", xlabel="documents", ylabel=unit)
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1.0))


PLOTS = (
    Plot("scale.svg", _scale, _draw_powers, (9, 5), (1, 1)),
    Plot("growth.svg", _growth, _draw_powers, (9, 5), (1, 1)),
    Plot("sections.svg", _sections, _draw_sections, (10, 3.4), (1, 2)),
    Plot("peers.svg", bars, _draw_bars, (10, 5.6), (2, 2)),
    Plot("packs.svg", _recall, _draw_recall, (10, 3.4), (1, 3)),
    Plot("hooks.svg", _silence, _draw_silence, (10, 6.4), (2, 2)),
)

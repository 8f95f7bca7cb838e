"""Fit the calibrated scale of scores, and test it, through the public API.

    python bench/calibration.py FOLDER... [--work DIR] [--questions N] [--jobs N] [--rows DIR] [--fit]
                                [--json OUT]

Each collection is asked its own questions (own), the same with the relevant documents filtered out (near),
everyday questions (far), those of the other collections (other), some of which are about related subjects,
words that one document alone has (word), and titles (title). Own
questions are also asked of a relevant document and seven random ones (few), and of the forty documents that
are nearest in meaning (alike), and far ones of eight random documents (few far). Only the first hit counts.

The targets are: right first hits, those that answer, hardly ever score below 0.3, and mostly 0.5 or more;
those of far questions hardly ever 0.3 or more. AUC is the probability that the first hit of an own question
scores more than that of a near one. ECE is the expected calibration error in ten bins: own questions have the
same weight as near ones (a twentieth of it), others and far ones together.

`--fit` prints `REGRESSIONS` of `qmd.ranking.calibration`, fitted on all collections, and judges each
collection by constants fitted on the others. `--rows` keeps the measured hits in a folder; those that
are there are scored again, with the present constants.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from common import read_collection, table, write_json  # isort: skip  (puts src/ on the path)
import numpy as np

from calibration_rows import MODES, Row, rows_of
from qmd.ranking.calibration import ABOUT, RELATED, Regression

#: The regressions in the order of `REGRESSIONS`: the mode, the signals, and whether documents are meant that
#: have hardly any words of the query (None: all documents).
FITS: tuple[tuple[str, tuple[str, ...], bool | None], ...] = (
    ("query", ("subject", "rerank", "passage"), False),
    ("query", ("subject", "rerank"), True),
    ("query", ("rerank", "exact"), False),
    ("query without reranking", ("subject", "exact"), False),
    ("vsearch", ("subject",), None),
    ("search", ("words",), None),
)
#: The weights of kinds of rows in the fit, in each collection. The others are only judged.
FITTED = {"right": 1.0, "other": 0.5, "far": 0.5, "right few": 0.5, "few far": 0.5, "right word": 0.3}
#: Kinds of which a collection has fewer rows count less.
FULL = 30
#: The weights of own, near and far questions in the calibration error.
WEIGHTS = {"own": 1.0, "near": 0.05, "other": 0.5, "far": 0.5}
BINS = 10


class Result(Struct, frozen=True):
    """The measures of a mode, for one collection or the mean of all. Fractions are of first hits."""

    mode: str
    collection: str
    right_unrelated: float
    far_unrelated: float
    other_unrelated: float
    right_answers: float
    near_auc: float
    ece: float
    few_unrelated: float
    few_far_unrelated: float
    alike_unrelated: float
    words_unrelated: float
    titles_unrelated: float


def main() -> None:
    options = _options()
    collections = [read_collection(folder) for folder in options.folders]
    rows: list[Row] = []
    if options.jobs > 1:  # the threads of several models would wait for each other
        os.environ["QMD_THREADS"] = "1"
    with ProcessPoolExecutor(options.jobs) as processes:
        work = partial(rows_of, folders=options.folders, options=options)
        for found in processes.map(
            work, sorted(range(len(collections)), key=lambda at: -len(collections[at].documents))
        ):
            rows += found
    if options.fit:
        rows = judged_by_others(rows)
    results = [result for mode in MODES for result in measured([row for row in rows if row.mode == mode])]
    print(_report(results))
    diagrams = {
        mode: reliability([row for row in rows if row.mode == mode and row.kind in WEIGHTS]) for mode in MODES
    }
    write_json(
        options.json, {"results": [_without_nan(result) for result in results], "reliability": diagrams}
    )


def _without_nan(result: Result) -> dict[str, Any]:
    """Return a result, None for fractions of no questions: JSON has no NaN."""
    return {name: None if value != value else value for name, value in to_builtins(result).items()}


def judged_by_others(rows: Sequence[Row]) -> list[Row]:
    """Return rows with scores of a fit on the other collections. Print the fit on all."""
    scores = {id(row): 0.0 for row in rows}
    print("REGRESSIONS = (")
    for mode, names, few_words in FITS:
        its = [
            row
            for row in rows
            if row.mode == mode and {*names} <= row.signals.keys() and few_words in (None, row.few_words)
        ]
        print(f"    {_shown(_fit(its, names))},")
        if (mode, few_words) == ("query", False) and "subject" not in names:
            continue  # for documents without vectors, which the collections do not have
        for name in dict.fromkeys(row.collection for row in its):
            regression = _fit([row for row in its if row.collection != name], names)
            for row in its:
                if row.collection == name:
                    scores[id(row)] = regression.probability(row.signals, row.background)
        if mode == "vsearch":
            bare = [row for row in rows if row.mode == "query without reranking" and row.few_words]
            for row in bare:
                others = (
                    _fit([each for each in its if each.collection != row.collection], names)
                    if row.signals
                    else None
                )
                scores[id(row)] = (
                    others.probability(row.signals, row.background)
                    if others and "subject" in row.signals
                    else 0.0
                )
    print(")")
    return [replace(row, score=scores[id(row)]) for row in rows]


def _shown(regression: Regression) -> str:
    weights = ", ".join(f'"{name}": {value:.2f}' for name, value in regression.weights.items())
    return f"Regression({regression.intercept:.2f}, {{{weights}}})"


def _fit(rows: Sequence[Row], names: Sequence[str]) -> Regression:
    """Return a logistic regression with a weak ridge, by Newton's method: right hits against far ones."""
    rows = [row for row in rows if row.part in FITTED]
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        counts[row.collection, row.part] = counts.get((row.collection, row.part), 0) + 1
    weights = np.array([FITTED[row.part] / max(FULL, counts[row.collection, row.part]) for row in rows])
    right = np.array([float(row.relevant) for row in rows])
    matrix = np.array([[row.leads[name] for name in names] for row in rows])
    mean, deviation = matrix.mean(0), matrix.std(0) + 1e-9
    scaled = np.column_stack([np.ones(len(matrix)), (matrix - mean) / deviation])
    ridge = 1e-3 * weights.sum() * np.diag([0.0] + [1.0] * matrix.shape[1])
    slopes = np.zeros(scaled.shape[1])
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-scaled @ slopes))
        curvature = scaled.T @ (scaled * (weights * chance * (1 - chance))[:, None]) + ridge
        step = np.linalg.solve(curvature, scaled.T @ (weights * (right - chance)) - ridge @ slopes)
        slopes = slopes + step
        if np.abs(step).max() < 1e-8:
            break
    unscaled = slopes[1:] / deviation
    intercept = round(float(slopes[0] - unscaled @ mean), 2)
    return Regression(
        intercept, {name: round(float(value), 2) for name, value in zip(names, unscaled, strict=True)}
    )


def measured(rows: Sequence[Row]) -> Iterator[Result]:
    """Return the measures of each collection, and their means."""
    results = []
    for name in dict.fromkeys(row.collection for row in rows):
        its = [row for row in rows if row.collection == name]
        parts: dict[str, list[float]] = {}
        kinds: dict[str, list[float]] = {}
        for row in its:
            parts.setdefault(row.part, []).append(row.score)
            kinds.setdefault(row.kind, []).append(row.score)

        def below(part: str, limit: float = RELATED, parts: dict[str, list[float]] = parts) -> float:
            found = parts.get(part, [])
            return float(np.mean(np.array(found) < limit)) if found else float("nan")

        bins = reliability([row for row in its if row.kind in WEIGHTS])
        results.append(
            Result(
                its[0].mode,
                name,
                below("right"),
                below("far"),
                below("other"),
                1.0 - below("right", ABOUT),
                _auc(np.array(kinds["own"]), np.array(kinds["near"])),
                sum(part["weight"] * abs(part["score"] - part["right"]) for part in bins),
                below("right few"),
                below("few far"),
                below("right alike"),
                below("right word"),
                below("right title"),
            )
        )
    yield from results
    numbers = [field for field in Result.__struct_fields__ if field not in ("mode", "collection")]
    means = {name: float(np.nanmean([getattr(result, name) for result in results])) for name in numbers}
    yield Result(rows[0].mode, "mean", **means)


def _auc(high: np.ndarray[Any, Any], low: np.ndarray[Any, Any]) -> float:
    pairs = high[:, None] - low
    return float((pairs > 0).mean() + 0.5 * (pairs == 0).mean()) if pairs.size else float("nan")


def reliability(rows: Sequence[Row]) -> list[dict[str, float]]:
    """Return the weight, mean score and fraction of relevant hits of each bin of scores."""
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        counts[row.collection, row.kind] = counts.get((row.collection, row.kind), 0) + 1
    weights = np.array([WEIGHTS[row.kind] / counts[row.collection, row.kind] for row in rows])
    weights /= weights.sum()
    scores = np.array([row.score for row in rows])
    relevant = np.array([float(row.relevant) for row in rows])
    bins = np.minimum((scores * BINS).astype(int), BINS - 1)
    return [
        {
            "weight": float(weights[bins == each].sum()),
            "score": float(np.average(scores[bins == each], weights=weights[bins == each])),
            "right": float(np.average(relevant[bins == each], weights=weights[bins == each])),
        }
        for each in range(BINS)
        if (bins == each).any()
    ]


def _report(results: Sequence[Result]) -> str:
    heads = [
        "mode",
        "collection",
        "right < .3",
        "far < .3",
        "other < .3",
        "right ≥ .5",
        "near AUC",
        "ECE",
        "few < .3",
        "few far < .3",
        "alike < .3",
        "words < .3",
        "titles < .3",
    ]
    rows = [
        [value if isinstance(value, str) else f"{value:.3f}" for value in to_builtins(result).values()]
        for result in results
    ]
    return table(heads, rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fit and test the calibrated scale of scores.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--work", type=Path, default=Path("bench-work"), help="folder of the indexes")
    parser.add_argument("--questions", type=int, default=40, help="of each collection (40)")
    parser.add_argument("--jobs", type=int, default=1, help="ask so many collections at once (1)")
    parser.add_argument("--rows", type=Path, help="keep the measured hits in this folder, or use those there")
    parser.add_argument(
        "--fit",
        action="store_true",
        help="print new constants; judge each collection by constants of the others",
    )
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()

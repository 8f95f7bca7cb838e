"""Fit the calibrated scale of scores, and test it, through the public API.

    python bench/calibration.py FOLDER... [--work DIR] [--every N] [--fit] [--json OUT] [--plot SVG]

Each collection is asked its own questions, the same questions with the relevant documents filtered out
(near), and questions of the other collections (far). AUC is the probability that the best hit of an answered
question scores more than that of an unanswered one. ECE is the expected calibration error in ten bins of the
best hits: own questions have the same weight as near ones (a twentieth of it) and far ones together.

`--fit` prints the constants of `qmd.ranking.calibration`, which were fitted on the public collections. With
`--fit`, each collection is judged by constants fitted on the others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from common import EvalCollection, read_collection, say, table, write_json  # isort: skip  (puts src/ on the path)
import numpy as np

import qmd
from quality import prepared

MODES = ("search", "vsearch", "query without reranking", "query")
#: The signals of each mode, whose values and leads the regression uses. The second regression of a mode is
#: for documents that have hardly any words of the query.
SIGNALS: dict[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = {
    "search": ((("words",), ()),),
    "vsearch": ((("meaning",), ("meaning",)),),
    "query without reranking": ((("words",), ("meaning",)), (("meaning",), ("meaning",))),
    "query": ((("words", "title"), ("meaning", "rerank")), (("rerank",), ("meaning", "rerank"))),
}
#: Weights of own, near and far questions, and the factor of each next hit.
WEIGHTS = {"own": 1.0, "near": 0.05, "far": 1.0}
DEPTH, DECAY = 5, 2.0
FAR = 8
BINS = 10


class Row(Struct, frozen=True):
    """A hit: its question, its rank from 0, whether it is relevant, its score and its signals."""

    collection: str
    kind: str
    mode: str
    question: str
    rank: int
    relevant: bool
    score: float
    signals: dict[str, float]
    background: dict[str, float]


class Result(Struct, frozen=True):
    """The measures of a mode, for one collection or all.

    `kept` are the fractions with a score of 0.5 or more.
    """

    mode: str
    collection: str
    near_auc: float
    far_auc: float
    kept: dict[str, float]
    right: float
    ece: float


def main() -> None:
    options = _options()
    collections = [read_collection(folder) for folder in options.folders]
    rows: list[Row] = []
    for collection in collections:
        work = options.work / collection.name
        with prepared(collection, work, vectors=True) as index:
            names = json.loads((work / "names.json").read_text(encoding="utf-8"))
            rows += gathered(index, collection, collections, names, options.every)
        say(f"{collection.name}: {len(rows)} hits so far")
    if options.fit:
        rows = [fitted for mode in MODES for fitted in judged_by_others(rows, mode)]
    results = [result for mode in MODES for result in measured([row for row in rows if row.mode == mode])]
    print(_report(results))
    diagrams = {
        mode: reliability([row for row in rows if row.mode == mode and not row.rank]) for mode in MODES
    }
    write_json(
        options.json, {"results": [to_builtins(result) for result in results], "reliability": diagrams}
    )
    if options.plot:
        _plot(diagrams, options.plot)


def gathered(
    index: qmd.Index,
    collection: EvalCollection,
    collections: Sequence[EvalCollection],
    names: dict[str, str],
    every: int,
) -> Iterator[Row]:
    """Ask a collection its own, near and far questions in every mode."""
    paths = {document: path for path, document in names.items()}
    for query, text in islice(collection.queries.items(), 0, None, every):
        relevant = {document for document, grade in collection.qrels[query].items() if grade > 0}
        if not relevant:
            continue
        gone: dict[str, Any] = {
            "operator": "not",
            "operands": [
                {
                    "field": "path",
                    "operator": "in",
                    "value": [paths[each] for each in relevant if each in paths],
                }
            ],
        }
        for kind, options in (("own", {}), ("near", {"filter": gone})):
            for row in _hits(index, text, options):
                found = kind == "own" and names[row.question] in relevant
                yield replace(row, collection=collection.name, kind=kind, question=query, relevant=found)
    for other in collections:
        if other.name == collection.name:
            continue
        step = max(1, len(other.queries) // FAR)
        for query, text in islice(other.queries.items(), 0, FAR * step, step):
            for row in _hits(index, text, {}):
                yield replace(row, collection=collection.name, kind="far", question=f"{other.name} {query}")


def _hits(index: qmd.Index, text: str, options: dict[str, Any]) -> Iterator[Row]:
    """Ask one question in every mode. `question` identifies it in the hits."""
    common: dict[str, Any] = {"limit": DEPTH, "explain": True, **options}
    responses = {
        "search": index.search(text, **common),
        "vsearch": index.vsearch(text, min_score=0.0, timeout=None, **common),
        "query without reranking": index.query(text, rerank=False, timeout=None, **common),
        "query": index.query(text, timeout=None, **common),
    }
    for mode, response in responses.items():
        for rank, hit in enumerate(response.hits):
            found = (hit.explain or {})["likelihood"]
            yield Row("", "", mode, hit.path, rank, False, hit.score, found["signals"], found["background"])


def judged_by_others(rows: Sequence[Row], mode: str) -> Iterator[Row]:
    """Return the rows of a mode with scores of a fit on the other collections. Print the fit on all."""
    rest = [row for row in rows if row.mode == mode]
    for values, leads in SIGNALS[mode]:
        wanted = {*values, *leads}
        yield from _refitted([row for row in rest if wanted <= row.signals.keys()], values, leads)
        rest = [row for row in rest if not wanted <= row.signals.keys()]


def _refitted(rows: Sequence[Row], values: Sequence[str], leads: Sequence[str]) -> Iterator[Row]:
    if not rows:
        return
    matrix = np.array([_inputs(row, values, leads) for row in rows])
    relevant = np.array([float(row.relevant) for row in rows])
    weights = _weights(rows)
    names = np.array([row.collection for row in rows])
    intercept, slopes = _fit(matrix, relevant, weights)
    shown = [f"{name} {value:.2f}" for name, value in zip([*values, *leads], slopes, strict=True)]
    print(f"{rows[0].mode}: intercept {intercept:.2f}, values and leads: {', '.join(shown)}")
    for name in dict.fromkeys(names):
        others = names != name
        intercept, slopes = _fit(matrix[others], relevant[others], weights[others])
        scores = 1.0 / (1.0 + np.exp(-(intercept + matrix[~others] @ slopes)))
        its = [row for row in rows if row.collection == name]
        for row, score in zip(its, scores, strict=True):
            yield replace(row, score=float(score))


def _inputs(row: Row, values: Sequence[str], leads: Sequence[str]) -> list[float]:
    measured = [row.signals[name] for name in values]
    return measured + [row.signals[name] - row.background[name] for name in leads]


def _weights(rows: Sequence[Row]) -> np.ndarray[Any, Any]:
    """Return weights: each collection counts the same, questions by `WEIGHTS`, and lower hits less."""
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        counts[row.collection, row.kind] = counts.get((row.collection, row.kind), 0) + 1
    return np.array(
        [WEIGHTS[row.kind] / counts[row.collection, row.kind] / (1 + row.rank) ** DECAY for row in rows]
    )


def _fit(
    matrix: np.ndarray[Any, Any], relevant: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]
) -> tuple[float, np.ndarray[Any, Any]]:
    """Return the intercept and the slopes of a logistic regression with a weak ridge, by Newton's method."""
    mean, deviation = matrix.mean(0), matrix.std(0) + 1e-9
    scaled = np.column_stack([np.ones(len(matrix)), (matrix - mean) / deviation])
    ridge = 1e-3 * weights.sum() * np.diag([0.0] + [1.0] * matrix.shape[1])
    slopes = np.zeros(scaled.shape[1])
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-scaled @ slopes))
        curvature = scaled.T @ (scaled * (weights * chance * (1 - chance))[:, None]) + ridge
        step = np.linalg.solve(curvature, scaled.T @ (weights * (relevant - chance)) - ridge @ slopes)
        slopes = slopes + step
        if np.abs(step).max() < 1e-8:
            break
    unscaled = slopes[1:] / deviation
    return float(slopes[0] - unscaled @ mean), unscaled


def measured(rows: Sequence[Row]) -> Iterator[Result]:
    """Return the measures of the best hits: of each collection, and of all together."""
    best = [row for row in rows if row.rank == 0]
    for name in (*dict.fromkeys(row.collection for row in best), "all"):
        its = [row for row in best if name in (row.collection, "all")]
        scores = {kind: np.array([row.score for row in its if row.kind == kind]) for kind in WEIGHTS}
        right = [row.relevant for row in its if row.kind == "own"]
        yield Result(
            its[0].mode,
            name,
            _auc(scores["own"], scores["near"]),
            _auc(scores["own"], scores["far"]),
            {
                kind: round(float((found >= 0.5).mean()), 4) if len(found) else 0.0
                for kind, found in scores.items()
            },
            round(float(np.mean(right)), 4),
            round(sum(part["weight"] * abs(part["score"] - part["right"]) for part in reliability(its)), 4),
        )


def _auc(high: np.ndarray[Any, Any], low: np.ndarray[Any, Any]) -> float:
    if not len(high) or not len(low):
        return float("nan")
    pairs = high[:, None] - low
    return round(float((pairs > 0).mean() + 0.5 * (pairs == 0).mean()), 4)


def reliability(rows: Sequence[Row]) -> list[dict[str, float]]:
    """Return the weight, mean score and fraction of relevant hits of each bin of scores."""
    scores = np.array([row.score for row in rows])
    relevant = np.array([float(row.relevant) for row in rows])
    weights = _weights(rows) / _weights(rows).sum()
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


def _plot(diagrams: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Draw the reliability diagrams. On the diagonal a score equals the probability of relevance."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "qmd"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5.4, 5))
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for mode, bins in diagrams.items():
        axes.plot([each["score"] for each in bins], [each["right"] for each in bins], marker="o", label=mode)
    axes.set(xlabel="score of the best hit", ylabel="share that answers", xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


def _report(results: Sequence[Result]) -> str:
    rows = [
        [
            result.mode,
            result.collection,
            *(f"{value:.3f}" for value in (result.near_auc, result.far_auc)),
            *(f"{result.kept[kind]:.2f}" for kind in WEIGHTS),
            f"{result.right:.2f}",
            f"{result.ece:.3f}",
        ]
        for result in results
    ]
    heads = ["mode", "collection", "near AUC", "far AUC", "own kept", "near kept", "far kept", "right", "ECE"]
    return table(heads, rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fit and test the calibrated scale of scores.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--work", type=Path, default=Path("bench-work"), help="folder of the indexes")
    parser.add_argument("--every", type=int, default=1, help="use each Nth question (1)")
    parser.add_argument(
        "--fit",
        action="store_true",
        help="print new constants; judge each collection by constants of the others",
    )
    parser.add_argument("--json", type=Path, help="write the result to this file")
    parser.add_argument("--plot", type=Path, help="write the reliability diagrams to this SVG file")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Retrieval quality of collections in BEIR layout, through the public API.

    python bench/quality.py FOLDER... [--modes search,vsearch,query] [--ranking tuned|contract]
                            [--no-rerank] [--work DIR] [--json OUT]

Each collection becomes a folder of Markdown files and an index in `--work`. Both are reused while the corpus
is the same, because its vectors take minutes. The terms are indexed again if a module of qmd that was loaded
while they were made has changed. nDCG@10, R@100 and RR@10 are those of `ir-measures`. If a query fails, it
counts as without results and is reported.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct, field, to_builtins

import qmd
from common import (
    EvalCollection,
    digest_of,
    file_names,
    percentile,
    read_collection,
    say,
    table,
    write_files,
    write_json,
)

MODES = ("search", "vsearch", "query")
LIMIT = 100


class Result(Struct):
    """One collection in one mode.

    Latencies are in milliseconds; `measures` are means over all judged queries.
    """

    collection: str
    mode: str
    documents: int
    queries: int
    measures: dict[str, float]
    p50: float
    p95: float
    errors: dict[str, str] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)
    per_query: dict[str, float] = field(default_factory=dict)


def main() -> None:
    options = _options()
    results: list[Result] = []
    for folder in options.folders:
        collection = read_collection(folder)
        work = options.work / collection.name
        with prepared(collection, work, vectors=options.modes != ["search"]) as index:
            names = json.loads((work / "names.json").read_text(encoding="utf-8"))
            for mode in options.modes:
                result = measure(index, collection, names, mode, options)
                results.append(result)
                say(f"{result.collection} {mode}: {result.measures['nDCG@10']:.4f}")
                for query, reason in result.errors.items():
                    say(f"  query {query} failed: {reason}")
    print(_report(results))
    setting = {
        "ranking": options.ranking,
        "rerank": options.rerank,
        "candidates": options.candidates,
        "limit": LIMIT,
    }
    write_json(options.json, {"setting": setting, "results": [to_builtins(result) for result in results]})


def prepared(collection: EvalCollection, work: Path, *, vectors: bool) -> qmd.Index:
    """Return the index of a collection, created or updated."""

    def write(files: Path) -> None:
        write_files(collection.documents, files)

    index = indexed(work, collection.digest, write, vectors=vectors)
    (work / "names.json").write_text(json.dumps(file_names(collection.documents)), encoding="utf-8")
    return index


def indexed(work: Path, digest: str, write: Callable[[Path], object], *, vectors: bool) -> qmd.Index:
    """Return the index of the files that `write` writes into a folder, created or updated.

    It is created again if the digest of the files has changed.
    """
    name = work.name
    stamp = work / "corpus"
    if work.exists() and (not stamp.exists() or stamp.read_text() != digest):
        shutil.rmtree(work)
    if not work.exists():
        write(work / "files")
        stamp.write_text(digest)
    index = qmd.open_index(work / "index.sqlite", progress=say)
    terms = work / "terms.json"
    made_by = json.loads(terms.read_text()) if terms.exists() else {}
    if not made_by or made_by != _digests(made_by):
        # A removed collection keeps its texts and their vectors, so only the terms are made again.
        if index.config.collections:
            index.remove_collection("eval")
        started = time.perf_counter()
        report = index.add_collection(str(work / "files"), "eval")
        say(f"{name}: {report.added} documents in {time.perf_counter() - started:.1f} s")
        for path, reason in report.problems:
            say(f"  {path}: {reason}")
        terms.write_text(json.dumps(_digests(name for name in [*sys.modules] if name.split(".")[0] == "qmd")))
    if vectors and index.status().needs_embedding:
        embedded = index.embed(on_progress=_Progress(name))
        say(f"{name}: {embedded.chunks} chunks in {embedded.seconds:.0f} s ({embedded.model})")
    return index


def indexed_copy(folder: Path, work: Path, *, vectors: bool) -> qmd.Index:
    """Return the index of a copy of a folder, created or updated."""
    return indexed(work, digest_of(folder), lambda files: shutil.copytree(folder, files), vectors=vectors)


def measure(
    index: qmd.Index,
    collection: EvalCollection,
    names: dict[str, str],
    mode: str,
    options: argparse.Namespace,
) -> Result:
    """Run every query and judge the results."""
    import ir_measures
    from ir_measures import RR, R, Success, nDCG

    if mode == "query":
        forget_answers(index)
    run: list[Any] = []
    times: list[float] = []
    result = Result(collection.name, mode, len(collection.documents), 0, {}, 0.0, 0.0)
    asked_with = {
        "ranking": options.ranking,
        "rerank": options.rerank,
        "candidate_limit": options.candidates,
    }
    asked = dict(islice(collection.queries.items(), 0, None, options.every if mode == "query" else 1))
    for number, (query, text) in enumerate(asked.items()):
        started = time.perf_counter()
        try:
            response = ask(index, mode, text, LIMIT, **asked_with)
        except qmd.QmdError as error:
            result.errors[query] = str(error)
            continue
        if number:  # the first query loads the models
            times.append(1000 * (time.perf_counter() - started))
        for stage in response.stages:
            if stage.status in ("failed", "timed_out"):
                name = f"{stage.stage} {stage.status}"
                result.stages[name] = result.stages.get(name, 0) + 1
        run.extend(
            ir_measures.ScoredDoc(query, names[hit.path], float(-rank))
            for rank, hit in enumerate(response.hits)
        )
    result.queries = len(asked)
    qrels = [
        ir_measures.Qrel(query, document, grade)
        for query, grades in collection.qrels.items()
        if query in asked
        for document, grade in grades.items()
    ]
    wanted = [nDCG @ 10, R @ 100, RR @ 10, Success @ 3]
    sums = {str(each): 0.0 for each in wanted}
    for metric in ir_measures.iter_calc(wanted, qrels, run):
        sums[str(metric.measure)] += metric.value
        if str(metric.measure) == "nDCG@10" and options.per_query:
            result.per_query[metric.query_id] = round(metric.value, 5)
    result.measures = {name: round(total / len(asked), 5) for name, total in sums.items()}
    result.p50, result.p95 = (round(percentile(times, share), 3) for share in (0.5, 0.95))
    return result


def ask(index: qmd.Index, mode: str, text: str, limit: int, **options: Any) -> qmd.SearchResponse:
    """Search in a mode without limits on time and scores; `options` are those of `query`."""
    match mode:
        case "search":
            return index.search(text, limit=limit)
        case "vsearch":
            return index.vsearch(text, limit=limit, min_score=0.0, timeout=None)
        case _:
            return index.query(text, limit=limit, timeout=None, **options)


def forget_answers(index: qmd.Index) -> None:
    """Empty the cache of rerank scores, so that the reranker is measured."""
    import apsw

    db = apsw.Connection(index.locations.index)
    db.set_busy_timeout(10_000)
    db.execute("DELETE FROM llm_cache")
    db.close()


def _digests(modules: Iterable[str]) -> dict[str, str]:
    """Return the digest of the source of each module, or "" if it no longer exists."""
    found: dict[str, str] = {}
    root = Path(qmd.__file__).parent.parent  # in an installed version, too
    for name in modules:
        place = root.joinpath(*name.split("."))
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        found[name] = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    return found


class _Progress:
    """A callback that prints the progress of embedding every thirty seconds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next = time.monotonic()

    def __call__(self, progress: qmd.EmbedProgress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 30
            left = "" if progress.seconds_left is None else f", {progress.seconds_left:.0f} s left"
            say(f"{self._name}: embedded {progress.chunks_done}/{progress.chunks_total}{left}")


def _report(results: list[Result]) -> str:
    rows = []
    for result in results:
        measures = result.measures
        row = [result.collection, result.mode, result.documents, result.queries]
        row += [f"{measures[name]:.4f}" for name in ("nDCG@10", "R@100", "RR@10", "Success@3")]
        row += [f"{result.p50:.2f}", f"{result.p95:.2f}", len(result.errors)]
        row.append(", ".join(f"{name}: {count}" for name, count in result.stages.items()) or "-")
        rows.append(row)
    heads = ["collection", "mode", "docs", "queries", "nDCG@10", "R@100", "RR@10", "Hit@3"]
    return table([*heads, "p50 ms", "p95 ms", "errors", "stages not run"], rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Retrieval quality of collections in BEIR layout.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--modes", default="search", type=lambda value: value.split(","))
    parser.add_argument("--ranking", choices=("tuned", "contract"))
    parser.add_argument("--no-rerank", dest="rerank", action="store_false")
    parser.add_argument("--candidates", type=int, default=30, help="number of reranked candidates (30)")
    parser.add_argument("--work", type=Path, default=Path("bench-work"), help="folder of the indexes")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    parser.add_argument("--every", type=int, default=1, help="use each Nth query in the mode `query` (1)")
    parser.add_argument("--per-query", action="store_true", help="write each query's nDCG@10, too")
    options = parser.parse_args()
    unknown = [mode for mode in options.modes if mode not in MODES]
    if unknown:
        parser.error(f"unknown mode {unknown[0]}; one of {', '.join(MODES)}")
    return options


if __name__ == "__main__":
    main()

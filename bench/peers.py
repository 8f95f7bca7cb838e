"""Benchmarks that peers publish figures of, by their protocols, through the public API.

    python bench/peers.py BENCHMARK PATH [--modes search,vsearch,query,query-no-rerank] [--every N]
                          [--sample N] [--work DIR] [--json OUT]

`BENCHMARK` is locomo, vault, gno, longmemeval or scifact, and PATH is the data, which you fetch yourself: a
checkout of the repository, or the file or folder of longmemeval and scifact. If it is missing, the error says
where to get it.

Files keep their names and are indexed with default settings. R@k is the mean share of the gold files among
the first k hits, all@k the share of questions with all gold files there, Hit@k that with any. A question
without gold files counts as not answered, and so does one that fails. The reranker's answers are kept in the
index, because no times are measured.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from msgspec import Struct, to_builtins

from common import say, table, write_json  # isort: skip  (puts src/ on the path)
import qmd
from peer_sets import PEER_SETS, Corpus, PeerSet, Question
from qmd.ranking import metrics
from quality import ask, indexed

MODES = ("search", "vsearch", "query", "query-no-rerank")
#: All measures are of the first ten hits.
LIMIT = 10


class Answered(Struct, frozen=True):
    """A question in one mode: the paths of the hits, best first, or the reason why it failed."""

    mode: str
    question: Question
    paths: list[str]
    failure: str = ""


class Result(Struct, frozen=True):
    """The means of one mode over one subset of the questions."""

    benchmark: str
    subset: str
    mode: str
    files: int
    questions: int
    measures: dict[str, float]
    failures: int


def main() -> None:
    options = _options()
    peer_set = PEER_SETS[options.benchmark]
    data = options.path / peer_set.data
    if not data.exists():
        raise SystemExit(f"peers.py: there is no {data}. Get it here: {peer_set.source}")
    try:
        corpora = [*peer_set.read(data)]
    except (OSError, ValueError, LookupError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SystemExit(
            f"peers.py: {data} is not the data of {options.benchmark} ({reason}). "
            f"Get it here: {peer_set.source}"
        ) from error
    if not any(corpus.questions for corpus in corpora):
        raise SystemExit(
            f"peers.py: {data} has no questions of {options.benchmark}. Get it here: {peer_set.source}"
        )
    files, answered = run(corpora, options)
    results = [*summed(options.benchmark, peer_set, files, answered)]
    rows = [
        [each.subset, each.mode, each.questions, *each.measures.values(), each.failures] for each in results
    ]
    print(table(["questions", "mode", "number", *peer_set.measures, "failed"], rows))
    setting = {"every": options.every, "sample": options.sample, "limit": LIMIT}
    write_json(options.json, {"setting": setting, "results": [to_builtins(result) for result in results]})


def run(corpora: Sequence[Corpus], options: argparse.Namespace) -> tuple[int, list[Answered]]:
    """Ask all questions; return the number of files and the answers."""
    files = 0
    answered: list[Answered] = []
    numbers = count()
    for corpus in corpora:
        asked = [
            (number, each)
            for each, number in zip(corpus.questions, numbers, strict=False)
            if not number % options.sample
        ]
        if not asked:
            continue
        files += len(corpus.files)
        with opened(corpus, options.work / options.benchmark, options.modes) as index:
            for mode in options.modes:
                every = options.every * options.sample if mode == "query" else 1
                answered += (_ask(index, mode, each) for number, each in asked if not number % every)
        say(f"{options.benchmark} {corpus.name}: {len(answered)} answers so far")
    return files, answered


def opened(corpus: Corpus, work: Path, modes: Sequence[str]) -> qmd.Index:
    def write(folder: Path) -> None:
        for path, text in corpus.files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", errors="replace", newline="\n")

    digest = corpus.digest or hashlib.sha256(json.dumps(corpus.files, sort_keys=True).encode()).hexdigest()
    return indexed(work / corpus.name, digest, write, vectors=[*modes] != ["search"])


def _ask(index: qmd.Index, mode: str, question: Question) -> Answered:
    try:
        response = ask(index, mode, question.text, LIMIT, rerank=mode == "query")
    except qmd.QmdError as error:
        say(f"{mode} {question.text!r} failed: {error}")
        return Answered(mode, question, [], str(error))
    return Answered(mode, question, [hit.path for hit in response.hits])


def summed(benchmark: str, peer_set: PeerSet, files: int, answered: Sequence[Answered]) -> Iterator[Result]:
    """Return the means of each subset in each mode."""
    for subset, categories in peer_set.subsets.items():
        for mode in dict.fromkeys(each.mode for each in answered):
            its = [
                each
                for each in answered
                if each.mode == mode and (not categories or each.question.category in categories)
            ]
            measures = {
                name: round(metrics.mean([_measure(name, each) for each in its]), 4)
                for name in peer_set.measures
            }
            failures = sum(bool(each.failure) for each in its)
            yield Result(benchmark, subset, mode, files, len(its), measures, failures)


def _measure(name: str, answered: Answered) -> float:
    """Return a measure of one question by its name, such as `R@5`."""
    question, paths = answered.question, answered.paths
    gold = dict.fromkeys(question.gold, 1)
    kind, _, k = name.partition("@")
    first = int(k or LIMIT)
    match kind:
        case "nDCG":
            grades = {**dict.fromkeys(question.partly, 1), **dict.fromkeys(question.gold, 2)}
            return metrics.ndcg(paths, grades, first)
        case "MRR":
            return metrics.reciprocal_rank(paths, gold, first)
        case "R":
            return metrics.recall(paths, gold, first)
        case "all":
            return float(metrics.recall(paths, gold, first) == 1.0)
        case _:  # Hit
            return float(metrics.recall(paths, gold, first) > 0.0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmarks that peers publish figures of.")
    parser.add_argument("benchmark", choices=PEER_SETS, metavar="BENCHMARK", help=", ".join(PEER_SETS))
    parser.add_argument("path", type=Path, metavar="PATH", help="the data: a checkout, a file or a folder")
    parser.add_argument("--modes", default=",".join(MODES), type=lambda value: value.split(","))
    parser.add_argument("--every", type=int, default=1, help="use each Nth question in the mode `query` (1)")
    parser.add_argument("--sample", type=int, default=1, help="use each Nth question in all modes (1)")
    parser.add_argument("--work", type=Path, default=Path("bench-work"), help="folder of the indexes")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args()
    if unknown := [mode for mode in options.modes if mode not in MODES]:
        parser.error(f"unknown mode {unknown[0]}; one of {', '.join(MODES)}")
    if min(options.every, options.sample) < 1:
        parser.error("--every and --sample take numbers from 1")
    return options


if __name__ == "__main__":
    main()

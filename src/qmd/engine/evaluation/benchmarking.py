"""Benchmarks: a fixture's questions, asked of an index, or of one that is made from the fixture's corpus."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from qmd.engine.evaluation.corpora import indexed
from qmd.engine.evaluation.fixtures import Fixture, read_benchmark, read_judgements
from qmd.engine.evaluation.modes import (
    Evaluation,
    Evaluator,
    Mode,
    OnProgress,
    absent,
    by_path,
    chosen_ways,
    endings,
    normalised,
)
from qmd.engine.requests import SearchRequest, collections_of
from qmd.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from qmd.engine.index import Index

#: How many documents of a kind are named in a note.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What to measure.

    `fixture` is a file in tobi/qmd's format, or a folder in BEIR layout whose index is kept in `work`. Lists
    are judged down to rank `k`. `questions` is how many are asked, the first ones; None: all. `setting` holds
    what all searches share: collections, ranking, candidates, intent.
    """

    fixture: str
    ways: tuple[str, ...] = ()
    k: int = 10
    questions: int | None = None
    setting: SearchRequest = field(default_factory=SearchRequest)
    work: str | None = None


def evaluate(
    index: Index, environ: Mapping[str, str], benchmark: Benchmark, on_progress: OnProgress | None
) -> Evaluation:
    """Measure; see `Index.evaluate` for what is raised."""
    heard = on_progress or _unheard
    ways = chosen_ways(benchmark.ways)
    if not 1 <= benchmark.k <= 1000 or (benchmark.questions is not None and benchmark.questions < 1):
        raise UsageError("k must be from 1 to 1000, and the number of questions at least 1")
    if os.path.isdir(benchmark.fixture):
        return _of_folder(index, environ, benchmark, ways, heard)
    return _of_file(index, benchmark, ways, heard)


def _unheard(what: str, done: int, total: int) -> None:
    """Progress that nobody wants to hear of."""


def _of_file(index: Index, benchmark: Benchmark, ways: Sequence[Mode], on_progress: OnProgress) -> Evaluation:
    if benchmark.work is not None:
        raise UsageError(
            "this fixture is asked of your own index: only a BEIR folder's own index can be kept"
        )
    fixture = _shortened(read_benchmark(benchmark.fixture), benchmark.questions)
    named = benchmark.setting.collections or tuple(filter(None, [fixture.collection]))
    scope = collections_of(index.config, named)
    files = [document.file for document in index.documents() if document.collection in scope]
    if not files:
        which = f"collection '{named[0]}' has" if len(named) == 1 else "there are"
        raise NotFoundError(
            f"{which} no documents to search", "index some: qmd collection add, or qmd update"
        )
    known = {ending for file in files for ending in endings(file)}
    missing = absent(fixture, lambda path: normalised(path) in known)
    setting = replace(benchmark.setting, collections=named)
    evaluator = Evaluator(index.run, fixture, by_path, setting, benchmark.k)
    results = tuple(evaluator.measure(way, on_progress) for way in ways)
    return Evaluation(fixture, len(files), benchmark.k, results, _missing(missing))


def _of_folder(
    index: Index,
    environ: Mapping[str, str],
    benchmark: Benchmark,
    ways: Sequence[Mode],
    on_progress: OnProgress,
) -> Evaluation:
    if benchmark.setting.collections:
        raise UsageError("a folder in BEIR layout is a collection of its own: leave -c out")
    fixture = _shortened(read_judgements(benchmark.fixture), benchmark.questions)
    vectors = any(way.kind != "search" for way in ways)
    with indexed(
        benchmark.fixture,
        benchmark.work,
        index.settings,
        environ,
        vectors=vectors,
        on_progress=on_progress,
    ) as corpus:
        evaluator = Evaluator(
            corpus.index.run,
            fixture,
            lambda question, hits: [corpus.id(hit) for hit in hits],
            benchmark.setting,
            benchmark.k,
        )
        results = tuple(evaluator.measure(way, on_progress) for way in ways)
        documents = len(corpus.index.documents())
    notes = _missing(absent(fixture, set(corpus.ids).__contains__))
    if corpus.problems:
        path, reason = corpus.problems[0]
        notes = (
            *notes,
            f"{len(corpus.problems)} document(s) could not be indexed, the first: {reason} ({path})",
        )
    return Evaluation(fixture, documents, benchmark.k, results, notes)


def _shortened(fixture: Fixture, questions: int | None) -> Fixture:
    return replace(fixture, questions=fixture.questions[:questions])


def _missing(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    named = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return (f"{len(names)} expected document(s) are not in the index, so nothing finds them: {named}",)

"""Running a benchmark on the user's index, or on an index of the benchmark's own corpus."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from qmd.config.settings import Settings
from qmd.engine.access.rules import Rule
from qmd.engine.marks import MarksOf
from qmd.engine.opening import find_locations
from qmd.engine.parts import Part
from qmd.engine.requests import SearchRequest, collections_of
from qmd.engine.workspace import open_workspace
from qmd.errors import NotFoundError, UsageError
from qmd.features.evaluation.corpora import EvaluatedIndex, OpenIndex, indexed
from qmd.features.evaluation.fixtures import (
    Fixture,
    LabelledQuestion,
    of_marks,
    read_benchmark,
    read_judgements,
)
from qmd.features.evaluation.modes import (
    Evaluation,
    Evaluator,
    Mode,
    OnProgress,
    by_path,
    endings,
    normalised,
    select_modes,
)
from qmd.text.wording import plural
from qmd.types import Hit

#: How many missing documents a note names.
_NAMED = 3


class Benchmark(Struct, frozen=True):
    """A benchmark to run.

    Attributes:
        fixture: A file in tobi/qmd's format, or a folder in BEIR layout; None for the pins and marks.
        modes: The names of the modes to measure; all if empty.
        k: The rank down to which results are judged.
        questions: Use only this many questions, from the first; None for all.
        setting: The options that all searches share: collections, ranking, candidates, intent.
        work: The folder to keep the index of a BEIR corpus in; None for a temporary one.
    """

    fixture: str | None
    modes: tuple[str, ...] = ()
    k: int = 10
    questions: int | None = None
    setting: SearchRequest = field(default_factory=SearchRequest)
    work: str | None = None


class EvaluationMethods(Part):
    """The method of `Index` that measures its searches."""

    _rules: Mapping[str, Rule] = {"evaluate": Rule(action="read benchmarks from disk")}

    def evaluate(self, benchmark: Benchmark, on_progress: OnProgress | None = None) -> Evaluation:
        """Measure how well searches find the documents that a benchmark expects.

        A fixture file, or the pins and marks if it names none, is put to this index. A folder in BEIR layout
        gets an index of its own, with the same models. Raises `SourceError` if the fixture cannot be read,
        `UsageError` for values out of range, and `NotFoundError` without documents or marks.
        """
        index = cast("EvaluatedIndex", self)
        report: OnProgress = on_progress or (lambda *_: None)
        modes = select_modes(benchmark.modes)
        if not 1 <= benchmark.k <= 1000 or (benchmark.questions is not None and benchmark.questions < 1):
            raise UsageError("k must be from 1 to 1000, and the number of questions at least 1")
        if benchmark.fixture is None:
            # Searches that obey the marks would always agree with them.
            setting = replace(benchmark.setting, marks=False)
            fixture = of_marks(MarksOf(self._workspace).entries())
            return _evaluate_own(index, fixture, replace(benchmark, setting=setting), modes, report)
        if os.path.isdir(benchmark.fixture):
            return _evaluate_folder(self._open_corpus, benchmark.fixture, benchmark, modes, report)
        return _evaluate_own(index, read_benchmark(benchmark.fixture), benchmark, modes, report)

    def _open_corpus(self, path: str) -> EvaluatedIndex:
        """Open an index of a corpus, with the models of this one."""
        environ = {**self._workspace.environ, **_variables(self._workspace.settings)}
        workspace = open_workspace(find_locations(environ, None, path=path), environ, None)
        return cast("EvaluatedIndex", type(self)(workspace))


def _evaluate_own(
    index: EvaluatedIndex,
    fixture: Fixture,
    benchmark: Benchmark,
    modes: Sequence[Mode],
    on_progress: OnProgress,
) -> Evaluation:
    """Measure a fixture on the user's index."""
    if benchmark.work is not None:
        raise UsageError(
            "this fixture is measured on your own index: leave --work out, which is for BEIR folders"
        )
    fixture = _truncated(fixture, benchmark.questions)
    names = benchmark.setting.collections or tuple(filter(None, [fixture.collection]))
    scope = collections_of(index.config, names)
    files = [document.file for document in index.documents() if document.collection in scope]
    if not files:
        subject = f"collection '{names[0]}' has" if len(names) == 1 else "there are"
        raise NotFoundError(f"{subject} no documents to search", "index some: 'qmd add', or 'qmd update'")
    indexed_paths = {ending for file in files for ending in endings(file)}
    setting = replace(benchmark.setting, collections=names)
    evaluator = Evaluator(index.run, fixture, by_path, setting, benchmark.k)
    results = tuple(evaluator.measure(mode, on_progress) for mode in modes)
    notes = _missing_notes(fixture, lambda path: normalised(path) in indexed_paths)
    return Evaluation(fixture, len(files), benchmark.k, results, tuple(notes))


def _evaluate_folder(
    open_corpus: OpenIndex, folder: str, benchmark: Benchmark, modes: Sequence[Mode], on_progress: OnProgress
) -> Evaluation:
    if benchmark.setting.collections:
        raise UsageError("a folder in BEIR layout is searched as one collection: leave -c out")
    k = benchmark.k
    fixture = _truncated(read_judgements(folder), benchmark.questions)
    vectors = any(mode.kind != "search" for mode in modes)
    with indexed(folder, benchmark.work, open_corpus, vectors, on_progress) as corpus:

        def names(question: LabelledQuestion, hits: Sequence[Hit]) -> list[str]:
            return [corpus.id(hit) for hit in hits]

        evaluator = Evaluator(corpus.index.run, fixture, names, benchmark.setting, k)
        results = tuple(evaluator.measure(mode, on_progress) for mode in modes)
        documents = len(corpus.index.documents())
    notes = _missing_notes(fixture, set(corpus.ids).__contains__)
    for path, reason in corpus.problems[:1]:
        count = len(corpus.problems)
        notes.append(f"{plural(count, 'document')} could not be indexed, the first: {reason} ({path})")
    return Evaluation(fixture, documents, k, results, tuple(notes))


def _variables(settings: Settings) -> dict[str, str]:
    """Return the settings of models and ranking as variables, which override the folder's configuration."""
    values = {
        "QMD_EMBED_MODEL": settings.embed_model,
        "QMD_RERANK_MODEL": settings.rerank_model,
        "QMD_GENERATE_MODEL": settings.generate_model,
        "QMD_RANKING": settings.ranking,
    }
    return {name: value for name, value in values.items() if value is not None}


def _truncated(fixture: Fixture, questions: int | None) -> Fixture:
    return replace(fixture, questions=fixture.questions[:questions])


def _missing_notes(fixture: Fixture, is_indexed: Callable[[str], bool]) -> list[str]:
    """Return a note that names relevant documents that are not in the index, if there are any."""
    judgements = (item for question in fixture.questions for item in question.grades.items())
    relevant = dict.fromkeys(name for name, grade in judgements if grade > 0)
    missing = [name for name in relevant if not is_indexed(name)]
    if not missing:
        return []
    examples = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
    return [
        f"not in the index, so nothing finds them: {plural(len(missing), 'expected document')} ({examples})"
    ]

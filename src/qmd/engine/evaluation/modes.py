"""Retrieval modes, and measuring how well each answers the questions of a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from qmd.config.validate import nfc
from qmd.engine.evaluation.fixtures import Fixture, Question
from qmd.engine.requests import SearchRequest
from qmd.engine.retrieval.deadline import Stopwatch
from qmd.errors import QmdError, QueryError, UsageError
from qmd.ranking import metrics
from qmd.text.query import parse_document
from qmd.text.uris import is_uri, parse_uri
from qmd.types import Hit, SearchResponse, Stage

#: Ranks at which precision and recall are measured in addition to the caller's `k`.
CUTOFFS = (1, 3, 5, 10)

Run = Callable[[str, SearchRequest], SearchResponse]
#: Called with (description, steps done, steps in total).
OnProgress = Callable[[str, int, int], None]
#: Maps hits to the names that a question's judgements use, in order.
Names = Callable[[Question, Sequence[Hit]], list[str]]


@dataclass(frozen=True, slots=True)
class Mode:
    """One retrieval mode. `types` are the types of typed searches that it supports."""

    name: str
    kind: Literal["search", "vsearch", "query"]
    types: frozenset[str]
    rerank: bool = True


MODES = {
    mode.name: mode
    for mode in (
        Mode("bm25", "search", frozenset({"lex"})),
        Mode("vector", "vsearch", frozenset({"vec", "hyde"})),
        Mode("hybrid", "query", frozenset({"lex", "vec", "hyde"}), rerank=False),
        Mode("full", "query", frozenset({"lex", "vec", "hyde"})),
    )
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one mode to one question: names, best first; `error` if the search failed."""

    question: Question
    ranked: tuple[str, ...]
    measures: Mapping[str, float]
    milliseconds: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The results of one mode.

    Attributes:
        skipped: The reason why the mode could not be used; then the other fields are empty.
        measures: Means over the questions.
        p50: Median time of a question in milliseconds.
        p95: 95th percentile of the time in milliseconds.
        notes: Messages about the measurement.
    """

    mode: str
    skipped: str | None = None
    answers: tuple[Answer, ...] = ()
    measures: Mapping[str, float] | None = None
    p50: float | None = None
    p95: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A benchmark and its results, one per mode. `notes` apply to all results."""

    fixture: Fixture
    documents: int
    k: int
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()


class Evaluator:
    """Runs the questions of a fixture on one index; `run` is the index's search.

    `setting` is the request that all searches share; its query, limit, `min_score` and timeout are ignored.
    """

    def __init__(self, run: Run, fixture: Fixture, names: Names, setting: SearchRequest, k: int) -> None:
        self._run = run
        self._fixture = fixture
        self._names = names
        self._k = k
        depth = max(k, *CUTOFFS, *(question.within or 1 for question in fixture.questions))
        self._setting = replace(setting, limit=depth, min_score=0.0, timeout=None)

    def measure(self, mode: Mode, on_progress: OnProgress) -> Result:
        """Run all questions in one mode."""
        questions = self._fixture.questions
        answers: list[Answer] = []
        stages: list[Stage] = []
        for number, question in enumerate(questions):
            on_progress(mode.name, number, len(questions))
            watch = Stopwatch()
            try:
                responses = [self._run(mode.kind, request) for request in self._requests(mode, question)]
            except (UsageError, QueryError) as error:
                answers.append(self._answer(question, (), watch.milliseconds(), error.in_one_line()))
                continue
            except QmdError as error:
                return Result(mode.name, skipped=error.in_one_line())
            milliseconds = watch.milliseconds()
            question_stages = [stage for response in responses for stage in response.stages]
            for reason in _failures(question_stages):
                return Result(mode.name, skipped=reason)
            stages += question_stages
            hits = {hit.file: hit for response in responses for hit in response.hits}
            ranked = self._names(question, list(hits.values()))
            answers.append(self._answer(question, ranked, milliseconds))
        # The first question also loads the models.
        times = [answer.milliseconds for answer in answers[1:] or answers]
        p50, p95 = metrics.percentile(times, 0.5), metrics.percentile(times, 0.95)
        notes = tuple(dict.fromkeys(_notes(mode, answers, stages)))
        return Result(mode.name, None, tuple(answers), means(answers), p50, p95, notes)

    def _requests(self, mode: Mode, question: Question) -> Iterator[SearchRequest]:
        """Yield the requests for a question; of typed searches, only the types that the mode supports."""
        common = replace(self._setting, rerank=mode.rerank)
        searches = parse_document(question.text).searches
        if not searches or mode.kind == "query":
            yield replace(common, query=question.text)
            return
        for search in searches:
            if search.type in mode.types:
                yield replace(common, query=search.query)

    def _answer(
        self, question: Question, ranked: Sequence[str], milliseconds: float, error: str | None = None
    ) -> Answer:
        return Answer(question, tuple(ranked), judge(question, ranked, self._k), milliseconds, error)


def judge(question: Question, ranked: Sequence[str], k: int) -> dict[str, float]:
    """Compute all measures of one answer.

    The measure `expected` is only included if the fixture gives a rank by which it expects the documents.
    """
    grades = question.grades
    measures = {
        f"ndcg@{k}": metrics.ndcg(ranked, grades, k),
        f"recall@{k}": metrics.recall(ranked, grades, k),
        f"mrr@{k}": metrics.reciprocal_rank(ranked, grades, k),
    }
    for rank in CUTOFFS:
        measures[f"precision@{rank}"] = metrics.precision(ranked, grades, rank)
        measures[f"recall@{rank}"] = metrics.recall(ranked, grades, rank)
    if question.within is not None:
        measures["expected"] = metrics.capped_recall(ranked, grades, question.within)
    return measures


def means(answers: Iterable[Answer]) -> dict[str, float]:
    """Return the mean of each measure over the answers that have it."""
    by_name: dict[str, list[float]] = {}
    for answer in answers:
        for name, value in answer.measures.items():
            by_name.setdefault(name, []).append(value)
    return {name: metrics.mean(values) for name, values in by_name.items()}


def by_path(question: Question, hits: Sequence[Hit]) -> list[str]:
    """Map hits to the paths in a question's judgements.

    Each expected path is used once, for its first hit. If several match a hit, the longest wins.
    """
    unmatched = sorted(question.grades, key=len, reverse=True)
    names = []
    for hit in hits:
        suffixes = endings(hit.file)
        expected = next((path for path in unmatched if normalised(path) in suffixes), None)
        if expected is not None:
            unmatched.remove(expected)
        names.append(hit.file if expected is None else expected)
    return names


def normalised(path: str) -> str:
    """Normalise a fixture's path or `qmd://` URI for comparison with `endings`."""
    plain = parse_uri(path) if is_uri(path) else path.removeprefix("./").strip("/")
    return nfc(plain).casefold()


def endings(file: str) -> set[str]:
    """Return all the case-folded paths that a fixture may use for a display path: itself and its suffixes."""
    parts = file.casefold().split("/")
    return {"/".join(parts[start:]) for start in range(len(parts))}


def missing_documents(fixture: Fixture, is_indexed: Callable[[str], bool]) -> list[str]:
    """Return the relevant documents that are not in the index, without duplicates."""
    judgements = (item for question in fixture.questions for item in question.grades.items())
    relevant = dict.fromkeys(name for name, grade in judgements if grade > 0)
    return [name for name in relevant if not is_indexed(name)]


def select_modes(names: Collection[str]) -> list[Mode]:
    """Return the modes with these names, or all modes if `names` is empty.

    Raises `UsageError` for an unknown name.
    """
    for name in names:
        if name not in MODES:
            raise UsageError(f"unknown way to search: {name}", f"choose from {', '.join(MODES)}")
    return [mode for mode in MODES.values() if not names or mode.name in names]


def _failures(stages: Iterable[Stage]) -> Iterator[str]:
    """Yield the reasons for stages of the mode that did not run."""
    for stage in stages:
        if stage.stage in ("vector", "rerank") and stage.status != "ran" and not stage.expected:
            yield f"{stage.stage} {stage.status.replace('_', ' ')}: {stage.reason or 'no reason given'}"


def _notes(mode: Mode, answers: Sequence[Answer], stages: Sequence[Stage]) -> Iterator[str]:
    for stage in stages:
        if stage.stage == "embedding" and stage.reason is not None:
            yield stage.reason
    cached = sum(stage.stage == "rerank" and stage.reason == "from the cache" for stage in stages)
    if cached:
        count = f"{cached} of {len(answers)}"
        yield f"{mode.name}: {count} were reranked from the cache, so their times are too short"
    failed = [answer for answer in answers if answer.error is not None]
    if failed:
        first = f"'{failed[0].question.id}': {failed[0].error}"
        yield f"{mode.name}: {len(failed)} of {len(answers)} questions failed, the first {first}"

"""Retrieval modes, and measuring how well each answers the questions of a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from qmd.config.validate import nfc
from qmd.engine.deadline import Stopwatch
from qmd.engine.requests import SearchRequest
from qmd.errors import QmdError, QueryError, UsageError
from qmd.features.evaluation.fixtures import Fixture, LabelledQuestion
from qmd.ranking import metrics
from qmd.search_options import SearchKind
from qmd.text.query import parse_document
from qmd.text.uris import is_uri, parse_uri
from qmd.types import Hit, SearchResponse, Stage

#: Ranks at which precision and recall are measured in addition to the caller's `k`.
CUTOFFS = (1, 3, 5, 10)

Run = Callable[[str, SearchRequest], SearchResponse]
#: Called with (description, steps done, steps in total).
OnProgress = Callable[[str, int, int], None]
#: Maps hits to the names that a question's judgements use, in order.
Names = Callable[[LabelledQuestion, Sequence[Hit]], list[str]]


class Mode(Struct, frozen=True):
    """One retrieval mode. `types` are the types of typed searches that it supports."""

    name: str
    kind: SearchKind
    types: tuple[str, ...]
    rerank: bool = True


MODES = (
    Mode("bm25", "search", ("lex",)),
    Mode("vector", "vsearch", ("vec", "hyde")),
    Mode("hybrid", "query", ("lex", "vec", "hyde"), rerank=False),
    Mode("full", "query", ("lex", "vec", "hyde")),
)


class JudgedAnswer(Struct, frozen=True):
    """The answer of one mode to one question: names, best first; `error` if the search failed."""

    question: LabelledQuestion
    ranked: tuple[str, ...]
    measures: Mapping[str, float]
    milliseconds: float
    error: str | None = None


class ModeResult(Struct, frozen=True):
    """The results of one mode: means over the questions, and percentiles of their times in milliseconds.

    `skipped` is the reason why the mode could not be used; then the other fields are empty.
    """

    mode: str
    skipped: str | None = None
    answers: tuple[JudgedAnswer, ...] = ()
    measures: Mapping[str, float] | None = None
    p50: float | None = None
    p95: float | None = None
    notes: tuple[str, ...] = ()


class Evaluation(Struct, frozen=True):
    """A benchmark and its results, one per mode. `notes` apply to all results."""

    fixture: Fixture
    documents: int
    k: int
    results: tuple[ModeResult, ...]
    notes: tuple[str, ...] = ()


class Loss(Struct, frozen=True):
    """A good document that is not among the best results, or a bad one that is.

    `rank` is that of the document in the results, None if it is not in them.
    """

    mode: str
    query: str
    file: str
    good: bool
    rank: int | None


def losses(evaluation: Evaluation) -> list[Loss]:
    """Return the judgements that the results of an evaluation contradict. A grade of 0 means bad."""
    return [
        Loss(result.mode, answer.question.text, name, grade > 0, rank)
        for result in evaluation.results
        for answer in result.answers
        for name, grade in answer.question.grades.items()
        for rank in [answer.ranked.index(name) + 1 if name in answer.ranked else None]
        if (grade > 0) != (rank is not None and rank <= evaluation.k)
    ]


class Evaluator(Struct, frozen=True):
    """Runs the questions of a fixture on one index; `run` is the index's search.

    `setting` is the request that all searches share; its query, limit, `min_score` and timeout are ignored.
    """

    run: Run
    fixture: Fixture
    names: Names
    setting: SearchRequest
    k: int

    def measure(self, mode: Mode, on_progress: OnProgress) -> ModeResult:
        """Run all questions in one mode."""
        questions = self.fixture.questions
        answers: list[JudgedAnswer] = []
        stages: list[Stage] = []
        for number, question in enumerate(questions):
            on_progress(mode.name, number, len(questions))
            watch = Stopwatch()
            responses: list[SearchResponse] = []
            failure: str | None = None
            try:
                responses = [self.run(mode.kind, request) for request in self._requests(mode, question)]
            except (UsageError, QueryError) as error:
                failure = error.in_one_line()
            except QmdError as error:
                return ModeResult(mode.name, skipped=error.in_one_line())
            milliseconds = watch.milliseconds()
            question_stages = [stage for response in responses for stage in response.stages]
            for reason in _failures(question_stages):
                return ModeResult(mode.name, skipped=reason)
            stages += question_stages
            hits = {hit.file: hit for response in responses for hit in response.hits}
            ranked = tuple(self.names(question, list(hits.values())))
            answers.append(
                JudgedAnswer(question, ranked, judge(question, ranked, self.k), milliseconds, failure)
            )
        # The first question also loads the models.
        times = [answer.milliseconds for answer in answers[1:] or answers]
        p50, p95 = metrics.percentile(times, 0.5), metrics.percentile(times, 0.95)
        notes = tuple(dict.fromkeys(_notes(mode, answers, stages)))
        return ModeResult(mode.name, None, tuple(answers), means(answers), p50, p95, notes)

    def _requests(self, mode: Mode, question: LabelledQuestion) -> Iterator[SearchRequest]:
        """Yield the requests for a question; of typed searches, only the types that the mode supports."""
        depth = max(self.k, *CUTOFFS, *(question.within or 1 for question in self.fixture.questions))
        common = replace(self.setting, limit=depth, min_score=0.0, timeout=None, rerank=mode.rerank)
        common = replace(common, fold=False)  # judgements name each copy
        searches = parse_document(question.text).searches
        if not searches or mode.kind == "query":
            yield replace(common, query=question.text)
            return
        for search in searches:
            if search.type in mode.types:
                yield replace(common, query=search.query)


def judge(question: LabelledQuestion, ranked: Sequence[str], k: int) -> dict[str, float]:
    """Compute all measures of one answer; `expected` only if the fixture expects documents by a rank."""
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


def means(answers: Iterable[JudgedAnswer]) -> dict[str, float]:
    """Return the mean of each measure over the answers that have it."""
    by_name: dict[str, list[float]] = {}
    for answer in answers:
        for name, value in answer.measures.items():
            by_name.setdefault(name, []).append(value)
    return {name: metrics.mean(values) for name, values in by_name.items()}


def by_path(question: LabelledQuestion, hits: Sequence[Hit]) -> list[str]:
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


def select_modes(names: Collection[str]) -> list[Mode]:
    """Return the modes with these names, all if there are none. Raises `UsageError` for an unknown name."""
    known = [mode.name for mode in MODES]
    for name in names:
        if name not in known:
            raise UsageError(f"unknown way to search: {name}", f"choose from {', '.join(known)}")
    return [mode for mode in MODES if not names or mode.name in names]


def _failures(stages: Iterable[Stage]) -> Iterator[str]:
    """Yield the reasons for stages of the mode that did not run."""
    for stage in stages:
        if stage.stage in ("vector", "rerank") and stage.status != "ran" and not stage.expected:
            yield f"{stage.stage} {stage.status.replace('_', ' ')}: {stage.reason or 'no reason given'}"


def _notes(mode: Mode, answers: Sequence[JudgedAnswer], stages: Sequence[Stage]) -> Iterator[str]:
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

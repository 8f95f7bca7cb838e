"""How well the ways to search answer questions whose answers are known: what `qmd bench` measures."""

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

#: Ranks by which precision and recall are measured, besides the caller's own.
CUTOFFS = (1, 3, 5, 10)

Run = Callable[[str, SearchRequest], SearchResponse]
#: Called with (what is being done, how much is done, of how much).
OnProgress = Callable[[str, int, int], None]
#: The names by which a question's judgements know some hits, in order.
Names = Callable[[Question, Sequence[Hit]], list[str]]


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to search. `takes` are the types of typed searches that it can be asked."""

    name: str
    kind: Literal["search", "vsearch", "query"]
    takes: frozenset[str]
    rerank: bool = True


WAYS = {
    way.name: way
    for way in (
        Mode("bm25", "search", frozenset({"lex"})),
        Mode("vector", "vsearch", frozenset({"vec", "hyde"})),
        Mode("hybrid", "query", frozenset({"lex", "vec", "hyde"}), rerank=False),
        Mode("full", "query", frozenset({"lex", "vec", "hyde"})),
    )
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one way found for one question: names, best first; why it could not be asked, if so."""

    question: Question
    ranked: tuple[str, ...]
    measures: Mapping[str, float]
    milliseconds: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One way. `skipped` is why it could not be used; then there is nothing else.

    `measures` are means over the questions; `p50` and `p95` are milliseconds. `notes` are what the reader of
    the numbers should know.
    """

    way: str
    skipped: str | None = None
    answers: tuple[Answer, ...] = ()
    measures: Mapping[str, float] | None = None
    p50: float | None = None
    p95: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A benchmark and its results, one a way. `notes` are about all of them."""

    fixture: Fixture
    documents: int
    k: int
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()


class Evaluator:
    """Asks one index the questions of a fixture; `run` is the index's search.

    `setting` holds what all searches share; its query, limit, `min_score` and timeout are not looked at.
    """

    def __init__(self, run: Run, fixture: Fixture, names: Names, setting: SearchRequest, k: int) -> None:
        self._run = run
        self._fixture = fixture
        self._names = names
        self._k = k
        depth = max(k, *CUTOFFS, *(question.within or 1 for question in fixture.questions))
        self._setting = replace(setting, limit=depth, min_score=0.0, timeout=None)

    def measure(self, way: Mode, on_progress: OnProgress) -> Result:
        """Ask everything in one way."""
        questions = self._fixture.questions
        answers: list[Answer] = []
        stages: list[Stage] = []
        for number, question in enumerate(questions):
            on_progress(way.name, number, len(questions))
            watch = Stopwatch()
            try:
                responses = [self._run(way.kind, request) for request in self._requests(way, question)]
            except (UsageError, QueryError) as error:
                answers.append(self._judged(question, (), watch.milliseconds(), error.in_one_line()))
                continue
            except QmdError as error:
                return Result(way.name, skipped=error.in_one_line())
            milliseconds = watch.milliseconds()
            found = [stage for response in responses for stage in response.stages]
            for reason in _obstacles(found):
                return Result(way.name, skipped=reason)
            stages += found
            hits = {hit.file: hit for response in responses for hit in response.hits}
            ranked = self._names(question, list(hits.values()))
            answers.append(self._judged(question, ranked, milliseconds))
        # The first question also waits for the models to be loaded.
        times = [answer.milliseconds for answer in answers[1:] or answers]
        p50, p95 = metrics.percentile(times, 0.5), metrics.percentile(times, 0.95)
        notes = tuple(dict.fromkeys(_notes(way, answers, stages)))
        return Result(way.name, None, tuple(answers), means(answers), p50, p95, notes)

    def _requests(self, way: Mode, question: Question) -> Iterator[SearchRequest]:
        """What to ask: the question; of typed searches, those that the way takes, which may be none."""
        common = replace(self._setting, rerank=way.rerank)
        searches = parse_document(question.text).searches
        if not searches or way.kind == "query":
            yield replace(common, query=question.text)
            return
        for search in searches:
            if search.type in way.takes:
                yield replace(common, query=search.query)

    def _judged(
        self, question: Question, ranked: Sequence[str], milliseconds: float, error: str | None = None
    ) -> Answer:
        return Answer(question, tuple(ranked), judge(question, ranked, self._k), milliseconds, error)


def judge(question: Question, ranked: Sequence[str], k: int) -> dict[str, float]:
    """Every measure of one answer; `expected` where the fixture says by which rank it expects documents."""
    grades = question.grades
    found = {
        f"ndcg@{k}": metrics.ndcg(ranked, grades, k),
        f"recall@{k}": metrics.recall(ranked, grades, k),
        f"mrr@{k}": metrics.reciprocal_rank(ranked, grades, k),
    }
    for rank in CUTOFFS:
        found[f"precision@{rank}"] = metrics.precision(ranked, grades, rank)
        found[f"recall@{rank}"] = metrics.recall(ranked, grades, rank)
    if question.within is not None:
        found["expected"] = metrics.capped_recall(ranked, grades, question.within)
    return found


def means(answers: Iterable[Answer]) -> dict[str, float]:
    """The mean of each measure over the answers that have it."""
    values: dict[str, list[float]] = {}
    for answer in answers:
        for name, value in answer.measures.items():
            values.setdefault(name, []).append(value)
    return {name: metrics.mean(each) for name, each in values.items()}


def by_path(question: Question, hits: Sequence[Hit]) -> list[str]:
    """Names of hits where judgements are paths: each expected path once, at its first hit, longest first."""
    waiting = sorted(question.grades, key=len, reverse=True)
    names = []
    for hit in hits:
        ends = endings(hit.file)
        expected = next((path for path in waiting if normalised(path) in ends), None)
        if expected is not None:
            waiting.remove(expected)
        names.append(hit.file if expected is None else expected)
    return names


def normalised(path: str) -> str:
    """A path of a fixture as `endings` gives them; a `qmd://` address is its display path."""
    plain = parse_uri(path) if is_uri(path) else path.removeprefix("./").strip("/")
    return nfc(plain).casefold()


def endings(file: str) -> set[str]:
    """A display path and all its ends at a `/`, without regard to case: what a fixture may call it."""
    parts = file.casefold().split("/")
    return {"/".join(parts[at:]) for at in range(len(parts))}


def absent(fixture: Fixture, is_there: Callable[[str], bool]) -> list[str]:
    """The relevant documents that no search can find, each once."""
    relevant = {name: None for each in fixture.questions for name, grade in each.grades.items() if grade > 0}
    return [name for name in relevant if not is_there(name)]


def chosen_ways(names: Collection[str]) -> list[Mode]:
    """The ways of these names, all where none is given. Raises `UsageError` for a name that is none."""
    for name in names:
        if name not in WAYS:
            raise UsageError(f"no such way to search: {name}", f"there are {', '.join(WAYS)}")
    return [way for way in WAYS.values() if not names or way.name in names]


def _obstacles(stages: Iterable[Stage]) -> Iterator[str]:
    """What kept a search from being what its way is: stages that could not run."""
    for stage in stages:
        if stage.stage in ("vector", "rerank") and stage.status != "ran" and not stage.expected:
            yield f"{stage.stage} {stage.status.replace('_', ' ')}: {stage.reason or 'no reason given'}"


def _notes(way: Mode, answers: Sequence[Answer], stages: Sequence[Stage]) -> Iterator[str]:
    for stage in stages:
        if stage.stage == "embedding" and stage.reason is not None:
            yield stage.reason
    cached = sum(stage.stage == "rerank" and stage.reason == "from the cache" for stage in stages)
    if cached:
        of = f"{cached} of {len(answers)}"
        yield f"{way.name}: {of} were reranked from the cache, so their times are too short"
    failed = [answer for answer in answers if answer.error is not None]
    if failed:
        first = f"'{failed[0].question.id}': {failed[0].error}"
        yield f"{way.name}: {len(failed)} of {len(answers)} could not be asked, the first {first}"

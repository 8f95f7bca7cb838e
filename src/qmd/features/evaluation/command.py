"""`bench`: measure search quality on questions with known answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from qmd.cli import options
from qmd.cli.command import command
from qmd.cli.progress import Bar
from qmd.cli.render.rows import Column
from qmd.cli.session import Session
from qmd.cli.show import show_json, show_listing
from qmd.cli.terminal import clean_name, one_line, say
from qmd.cli.usage import fail
from qmd.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.features.evaluation.modes import Evaluation, JudgedAnswer, Loss, ModeResult


@command()
@options.argument("fixture", "[FIXTURE]", "files")
@options.flag("--from-marks", help="Replay your pins and marks, and name what is lost; without FIXTURE.")
@options.option("--ways W,W", None, "Measure only: bm25, vector, hybrid, full.  [default: all]")
@options.option("-k K", options.whole(1, 1000), "Evaluate the best K results.  [default: 10]", default=10)
@options.option("--questions N", options.whole(1), "Run only the first N questions.")
@options.collection_option("Search only this collection (may be repeated).  [default: the fixture's]")
@options.filter_options
@options.search_options("candidate_limit", "ranking")
@options.option("--work DIR", None, "Keep the index of a BEIR folder in DIR, to reuse it.", complete="files")
@options.format_options("cli", "json", "csv", "md")
def bench(session: Session, /, fixture: str | None, **arguments: Any) -> None:
    """Measure search quality on questions with known answers.

    FIXTURE is a file in tobi/qmd's format, whose questions are run on your index, or a folder in BEIR layout
    (corpus.jsonl, queries.jsonl, qrels.tsv), which gets an index of its own. The ways to search are bm25
    (search), vector (vsearch), hybrid (query without reranking) and full (query). JSON has every answer.

    --from-marks asks the queries of 'qmd mark pin' and 'qmd mark', without letting them count, and lists the
    pinned and good documents that are not among the best K, and the bad ones that are. Run it before and
    after a change of a model or a setting.

    Examples:
      qmd bench questions.json
      qmd bench questions.json --ways bm25,full -c notes --json
      qmd bench questions.json --tag work
      qmd bench --from-marks --ways full -k 5
      qmd bench ~/beir/scifact --work ~/beir/scifact-index --questions 100
    """
    if (fixture is None) != arguments["from_marks"]:
        fail("give a FIXTURE, or --from-marks to replay your pins and marks")
    if fixture is None:
        session.uses |= {"marks"}
    evaluation = _evaluate(session, fixture, arguments)
    from qmd.features.evaluation.modes import losses

    session.note(*_notes(evaluation))
    match options.chosen_format():
        case "json":
            lost = {"losses": losses(evaluation)} if fixture is None else {}
            show_json(_as_json(evaluation) | lost)
        case "cli":
            _show_for_people(evaluation)
            if fixture is None:
                _show_losses(losses(evaluation))
        case _:
            _show_table(evaluation)


def _evaluate(session: Session, fixture: str | None, arguments: dict[str, Any]) -> Evaluation:
    from qmd.features.evaluation.benchmarking import Benchmark

    ways = tuple(name for part in (arguments["ways"] or "").split(",") if (name := part.strip()))
    request, work = options.search_request("", arguments), arguments["work"]
    benchmark = Benchmark(
        fixture and os.path.expanduser(fixture), ways, arguments["k"], arguments["questions"], request, work
    )
    kept = f"Interrupted. The unfinished index stays in {clean_name(work)}." if work is not None else None
    with Bar("Preparing", session, kept) as bar:
        return session.index.evaluate(benchmark, bar.step)


def _show_for_people(evaluation: Evaluation) -> None:
    """Show the table of results, then a table by type of question if the fixture has several."""
    questions = plural(len(evaluation.fixture.questions), "question")
    say(f"{clean_name(evaluation.fixture.name)}: {plural(evaluation.documents, 'document')}, {questions}", "")
    _show_table(evaluation)
    skipped = [result for result in evaluation.results if result.skipped is not None]
    say(*(f"{result.mode} was skipped: {one_line(result.skipped or '')}" for result in skipped))
    _show_by_type(evaluation)


def _show_losses(lost: Sequence[Loss]) -> None:
    """Show the pins and marks that the results contradict."""
    count = "1 document is" if len(lost) == 1 else f"{len(lost) or 'No'} documents are"
    say("", f"{count} not where your pins and marks want {'it' if len(lost) == 1 else 'them'}.")
    for loss in lost:
        state = "not found" if loss.rank is None else f"number {loss.rank}"
        say(f"  {loss.mode}: {clean_name(loss.file)}, {'good' if loss.good else 'bad'}, is {state}")
        say(f"    for '{one_line(loss.query)}'")


def _show_table(evaluation: Evaluation) -> None:
    k = evaluation.k
    titles = {f"ndcg@{k}": f"nDCG@{k}", f"recall@{k}": f"R@{k}", f"mrr@{k}": f"MRR@{k}"}
    titles |= {f"precision@{rank}": f"P@{rank}" for rank in (1, 3, 5, 10)}
    if any(question.within is not None for question in evaluation.fixture.questions):
        titles["expected"] = "Expected"
    measures = [
        Column(name, title, "{:.3f}".format, right=True, for_people=name != "precision@10")
        for name, title in titles.items()
    ]
    times = [Column(f"{name}_ms", f"{name} ms", "{:.1f}".format, right=True) for name in ("p50", "p95")]
    rows = [
        {
            "way": result.mode,
            **{name: (result.measures or {}).get(name) for name in titles},
            "p50_ms": result.p50,
            "p95_ms": result.p95,
            "skipped": result.skipped,
        }
        for result in evaluation.results
    ]
    skipped = Column("skipped", for_people=False)
    show_listing("bench", "way", ["way", *measures, *times, skipped], rows)


def _show_by_type(evaluation: Evaluation) -> None:
    """Show a table of nDCG by type of question, if there are several."""
    from qmd.features.evaluation.modes import means

    types = dict.fromkeys(question.type for question in evaluation.fixture.questions if question.type)
    ran = [result for result in evaluation.results if result.skipped is None]
    if len(types) < 2 or not ran:
        return
    rows = []
    for name in types:
        row: dict[str, Any] = {"type": name}
        for result in ran:
            answers = [answer for answer in result.answers if answer.question.type == name]
            row |= {"questions": len(answers), result.mode: means(answers)[f"ndcg@{evaluation.k}"]}
        rows.append(row)
    ways = [Column(result.mode, result.mode, "{:.3f}".format, right=True) for result in ran]
    say("", f"nDCG@{evaluation.k} by type:")
    show_listing("types", "type", ["type", "questions", *ways], rows, right=("questions",))


def _notes(evaluation: Evaluation) -> list[str]:
    """Return the notes about the results, without duplicates."""
    of_results = [note for result in evaluation.results for note in result.notes]
    return list(dict.fromkeys([*evaluation.notes, *of_results]))


def _as_json(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "fixture": evaluation.fixture.name,
        "description": evaluation.fixture.description,
        "documents": evaluation.documents,
        "questions": len(evaluation.fixture.questions),
        "k": evaluation.k,
        "notes": _notes(evaluation),
        "ways": [_way_as_json(result) for result in evaluation.results],
        "answers": [
            _answer_as_json(result.mode, answer, evaluation.k)
            for result in evaluation.results
            for answer in result.answers
        ],
    }


def _way_as_json(result: ModeResult) -> dict[str, Any]:
    values: dict[str, Any] = {"way": result.mode, "skipped": result.skipped}
    if result.measures is None:
        return values
    measures = {name: round(value, 6) for name, value in result.measures.items()}
    return values | {"measures": measures, "p50_ms": result.p50, "p95_ms": result.p95}


def _answer_as_json(way: str, answer: JudgedAnswer, k: int) -> dict[str, Any]:
    question = answer.question
    top = list(answer.ranked[:k])
    relevant = [name for name, grade in question.grades.items() if grade > 0]
    return {
        "way": way,
        "id": question.id,
        "query": question.text,
        "type": question.type,
        "milliseconds": answer.milliseconds,
        "measures": {name: round(value, 6) for name, value in answer.measures.items()},
        "found": [name for name in top if name in relevant],
        "missing": [name for name in relevant if name not in top],
        "top": top,
        "error": answer.error,
    }

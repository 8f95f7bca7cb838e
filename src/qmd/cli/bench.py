"""`bench`: how good the searches are, on questions whose answers are known."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from qmd.cli.command import Command
from qmd.cli.errors import Interrupted
from qmd.cli.options import OneOf, chosen_format, collection_option, format_options, whole
from qmd.cli.progress import Bar
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import counted
from qmd.cli.terminal import clean_name, one_line, say, write_plain

if TYPE_CHECKING:
    from qmd.cli.render.rows import Listing
    from qmd.engine.evaluation.benchmarking import Benchmark
    from qmd.engine.evaluation.modes import Answer, Evaluation, Result


@click.command(cls=Command)
@click.argument("fixture", type=click.Path())
@click.option(
    "--ways", metavar="W,W", default="", help="Only these: bm25, vector, hybrid, full.  [default: all]"
)
@click.option(
    "-k",
    type=whole(1, 1000),
    metavar="K",
    default="10",
    help="Judge lists down to rank K.  [default: 10]",
)
@click.option("--questions", type=whole(1), metavar="N", help="Ask only the first N questions.")
@collection_option("Ask only this collection (may be repeated).  [default: the fixture's]")
@click.option(
    "-C",
    "--candidate-limit",
    type=whole(1, 1000),
    metavar="N",
    default="30",
    help="Rerank the best N.  [default: 30]",
)
@click.option(
    "--ranking",
    type=OneOf(["contract", "tuned"]),
    metavar="R",
    help="How to rank: contract or tuned.  [default: as set]",
)
@click.option(
    "--work", type=click.Path(), metavar="DIR", help="Keep a BEIR folder's index for the next time."
)
@format_options("cli", "json", "csv", "md")
@pass_session
def bench(session: Session, /, fixture: str, **options: Any) -> None:
    """Measure how good the searches are, on questions whose answers are known.

    FIXTURE is a file in tobi/qmd's format, whose questions are asked of your index, or a folder in BEIR
    layout (corpus.jsonl, queries.jsonl, qrels.tsv), which is indexed apart. The ways are bm25 (search),
    vector (vsearch), hybrid (query without reranking) and full (query). JSON has every answer.

    \b
    Examples:
      qmd bench questions.json
      qmd bench questions.json --ways bm25,full -c notes --json
      qmd bench ~/beir/scifact --work ~/beir/scifact-index --questions 100
    """
    found = _measured(session, _benchmark(fixture, options))
    for note in _notes(found):
        session.note(note)
    match chosen_format():
        case "json":
            from qmd.cli.render.json import dumps

            write_plain(dumps(_as_json(found)))
        case "cli":
            _say(found)
        case _:
            from qmd.cli.show import show_listing

            show_listing(_table(found))


def _benchmark(fixture: str, options: dict[str, Any]) -> Benchmark:
    from qmd.engine.evaluation.benchmarking import Benchmark
    from qmd.engine.requests import SearchRequest

    setting = SearchRequest(
        collections=options["collections"],
        candidate_limit=options["candidate_limit"],
        ranking=options["ranking"],
    )
    ways = tuple(name for part in options["ways"].split(",") if (name := part.strip()))
    return Benchmark(
        os.path.expanduser(fixture), ways, options["k"], options["questions"], setting, options["work"]
    )


def _measured(session: Session, benchmark: Benchmark) -> Evaluation:
    with Bar("Preparing", quiet=session.quiet) as bar:

        def on_progress(what: str, done: int, total: int) -> None:
            bar.update(done, total, label=what)

        try:
            return session.index.evaluate(benchmark, on_progress)
        except KeyboardInterrupt as error:
            if benchmark.work is None:
                raise
            kept = f"Interrupted. What was indexed is kept in {clean_name(benchmark.work)}."
            raise Interrupted(kept) from error


def _say(found: Evaluation) -> None:
    """The table for people, then what is known by the fixture's types of questions."""
    from qmd.cli.show import show_listing

    documents, questions = (
        counted(found.documents, "document"),
        counted(len(found.fixture.questions), "question"),
    )
    say(f"{clean_name(found.fixture.name)}: {documents}, {questions}")
    say()
    show_listing(_table(found))
    for result in found.results:
        if result.skipped is not None:
            say(f"{result.mode} was skipped: {one_line(result.skipped)}")
    by_type = _by_type(found)
    if by_type is not None:
        say(f"\nnDCG@{found.k} by type:")
        show_listing(by_type)


def _table(found: Evaluation) -> Listing:
    from qmd.cli.render.rows import Column, Listing

    k = found.k
    titles = {f"ndcg@{k}": f"nDCG@{k}", f"recall@{k}": f"R@{k}", f"mrr@{k}": f"MRR@{k}"}
    titles |= {f"precision@{rank}": f"P@{rank}" for rank in (1, 3, 5, 10)}
    if any(question.within is not None for question in found.fixture.questions):
        titles["expected"] = "Expected"
    measures = [
        Column(name, title, _share, right=True, for_people=name != "precision@10")
        for name, title in titles.items()
    ]
    times = [Column(f"{name}_ms", f"{name} ms", _time, right=True) for name in ("p50", "p95")]
    rows = [
        {
            "way": result.mode,
            **{name: (result.measures or {}).get(name) for name in titles},
            "p50_ms": result.p50,
            "p95_ms": result.p95,
            "skipped": result.skipped,
        }
        for result in found.results
    ]
    skipped = Column("skipped", for_people=False)
    return Listing("bench", "way", [Column("way"), *measures, *times, skipped], rows)


def _by_type(found: Evaluation) -> Listing | None:
    """The first measure for each type of question; None where there are not several types."""
    from qmd.cli.render.rows import Column, Listing
    from qmd.engine.evaluation.modes import means

    types = dict.fromkeys(question.type for question in found.fixture.questions if question.type)
    ran = [result for result in found.results if result.skipped is None]
    if len(types) < 2 or not ran:
        return None
    rows = []
    for name in types:
        row: dict[str, Any] = {"type": name}
        for result in ran:
            answers = [answer for answer in result.answers if answer.question.type == name]
            row |= {"questions": len(answers), result.mode: means(answers)[f"ndcg@{found.k}"]}
        rows.append(row)
    ways = [Column(result.mode, result.mode, _share, right=True) for result in ran]
    return Listing("types", "type", [Column("type"), Column("questions", right=True), *ways], rows)


def _notes(found: Evaluation) -> list[str]:
    """What the reader of the numbers should know, each once."""
    return list(dict.fromkeys([*found.notes, *(note for each in found.results for note in each.notes)]))


def _as_json(found: Evaluation) -> dict[str, Any]:
    return {
        "fixture": found.fixture.name,
        "description": found.fixture.description,
        "documents": found.documents,
        "questions": len(found.fixture.questions),
        "k": found.k,
        "notes": _notes(found),
        "ways": [_way_as_json(result) for result in found.results],
        "answers": [
            _answer_as_json(result.mode, answer, found.k)
            for result in found.results
            for answer in result.answers
        ],
    }


def _way_as_json(result: Result) -> dict[str, Any]:
    shown: dict[str, Any] = {"way": result.mode, "skipped": result.skipped}
    if result.measures is None:
        return shown
    measures = {name: round(value, 6) for name, value in result.measures.items()}
    return shown | {"measures": measures, "p50_ms": result.p50, "p95_ms": result.p95}


def _answer_as_json(way: str, answer: Answer, k: int) -> dict[str, Any]:
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


def _share(value: float) -> str:
    return f"{value:.3f}"


def _time(value: float) -> str:
    return f"{value:.1f}"

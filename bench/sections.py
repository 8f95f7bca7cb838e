"""Whether a search shows the right section of a long document, through the public API.

    python bench/sections.py FOLDER... [--modes search,query] [--every N] [--work DIR] [--json OUT]
                             [--node NODE --peer QMD_JS]

Each FOLDER has `docs/` (long documents with numbered sections) and `questions.jsonl`: questions with their
`kind` (number, heading, natural), `file` and `spans`, the [start, end) of the sections that answer. A passage
is right if more than half of it is in such a section, or if its line is. With `--peer`, tobi/qmd's `search`
is asked the same; it shows one snippet of a document, and its `vsearch` needs a model that it downloads.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, convert, to_builtins

from common import percentile, table, write_json  # isort: skip  (puts src/ on the path)
import qmd
from processes import Program, peer
from quality import indexed_copy

MODES = ("search", "query")
PEER = "tobi/qmd search"
#: What tobi/qmd writes above a snippet: its first line.
_HUNK = re.compile(r"@@ -(\d+)[^\n]*\n")


class Question(Struct, frozen=True):
    """A question with the file and the [start, end) spans of the sections that answer it."""

    kind: str
    text: str
    file: str
    spans: tuple[tuple[int, int], ...]


class Result(Struct, frozen=True):
    """Fractions of the questions of a kind: right first file, right first passage, right one of three."""

    collection: str
    mode: str
    kind: str
    questions: int
    file: float
    first: float
    in_three: float
    p50: float
    p95: float


def main() -> None:
    options = _options()
    results: list[Result] = []
    for folder in options.folders:
        docs = folder / "docs"
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(docs.iterdir())}
        lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        questions = [convert(json.loads(line), Question) for line in lines][:: options.every]
        with indexed_copy(docs, options.work / folder.name, vectors=options.modes != ["search"]) as index:
            for mode in options.modes:
                results += measure(index, folder.name, mode, texts, questions)
        if options.peer:
            program = peer(options.node, options.peer, options.work / f"{folder.name}-peer")
            shutil.rmtree(program.state, ignore_errors=True)
            results += measure_peer(program, folder, texts, questions)
    header = [*Result.__struct_fields__]
    print(table(header, [[getattr(result, name) for name in header] for result in results]))
    write_json(options.json, {"sections": [to_builtins(result) for result in results]})


def measure(
    index: qmd.Index, collection: str, mode: str, texts: dict[str, str], questions: Sequence[Question]
) -> list[Result]:
    """Ask all questions in one mode; return a result for each kind."""
    found: dict[str, list[tuple[bool, bool, bool, float]]] = {}
    for question in questions:
        response = getattr(index, mode)(question.text, limit=10, passages=3)
        milliseconds = sum(stage.milliseconds or 0.0 for stage in response.stages)
        hit = response.hits[0] if response.hits else None
        right = [False] * 2
        if hit is not None and hit.path == question.file:
            text = texts[hit.path]
            passages = [_is_right(text, passage, question.spans) for passage in hit.passages]
            right = [_is_right(text, hit.snippet, question.spans), any(passages)]
        file = hit is not None and hit.path == question.file
        found.setdefault(question.kind, []).append((file, right[0], right[1], milliseconds))
    return _summed(collection, mode, found)


def measure_peer(
    program: Program, folder: Path, texts: dict[str, str], questions: Sequence[Question]
) -> list[Result]:
    """Ask all questions by tobi/qmd's command line."""
    program.run("collection", "add", str((folder / "docs").resolve()), "--name", folder.name)
    found: dict[str, list[tuple[bool, bool, bool, float]]] = {}
    for question in questions:
        began = time.perf_counter()
        done = subprocess.run(
            [*program.command, "search", question.text, "--json", "-n", "1"],
            env=program.environ,
            cwd=program.state,
            capture_output=True,
            text=True,
            check=True,
        )
        milliseconds = 1000 * (time.perf_counter() - began)
        hits = json.loads(done.stdout or "[]")
        file = bool(hits) and hits[0]["file"].rpartition("/")[2] == question.file
        right = False
        if file and (head := _HUNK.match(hits[0]["snippet"])):
            first = int(head[1])
            shown = hits[0]["snippet"][head.end() :].removesuffix("...")
            snippet = qmd.Snippet(shown, first_line=first, line=hits[0].get("line", first))
            right = _is_right(texts[question.file], snippet, question.spans)
        found.setdefault(question.kind, []).append((file, right, right, milliseconds))
    return _summed(folder.name, PEER, found)


def _summed(
    collection: str, mode: str, found: dict[str, list[tuple[bool, bool, bool, float]]]
) -> list[Result]:
    """Return a result for each kind of questions."""
    return [
        Result(
            collection,
            mode,
            kind,
            len(rows),
            _mean(row[0] for row in rows),
            _mean(row[1] for row in rows),
            _mean(row[2] for row in rows),
            round(percentile([row[3] for row in rows], 0.5), 1),
            round(percentile([row[3] for row in rows], 0.95), 1),
        )
        for kind, rows in found.items()
    ]


def _is_right(text: str, passage: qmd.Snippet, spans: Sequence[tuple[int, int]]) -> bool:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    start = text.find(passage.text, starts[passage.first_line - 1])
    low, high = starts[passage.line - 1], starts[passage.line]
    end = start + len(passage.text)
    for first, last in spans:
        if low < last and first < high - 1:
            return True
        if start >= 0 and 2 * (min(end, last) - max(start, first)) > end - start:
            return True
    return False


def _mean(values: Iterable[bool]) -> float:
    values = [*values]
    return round(sum(values) / len(values), 3)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--modes", default="search,query", type=lambda value: value.split(","))
    parser.add_argument(
        "--work", type=Path, default=Path("bench-work/sections"), help="folder of the indexes"
    )
    parser.add_argument("--every", type=int, default=1, help="use each Nth question (1)")
    parser.add_argument("--node", type=Path, help="the Node that runs tobi/qmd")
    parser.add_argument("--peer", type=Path, help="tobi/qmd's dist/cli/qmd.js")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()

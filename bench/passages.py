"""Whether the best hit of a search shows the passage with the answer, through the public API.

    python bench/passages.py FOLDER [--modes search,vsearch,query] [--work DIR] [--json OUT]

FOLDER has `files/` (long documents) and `queries.jsonl[.gz]`: questions, each with its `file` and
`references`, the spans of characters that answer it (`start_index`, `end_index`). A snippet shows the answer
if it contains at least 40 characters or half of a span. A line is right if it contains a part of a span.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from common import percentile, say, table, write_json  # isort: skip  (puts src/ on the path)
import qmd
from quality import indexed_copy

MODES = ("search", "vsearch", "query")
#: Characters of the answer that a snippet must contain to show it.
SHOWN = 40


class Question(Struct, frozen=True):
    """A question with the file that answers it and the [start, end) spans of the answers."""

    text: str
    file: str
    spans: tuple[tuple[int, int], ...]


class Result(Struct):
    """Fractions of the questions whose best hit is the right file, shows an answer, and names its line."""

    mode: str
    questions: int
    file: float
    shown: float
    line: float
    shown_in_three: float
    p50: float
    p95: float


def main() -> None:
    options = _options()
    texts, questions = read(options.folder)
    questions = questions[:: options.every]
    files, work = options.folder / "files", options.work / options.folder.name
    with indexed_copy(files, work, vectors=options.modes != ["search"]) as index:
        results = [measure(index, mode, texts, questions) for mode in options.modes]
    rows = [[r.mode, r.questions, r.file, r.shown, r.line, r.shown_in_three, r.p50, r.p95] for r in results]
    header = ["mode", "questions", "file", "shown", "line", "shown by 3 passages", "p50 ms", "p95 ms"]
    say(table(header, rows))
    if options.json:
        write_json(options.json, {"passages": [to_builtins(result) for result in results]})


def read(folder: Path) -> tuple[dict[str, str], list[Question]]:
    """Return the text of each file by its name, and the questions."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((folder / "files").iterdir())}
    [path] = folder.glob("queries.jsonl*")
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows: list[dict[str, Any]] = [json.loads(line) for line in data.splitlines()]
    return texts, [
        Question(
            row["text"], row["file"], tuple((s["start_index"], s["end_index"]) for s in row["references"])
        )
        for row in rows
    ]


def measure(index: qmd.Index, mode: str, texts: dict[str, str], questions: Sequence[Question]) -> Result:
    """Ask all questions in one mode."""
    file = shown = line = in_three = 0
    milliseconds: list[float] = []
    for question in questions:
        response = getattr(index, mode)(question.text, limit=10, passages=3)
        milliseconds.append(sum(stage.milliseconds or 0.0 for stage in response.stages))
        if not response.hits:
            continue
        hit = response.hits[0]
        if hit.path != question.file:
            continue
        file += 1
        text = texts[hit.path]
        shown += _shows(text, hit.snippet, question.spans)
        line += _names(text, hit.line, question.spans)
        in_three += any(_shows(text, passage, question.spans) for passage in hit.passages)
    total = len(questions)
    return Result(
        mode,
        total,
        round(file / total, 3),
        round(shown / total, 3),
        round(line / total, 3),
        round(in_three / total, 3),
        percentile(milliseconds, 0.5),
        percentile(milliseconds, 0.95),
    )


def _shows(text: str, snippet: qmd.Snippet, spans: Sequence[tuple[int, int]]) -> bool:
    start = text.find(snippet.text, _offset(text, snippet.first_line))
    end = start + len(snippet.text)
    return start >= 0 and any(
        min(end, high) - max(start, low) >= min(SHOWN, (high - low) / 2) for low, high in spans
    )


def _names(text: str, line: int, spans: Sequence[tuple[int, int]]) -> bool:
    start = _offset(text, line)
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return any(start < high and low < end for low, high in spans)


def _offset(text: str, line: int) -> int:
    """Return the position at which a line begins; lines count from 1."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
    return at


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--modes", default="search,vsearch,query", type=lambda value: value.split(","))
    parser.add_argument("--work", type=Path, default=Path("bench-work"), help="folder of the index")
    parser.add_argument("--every", type=int, default=1, help="use each Nth question (1)")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()

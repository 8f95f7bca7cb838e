"""Evidence per token: how much of what answers a question fits into the tokens that an agent has for it.

    python bench/packs.py SET=PATH... [--tokens 500,1000,2000,4000] [--questions N] [--work DIR] [--json OUT]

`SET` is locomo, vault or passages, and PATH its data, as for `peers.py` and `passages.py`. Three ways to
spend the tokens are compared:

- `pack`: the Markdown of `Index.pack`.
- `query`: as many results of a hybrid search as fit, as JSON of the HTTP API, each with its snippet.
- `files`: whole files, those first in which `grep` finds most words of the question, then most matches.

The evidence of LoCoMo are the turns of the dialogue that it names, that of `passages` spans of characters, of
which 40 or the half must be shown. In the vault a whole note is the evidence, so any part of it counts.
Tokens are counted by `qmd.text.budget`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct, json as msgspec_json, to_builtins

from common import say, table, write_json  # isort: skip  (puts src/ on the path)
import qmd
from passages import SHOWN, read
from peer_sets import PEER_SETS, locomo
from peers import opened
from qmd.api import results
from qmd.ranking import metrics
from qmd.text import budget
from qmd.text.query import parse
from quality import indexed_copy

TOKENS = (500, 1_000, 2_000, 4_000)
#: The most results of a search that are counted.
RESULTS = 100

#: A part of a file that answers a question: its path, and [start, end); the whole file if `end` is 0.
Evidence = tuple[str, int, int]
#: A part of a file that was shown.
Shown = tuple[str, int, int]


class Question(Struct, frozen=True):
    """A question with the evidence of its answer."""

    text: str
    evidence: tuple[Evidence, ...]


class Set(Struct, frozen=True):
    """An index of files, by path, and questions about them."""

    name: str
    index: qmd.Index
    files: dict[str, str]
    questions: Sequence[Question]


class Result(Struct, frozen=True):
    """The mean share of the evidence inside some tokens, and the mean tokens that were used."""

    set: str
    way: str
    tokens: int
    questions: int
    recall: float
    used: float


def main() -> None:
    options = _options()
    measured: list[Result] = []
    for name, path in options.sets:
        one = SETS[name](path, options.work)
        questions = one.questions[:: max(1, len(one.questions) // options.questions)]
        _search_once(one.index)
        with one.index:
            for way, show in WAYS.items():
                found = [_measured(one, way, show, tokens, questions) for tokens in options.tokens]
                measured += found
                say(f"{name} {way}: " + " ".join(f"{each.recall:.3f}" for each in found))
    rows = [[each.set, each.way, each.tokens, each.questions, each.recall, each.used] for each in measured]
    print(table(["set", "way", "tokens", "questions", "recall", "used"], rows))
    if options.json:
        setting = {"questions": options.questions}
        write_json(options.json, {"setting": setting, "results": [to_builtins(each) for each in measured]})


def _search_once(index: qmd.Index) -> None:
    """Let an index run each search once: all numbers of tokens need the same."""
    search = index.run
    index.run = cache(lambda kind, request, cancelled=None: search(kind, request))  # type: ignore[method-assign]


def _measured(
    one: Set, way: str, show: Callable[..., Iterator[Shown]], tokens: int, questions: Sequence[Question]
) -> Result:
    recalls: list[float] = []
    used: list[int] = []
    for question in questions:
        spent: list[int] = []
        shown = [*show(one, question.text, tokens, spent)]
        recalls.append(metrics.mean([_is_shown(each, shown) for each in question.evidence]))
        used += spent
    return Result(
        one.name,
        way,
        tokens,
        len(questions),
        round(metrics.mean(recalls), 4),
        round(metrics.mean([float(each) for each in used]), 1),
    )


def _is_shown(evidence: Evidence, shown: Sequence[Shown]) -> float:
    file, low, high = evidence
    spans = [(start, end) for path, start, end in shown if path == file]
    if not high:
        return float(bool(spans))
    common = sum(max(0, min(end, high) - max(start, low)) for start, end in spans)
    return float(common >= min(SHOWN, (high - low) / 2))


def pack(one: Set, question: str, tokens: int, spent: list[int]) -> Iterator[Shown]:
    """Show the passages of a pack."""
    made = one.index.pack(question, tokens=tokens)
    spent.append(made.tokens)
    for passage in made.passages:
        path = passage.file.partition("/")[2]
        yield _span(path, one.files[path], passage.text, passage.first_line)


def query(one: Set, question: str, tokens: int, spent: list[int]) -> Iterator[Shown]:
    """Show results of a hybrid search with their snippets."""
    left = tokens
    for hit in one.index.query(question, limit=RESULTS).hits:
        left -= budget.count(msgspec_json.encode(results.Hit.of(hit)).decode())
        if left < 0:
            break
        yield _span(hit.path, one.files[hit.path], hit.snippet.text, hit.snippet.first_line)
        spent[:] = [tokens - left]


def files(one: Set, question: str, tokens: int, spent: list[int]) -> Iterator[Shown]:
    """Show the files with most words of the question, whole, and of the last one its beginning."""
    words = {word for term in parse(question).required for word in term.words}
    pattern = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))) or r"\Z", re.I)
    matches = {
        path: [match[0].casefold() for match in pattern.finditer(text)] for path, text in one.files.items()
    }
    ranked = sorted(
        (path for path, found in matches.items() if found),
        key=lambda path: (-len(set(matches[path])), -len(matches[path]), path),
    )
    left = tokens
    for path in ranked:
        text = one.files[path]
        end = len(text)
        for line in re.finditer(r".*\n?", text):
            cost = budget.count(line[0])
            if cost > left:
                end = line.start()
                break
            left -= cost
        yield path, 0, end
        if end < len(text):
            break
    spent[:] = [tokens - left]


WAYS = {"pack": pack, "query": query, "files": files}


def _span(path: str, text: str, part: str, line: int) -> Shown:
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
    start = max(text.find(part, at), 0)
    return path, start, start + len(part)


def locomo_set(checkout: Path, work: Path) -> Set:
    """Return LoCoMo: the evidence is a turn, which is a line of its session."""
    peer_set = PEER_SETS["locomo"]
    [corpus] = locomo(checkout / peer_set.data)
    questions: list[Question] = []
    for number, dialogue in enumerate(json.loads((checkout / peer_set.data).read_text(encoding="utf-8"))):
        turns: dict[str, Evidence] = {}
        for key, said in dialogue["conversation"].items():
            if found := re.fullmatch(r"session_(\d+)", key):
                path = f"locomo-c{number:02}-s{int(found[1]):02}.md"
                at = 0
                for turn in said:
                    line = f"- **{turn['speaker']}:** {turn['text'].strip()}"
                    at = corpus.files[path].index(line, at)
                    turns[turn["dia_id"]] = path, at, at + len(line)
                    at += len(line)
        for each in dialogue["qa"]:
            named = re.findall(r"\bD\d+:\d+\b", " ".join(each["evidence"]))
            evidence = tuple(turns[turn] for turn in named if turn in turns)
            if evidence and str(each["category"]) != "5":  # the fifth has questions without an answer
                questions.append(Question(each["question"], evidence))
    return Set("locomo", opened(corpus, work / "locomo", ["query"]), corpus.files, questions)


def vault_set(checkout: Path, work: Path) -> Set:
    """Return the notes of Obsidian's help."""
    [corpus] = PEER_SETS["vault"].read(checkout)
    questions = [
        Question(each.text, tuple((path, 0, 0) for path in sorted(each.gold)))
        for each in corpus.questions
        if each.gold
    ]
    return Set("vault", opened(corpus, work / "vault", ["query"]), corpus.files, questions)


def passages_set(folder: Path, work: Path) -> Set:
    """Return long documents with spans that answer questions."""
    texts, asked = read(folder)
    questions = [
        Question(each.text, tuple((each.file, start, end) for start, end in each.spans)) for each in asked
    ]
    return Set("passages", indexed_copy(folder / "files", work / folder.name, vectors=True), texts, questions)


SETS = {"locomo": locomo_set, "vault": vault_set, "passages": passages_set}


def _options() -> argparse.Namespace:
    def named(value: str) -> tuple[str, Path]:
        name, _, path = value.partition("=")
        if name not in SETS or not path:
            raise argparse.ArgumentTypeError(f"write SET=PATH; SET is one of {', '.join(SETS)}")
        return name, Path(path)

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", type=named, metavar="SET=PATH")
    parser.add_argument("--tokens", default=TOKENS, type=lambda value: tuple(map(int, value.split(","))))
    parser.add_argument(
        "--questions", type=int, default=100, help="about N questions of each set, spread evenly (100)"
    )
    parser.add_argument("--work", type=Path, default=Path("bench-work"), help="folder of the indexes")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()

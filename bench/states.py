"""Whether the new version of a page comes above the old one, if a field says that this is old.

    python bench/states.py NAME=OLD:NEW... [--questions N] [--factors F,F] [--work DIR] [--json OUT]

OLD and NEW are folders with two versions of the same pages of a documentation, such as `versioned_docs/` has.
Both are indexed together. Two of three pages are marked: in the old page (`superseded_by` with the path of
the new one, or only `status: deprecated`), or in the new one (`supersedes`). Questions are titles, headings
and first sentences of the new pages. A question is lost if the old page is found above the new one.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from common import say, table, write_json  # isort: skip  (puts src/ on the path)
import qmd
from qmd.engine.retrieval import factors
from qmd.ranking.metrics import ndcg
from qmd.text import front_matter
from qmd.text.outline import sections
from quality import ask

MODES = ("search", "vsearch", "query")
LIMIT = 10
#: Words of a first sentence that are asked, and of the shortest question.
_MOST, _LEAST = 20, 3
_SENTENCE = re.compile(r"^[A-Z`][^\n]{20,400}?[.?!](?=\s|$)", re.M)
_MARKUP = re.compile(r"[`*_#<>{}\[\]()|]+|https?://\S+")


class Question(Struct, frozen=True):
    """A question, and the page of which it is."""

    text: str
    page: str


class Found(Struct, frozen=True):
    """The ranks of the new and the old page for a question; None if it is not among the first."""

    page: str
    new: int | None
    old: int | None
    ndcg: float


class Row(Struct, frozen=True):
    """The result of one mode with one kind of mark.

    Attributes:
        above: Share of the questions that find one of both pages for which the new one is above the old one.
        first: Share of those that find one of both first without marks for which the new one is the first.
        elsewhere: nDCG@10 of the questions of pages that are not marked.
        change: Its difference from that without marks.
        same: Share of these questions whose results are the same as without marks.
    """

    corpus: str
    mark: str
    mode: str
    factor: float
    questions: int
    above: float
    first: float
    elsewhere: float
    change: float
    same: float


Mark = Callable[[str], tuple[str, str]]
#: Returns the fields of the old and the new page.
MARKS: Mapping[str, Mark] = {
    "none": lambda path: ("", ""),
    "superseded_by": lambda path: (f'superseded_by: "/new/{path}"', ""),
    "supersedes": lambda path: ("", f'supersedes: "/old/{path}"'),
    "deprecated": lambda path: ("status: deprecated", ""),
}


def main() -> None:
    options = _options()
    rows = [row for corpus in options.corpora for row in _measured(corpus, options)]
    print(table([*Row.__struct_fields__], [[*to_builtins(row).values()] for row in rows]))
    write_json(options.json, {"questions": options.questions, "rows": to_builtins(rows)})


def _measured(corpus: str, options: argparse.Namespace) -> Iterator[Row]:
    name, _, folders = corpus.partition("=")
    old, _, new = folders.partition(":")
    pages = _pairs(Path(old), Path(new))
    marked = {page for number, page in enumerate(pages) if number % 3}
    questions = _questions(Path(new), pages, options.questions)
    work = options.work / name
    shutil.rmtree(work / "files", ignore_errors=True)
    plain: dict[str, list[tuple[Found, list[str]]]] = {}
    with qmd.open_index(work / "index.sqlite", progress=say) as index:
        for mark in ("none", *options.marks):
            fields = MARKS[mark]
            _write(work / "files", {"old": Path(old), "new": Path(new)}, marked, fields)
            if index.config.collections:
                index.update()
            else:
                index.add_collection(str(work / "files"), "docs")
            if index.status().needs_embedding:
                index.embed()
            for factor in options.factors if mark == "deprecated" else [factors.OUTDATED]:
                factors.OUTDATED = factor
                for mode in options.modes:
                    asked = [_ask(index, mode, question) for question in questions]
                    if mark == "none":
                        plain[mode] = asked
                    else:
                        yield _row(name, mark, mode, factor, asked, plain[mode], marked)
                    say(f"{name} {mark} {mode} x {factor}")


def _pairs(old: Path, new: Path) -> list[str]:
    """Return the paths of the pages that both versions have."""
    found = ({str(each.relative_to(root)) for each in root.rglob("*.md*")} for root in (old, new))
    return sorted(set.intersection(*found))


def _write(target: Path, versions: Mapping[str, Path], marked: set[str], fields: Mark) -> None:
    for at, (version, root) in enumerate(versions.items()):
        for file in root.rglob("*.md*"):
            path = str(file.relative_to(root))
            text = file.read_text(encoding="utf-8", errors="replace")
            field = fields(path)[at] if path in marked else ""
            if field:
                has_head = front_matter.of(text).body
                text = f"---\n{field}\n" + (text[4:] if has_head else f"---\n{text}")
            copy = target / version / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists() or copy.read_text(encoding="utf-8") != text:
                copy.write_text(text, encoding="utf-8", newline="\n")


def _questions(root: Path, pages: Sequence[str], number: int) -> list[Question]:
    """Return questions of the pages in turn: titles with headings, and first sentences of sections."""
    chosen = random.Random(1)
    by_page = []
    for page in pages:
        text = (root / page).read_text(encoding="utf-8", errors="replace")
        asked = [*dict.fromkeys(_asked(text, page))]
        chosen.shuffle(asked)
        by_page.append([Question(each, page) for each in asked])
    most = max(map(len, by_page))
    in_turn = [asked[at] for at in range(most) for asked in by_page if at < len(asked)]
    return in_turn[:number]


def _asked(text: str, page: str) -> Iterator[str]:
    head = front_matter.of(text)
    title = head.stated.get("title", "") or Path(page).stem
    body = text[head.body :]
    lines = body.split("\n")
    for section in sections(body):
        question = _plain(f"{title} {section.heading}")
        if len(question.split()) >= _LEAST:
            yield question
        if sentence := _SENTENCE.search("\n".join(lines[section.first_line : section.last_line])):
            words = _plain(sentence[0]).split()
            if len(words) >= _LEAST:
                yield " ".join(words[:_MOST])


def _plain(text: str) -> str:
    """Return words without markup and without the syntax of queries."""
    words = _MARKUP.sub(" ", text).replace('"', " ").replace(":", " ").split()
    return " ".join(word.lstrip("-") for word in words if word.strip("-"))


def _ask(index: qmd.Index, mode: str, question: Question) -> tuple[Found, list[str]]:
    response = ask(index, mode, question.text, LIMIT)
    ranked = [hit.path for hit in response.hits]
    pair = [f"{version}/{question.page}" for version in ("new", "old")]
    new, old = (ranked.index(path) + 1 if path in ranked else None for path in pair)
    return Found(question.page, new, old, ndcg(ranked, dict.fromkeys(pair, 1), LIMIT)), ranked


def _row(
    corpus: str,
    mark: str,
    mode: str,
    factor: float,
    asked: Sequence[tuple[Found, list[str]]],
    plain: Sequence[tuple[Found, list[str]]],
    marked: set[str],
) -> Row:
    pairs = [(found, before) for (found, _), (before, _) in zip(asked, plain, strict=True)]
    of_marked = [(found, before) for found, before in pairs if found.page in marked]
    either = [found for found, _ in of_marked if found.new or found.old]
    first = [found for found, before in of_marked if 1 in (before.new, before.old)]
    others = [
        (found[0].ndcg, before[0].ndcg, found[1] == before[1])
        for found, before in zip(asked, plain, strict=True)
        if found[0].page not in marked
    ]
    elsewhere = _mean([each[0] for each in others])
    return Row(
        corpus,
        mark,
        mode,
        factor,
        len(of_marked),
        _mean([_above(found) for found in either]),
        _mean([found.new == 1 for found in first]),
        elsewhere,
        elsewhere - _mean([each[1] for each in others]),
        _mean([each[2] for each in others]),
    )


def _above(found: Found) -> bool:
    return found.new is not None and (found.old is None or found.new < found.old)


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpora", nargs="+", metavar="NAME=OLD:NEW")
    parser.add_argument("--questions", type=int, default=300, help="questions of each corpus")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=[*MODES])
    parser.add_argument("--marks", type=lambda text: text.split(","), default=[*MARKS][1:])
    parser.add_argument(
        "--factors", type=lambda text: [*map(float, text.split(","))], default=[factors.OUTDATED]
    )
    parser.add_argument("--work", type=Path, default=Path("bench-work/states"))
    parser.add_argument("--json", type=Path)
    options: Any = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    return options


if __name__ == "__main__":
    main()

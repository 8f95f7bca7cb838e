"""Whether `query` finds the page with the answer, in PDF, DOCX and HTML files and as Markdown.

    python bench/pages.py CHECKOUTS [--json OUT] [--keep FOLDER] [--misses]

`page_questions.json` has the questions, and the repositories, commits and files that they are about.
CHECKOUTS has a folder `owner/name` for each repository, with at least these files. An answer is a page of a
PDF (`file:12`), a section of a DOCX file (`file#beginning of its main heading`) or an HTML file. A question
is answered if a hit is in one of its answers: the first hit (Hit@1), or one of the first three (Hit@3). A
document is one hit, so the third measure is whether one of its three best passages is in an answer.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import qmd
from common import say, table, write_json

QUESTIONS = Path(__file__).with_name("page_questions.json")
_HEADING = re.compile(r"# (.+)")
_FORMATS = ["pdf", "docx", "html"]
#: The place of a hit: its file, and the page or main heading if it has one.
_Place = tuple[str, str]


def main() -> None:
    options = _options()
    asked = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    with ExitStack() as stack:
        root = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files, markdown = root / "files", root / "markdown"
        index = stack.enter_context(qmd.open_index(root / "index.sqlite", config=root / "index.yml"))
        if not files.exists():
            _copy(options.checkouts, asked["sources"], files)
            for path, reason in index.add_collection(str(files), formats=_FORMATS).problems:
                say(f"{path}: {reason}")
            _write_markdown(index, markdown)
            index.add_collection(str(markdown))
        index.embed()
        texts: dict[str, list[str]] = {}
        starts: dict[str, list[int]] = {}
        for document in index.documents("files"):
            anchors = index._store.fields.anchors([document.id]).get(document.id, [])
            starts[document.path] = [anchor.line for anchor in anchors]
            texts[document.path] = index.get(document.file).text.split("\n")
        _check(asked["questions"], texts, starts)

        def place(path: str, line: int) -> _Place:
            path = path.removesuffix(".md")
            if path.endswith(".docx"):
                return path, _main_heading(texts[path], line)
            return path, str(bisect_right(starts[path], line) or "")

        found = {name: _found(index, name, asked["questions"], place) for name in ("files", "markdown")}
    _report(options, asked["questions"], found, starts)


def _write_markdown(index: qmd.Index, folder: Path) -> None:
    """Write the extracted texts as Markdown files. They share the vectors of the originals."""
    for document in index.documents():
        copy = folder / f"{document.path}.md"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(index.get(document.file).text, encoding="utf-8")


def _report(
    options: argparse.Namespace,
    questions: Sequence[dict[str, Any]],
    found: dict[str, list[tuple[list[_Place], list[_Place]]]],
    starts: dict[str, list[int]],
) -> None:
    pdf = [path for path in starts if path.endswith(".pdf")]
    pages = sum(len(starts[path]) for path in pdf)
    kinds = ["PDF" if ".pdf:" in question["answers"][0] else "DOCX, HTML" for question in questions]
    rows: list[list[Any]] = []
    results: dict[str, Any] = {}
    for kind in ("PDF", "DOCX, HTML"):
        chosen = [at for at, other in enumerate(kinds) if other == kind]
        for name, places in found.items():
            ranks = [_rank(questions[at], places[at][0]) for at in chosen]
            shares = {f"hit_at_{n}": sum(rank <= n for rank in ranks) / len(ranks) for n in (1, 3)}
            inside = [_rank(questions[at], places[at][1]) <= 3 for at in chosen]
            shares["in_3_passages_of_the_first"] = sum(inside) / len(inside)
            hits = {measure: round(share, 3) for measure, share in shares.items()}
            results.setdefault(kind, {"questions": len(chosen)})[name] = hits
            rows.append([kind, len(chosen), name, *hits.values()])
    print(f"{len(starts)} documents, {pages} pages of PDF, {len(starts) - len(pdf)} DOCX and HTML files")
    print(table(["questions about", "", "as", "Hit@1", "Hit@3", "in 3 passages of the first"], rows))
    if options.misses:
        for question, (places, _) in zip(questions, found["files"], strict=True):
            if _rank(question, places) > 1:
                say(f"{_rank(question, places)} {question['query']}: {question['answers']}, found {places}")
    write_json(
        options.json,
        {"documents": len(starts), "pages_of_pdf": pages, "docx_and_html": len(starts) - len(pdf)}
        | {"results": results},
    )


def _copy(checkouts: Path, sources: Sequence[dict[str, Any]], folder: Path) -> None:
    """Copy only the files of the questions, so that nothing else of the repositories is indexed."""
    for source in sources:
        root = checkouts / source["repository"]
        for pattern in source["files"]:
            paths = list(root.rglob(pattern)) if pattern.startswith("*") else list(root.glob(pattern))
            if not paths and (root / pattern).is_file():
                paths = [root / pattern]
            if not paths:
                raise SystemExit(f"{root}: no {pattern}; check out {source['commit']}")
            for path in filter(Path.is_file, paths):
                copy = folder / path.relative_to(checkouts)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)


def _found(
    index: qmd.Index,
    collection: str,
    questions: Sequence[dict[str, Any]],
    place: Callable[[str, int], _Place],
) -> list[tuple[list[_Place], list[_Place]]]:
    """Return the places of the first three hits, and of three passages of the first, for each question."""
    found = []
    for question in questions:
        hits = index.query(question["query"], limit=3, collections=(collection,), passages=3).hits
        places = [place(hit.path, hit.line) for hit in hits]
        for hit, (_, inner) in zip(hits, places, strict=True):
            if hit.anchor and str(hit.anchor.value) != inner:
                raise SystemExit(f"{hit.file}:{hit.line} is on page {inner}, not {hit.anchor.value}")
        found.append((places, [place(hit.path, each.line) for hit in hits[:1] for each in hit.passages]))
    return found


def _rank(question: dict[str, Any], places: Sequence[_Place]) -> int:
    """Return the rank of the first place that answers a question, or 4 if none does."""
    answers = [_split(answer) for answer in question["answers"]]
    for rank, (path, inner) in enumerate(places, 1):
        if any(path == file and _same(path, inner, wanted) for file, wanted in answers):
            return rank
    return 4


def _same(path: str, inner: str, wanted: str) -> bool:
    return inner == wanted if path.endswith(".pdf") else inner.startswith(wanted)


def _split(answer: str) -> _Place:
    file, separator, inner = answer.partition("#") if ".docx" in answer else answer.partition(".pdf:")
    return (file + ".pdf", inner) if separator == ".pdf:" else (file, inner)


def _main_heading(lines: Sequence[str], line: int) -> str:
    """Return the main heading above a line."""
    for text in reversed(lines[:line]):
        if match := _HEADING.match(text):
            return match[1]
    return ""


def _check(
    questions: Sequence[dict[str, Any]], texts: dict[str, list[str]], starts: dict[str, list[int]]
) -> None:
    """Stop if an answer does not exist in the documents."""
    for question in questions:
        for file, inner in map(_split, question["answers"]):
            headings = [match[1] for line in texts.get(file, ()) if (match := _HEADING.match(line))]
            pages = map(str, range(1, len(starts.get(file, ())) + 1))
            known = (
                inner in pages if file.endswith(".pdf") else any(each.startswith(inner) for each in headings)
            )
            if file not in texts or (inner and not known):
                raise SystemExit(f"{question['query']}: {file} has no {inner or 'text'}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the index here for the next run")
    parser.add_argument("--misses", action="store_true", help="list the questions whose first hit is wrong")
    parser.add_argument("--json", type=Path, metavar="OUT", help="keep the results in this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()

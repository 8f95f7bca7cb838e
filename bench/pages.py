"""Whether `query` finds the page that answers a question, in PDF files and in the same text as Markdown.

    python bench/pages.py FOLDER... [--json OUT]

The folders hold checkouts of jsvine/pdfplumber and py-pdf/sample-files; `page_questions.json` names the files
and pages. A question is answered if the hit is that file and its line is on that page (Hit@1, Hit@3).
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from bisect import bisect_right
from pathlib import Path
from typing import Any

import qmd
from common import say, table, write_json
from qmd.types import Hit

QUESTIONS = Path(__file__).with_name("page_questions.json")


def main() -> None:
    options = _options()
    questions = json.loads(QUESTIONS.read_text(encoding="utf-8"))["questions"]
    files = [path for folder in options.folders for path in folder.rglob("*.pdf")]
    with tempfile.TemporaryDirectory() as root:
        pdf, markdown = Path(root, "pdf"), Path(root, "markdown")
        pdf.mkdir()
        markdown.mkdir()
        for path in files:
            shutil.copy(path, pdf / path.name)
        with qmd.open_index(Path(root, "pdf.sqlite")) as index:
            index.add_collection(str(pdf), formats=["pdf"])
            starts: dict[str, list[int]] = {}
            for document in index.documents():
                anchors = index._store.fields.anchors([document.id]).get(document.id, [])
                starts[document.path] = [anchor.line for anchor in anchors]
                (markdown / f"{document.path}.md").write_text(index.get(document.file).text, encoding="utf-8")
            index.embed()
            pages = sum(map(len, starts.values()))
            first = _answered(index, questions, lambda hit: (hit.path, hit.anchor.value if hit.anchor else 0))
        with qmd.open_index(Path(root, "markdown.sqlite")) as index:
            index.add_collection(str(markdown))
            index.embed()

            def page_of(hit: Hit) -> tuple[str, int]:
                path = hit.path.removesuffix(".md")
                return path, bisect_right(starts[path], hit.line)

            second = _answered(index, questions, page_of)
    rows = [["PDF", *first], ["the same text as Markdown", *second]]
    print(f"{len(questions)} questions, {len(starts)} documents, {pages} pages")
    print(table(["", "page@1", "page@3", "file@1"], rows))
    if options.json is not None:
        names = ("page_at_1", "page_at_3", "file_at_1")
        results = {row[0]: dict(zip(names, row[1:], strict=True)) for row in rows}
        write_json(options.json, {"questions": len(questions), "pages": pages, "results": results})


def _answered(index: qmd.Index, questions: list[dict[str, Any]], place: Any) -> list[float]:
    """Return the shares of questions with the page first, the page among three, and the file first."""
    counts = [0, 0, 0]
    for question in questions:
        found = [place(hit) for hit in index.query(question["query"], limit=3).hits]
        right = [path.endswith(question["file"]) and page == question["page"] for path, page in found]
        counts[0] += right[:1] == [True]
        counts[1] += any(right)
        counts[2] += bool(found) and found[0][0].endswith(question["file"])
        if not any(right):
            say(f"{question['query']}: page {question['page']} of {question['file']}, found {found}")
    return [round(count / len(questions), 3) for count in counts]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--json", type=Path, metavar="OUT", help="keep the results in this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()

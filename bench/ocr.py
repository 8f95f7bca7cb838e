"""Pages made of texts in several languages: the share of their words that is recognized, and of pages found.

    python bench/ocr.py FOLDER [--languages en,de,fr,pl,tr,zh,ja,ru,ko] [--pages N] [--work DIR] [--json OUT]

`FOLDER` has collections named `o_LANGUAGE` as `languages.py` reads them. The first lines of some documents of
each are drawn as a page, in four conditions: clean (300 dpi), turned by 0.7 degrees, grey (150 dpi, low
contrast, spots, blurred), and 150 dpi. Each is a PDF without a text layer, which `Index.recognize` reads
among the other documents. Of scripts that the model does not know, a clean page shows that this is noticed.

`words` is the share of the words on the pages (of the characters of Chinese and Japanese) that were
recognized, in their order. `found` is nDCG@10 of `search` for each line of the pages and for the questions
about them; `of text` is the same with the text of the pages in place of their pictures. A page takes about
ten seconds of processor time.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import subprocess
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

from msgspec import Struct, to_builtins
from msgspec.json import decode

from common import say, table, write_json  # isort: skip  (puts src/ on the path)

from PIL import Image, ImageDraw, ImageFilter, ImageFont

import qmd

CONDITIONS = ("clean", "turned", "grey", "150 dpi")
#: Languages in scripts that the model does not know.
UNKNOWN = ("ru", "ko")
#: Inches of the page, its margin, the height of its letters, and its lines.
_WIDTH, _HEIGHT, _MARGIN, _LETTERS, _LINES = 8.27, 11.69, 0.9, 11 / 72, 28
_MARKS = re.compile(
    r"```.*?(?:```|\Z)|^---\n.*?\n---\n|!?\[\[[^\]]*\]\]|\]\([^)]*\)|[`*_#>|\[\]]|^\s*[-+] ", re.S | re.M
)
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


class Result(Struct):
    """A language in a condition."""

    language: str
    condition: str
    pages: int
    words: float
    questions: int
    found: float
    of_text: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--languages", default="en,de,fr,pl,tr,zh,ja,ru,ko")
    parser.add_argument("--pages", type=int, default=2)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: list[Result] = []
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        for language in options.languages.split(","):
            results += measure(options.folder / f"o_{language}", language, options.pages, Path(work))
            write_json(options.json, {"results": to_builtins(results)})
    figures = [(f"{r.words:.3f}", r.questions, f"{r.found:.3f}", f"{r.of_text:.3f}") for r in results]
    rows = [(r.language, r.condition, r.pages, *each) for r, each in zip(results, figures, strict=True)]
    print(table(("language", "condition", "pages", "words", "questions", "found", "of text"), rows))


def _font(language: str) -> Path:
    name = "Noto Sans CJK JP" if language in ("zh", "ja", "ko") else f"sans:lang={language}"
    words = ["fc-match", "-f", "%{file}", name]
    return Path(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def measure(folder: Path, language: str, count: int, work: Path) -> list[Result]:
    """Return the results of a language in each condition."""
    font = _font(language)
    conditions, count = (CONDITIONS, count) if language not in UNKNOWN else (CONDITIONS[:1], 1)
    texts = {
        path.stem: _MARKS.sub("", path.read_text("utf-8")) for path in sorted((folder / "docs").iterdir())
    }
    lines = {name: _wrapped(text, font) for name, text in texts.items()}
    full = [name for name in texts if len(lines[name]) == _LINES]
    pages = full[:: max(1, len(full) // count)][:count]
    questions = [*_questions(folder, pages), *((line, name) for name in pages for line in lines[name])]
    environ = {**os.environ, "QMD_WATCH": "0"}
    place = work / language
    with qmd.open_index(place / "index.sqlite", config=place / "index.yml", environ=environ) as index:
        for condition in (*conditions, "text"):
            collection = place / condition
            collection.mkdir(parents=True)
            for name, text in texts.items():
                if name not in pages:
                    (collection / f"{name}.md").write_text(text, "utf-8")
                elif condition == "text":
                    (collection / f"{name}.md").write_text("\n".join(lines[name]), "utf-8")
                else:
                    resolution = 150 if condition in ("grey", "150 dpi") else 300
                    picture = drawn(lines[name], font, condition, resolution)
                    picture.save(collection / f"{name}.pdf", resolution=resolution)
            index.add_collection(collection, condition, formats=["all"], ocr=condition != "text")
        report = index.recognize()
        say(f"{language}: {report.pages} pages, {report.seconds / report.pages:.1f} s a page")
        say("\n".join(reason for _, reason in report.problems))

        def ndcg(collection: str, text: str, name: str) -> float:
            hits = index.search(text, collections=[collection], limit=10).hits
            ranks = (at for at, hit in enumerate(hits, 2) if Path(hit.path).stem == name)
            return next((1 / math.log2(at) for at in ranks), 0.0)

        def found(collection: str) -> float:
            return sum(ndcg(collection, *each) for each in questions) / len(questions)

        def words(collection: str, name: str) -> float:
            try:
                return right(lines[name], index.get(f"qmd://{collection}/{name}.pdf").text)
            except qmd.NotFoundError:
                return 0.0

        of_text = found("text")
        return [
            Result(
                language,
                each,
                len(pages),
                sum(words(each, name) for name in pages) / len(pages),
                len(questions),
                found(each),
                of_text,
            )
            for each in conditions
        ]


def _questions(folder: Path, pages: list[str]) -> list[tuple[str, str]]:
    """Return the questions about pages, each with its page."""
    queries = {row["_id"]: row["text"] for row in map(decode, (folder / "queries.jsonl").open("rb"))}
    judged = (line.split("\t") for line in (folder / "qrels.tsv").read_text().splitlines()[1:])
    return [(queries[query], document) for query, document, _ in judged if document in pages]


def _wrapped(text: str, font: Path) -> list[str]:
    """Return the first lines of a text as they fit on a page."""
    letters, width = ImageFont.truetype(font, 100), (_WIDTH - 2 * _MARGIN) / _LETTERS * 100
    found: list[str] = []
    for line in filter(None, (" ".join(part.split()) for part in text.splitlines())):
        while line:
            end = len(line)
            while letters.getlength(line[:end]) > width:
                end = max(line.rfind(" ", 0, end), 0) or end - 1
            found.append(line[:end])
            line = line[end:].strip()
            if len(found) == _LINES:
                return found
    return found


def drawn(lines: list[str], font: Path, condition: str, resolution: int) -> Image.Image:
    """Return a page as a scanner sees it."""
    grey = condition == "grey"
    size = round(_WIDTH * resolution), round(_HEIGHT * resolution)
    picture = Image.new("L", size, 205 if grey else 255)
    pen, letters = ImageDraw.Draw(picture), ImageFont.truetype(font, round(_LETTERS * resolution))
    for at, line in enumerate(lines):
        place = _MARGIN * resolution, (_MARGIN + at * _LETTERS * 2.2) * resolution
        pen.text(place, line, font=letters, fill=90 if grey else 0)
    if condition == "turned":
        picture = picture.rotate(0.7, Image.Resampling.BICUBIC, fillcolor=255)
    if grey:
        dice = random.Random(len(lines[0]))
        for _ in range(400):
            picture.putpixel((dice.randrange(size[0]), dice.randrange(size[1])), 60)
        picture = picture.filter(ImageFilter.GaussianBlur(0.6))
    return picture


def right(lines: list[str], text: str) -> float:
    """Return the share of the words of lines that are in a text, in the same order."""
    wanted, given = _WORDS.findall(" ".join(lines)), _WORDS.findall(text)
    blocks = SequenceMatcher(None, wanted, given, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(wanted)


if __name__ == "__main__":
    main()

"""Source formats on real files: completeness, time, and files that cannot be read.

    python bench/formats.py FOLDER... [--json OUT]

The folders contain files of any built-in format, such as checkouts of py-pdf/sample-files, jsvine/pdfplumber,
microsoft/markitdown and IDPF/epub3-samples (zipped as EPUB). For each format:

- files, unreadable files by reason, and pages (or cells, slides, sheets, chapters);
- completeness: the fraction of the distinct words of a second, simpler reader that are in our text;
- time: processor time a page of our reader, and of its library alone if it has one.

Each file goes through the child processes that `qmd update` uses. Their cost is measured with 1,000 pages of
PDF: the processor time of all processes, compared with two processes that only call pypdfium2, in turns.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import statistics
import subprocess
import sys
import time
import zipfile
from collections import Counter, deque
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from common import say, table, write_json
from qmd.sources.formats import registry
from qmd.sources.read import RawBytes
from qmd.sources.reading import read_all
from qmd.types import Fingerprint, SourceFile

_WORD = re.compile(r"\w{3,}")
_TAG = re.compile(rb"<[awx]?:?t(?:\s[^>]*)?>([^<]*)</[awx]?:?t>")
#: A file is listed if less than this fraction of its words is found.
_COMPLETE = 0.98
#: Number of measurements of the time of 1,000 pages.
_ROUNDS = 3
_PDFIUM_ALONE = """
import sys, pypdfium2
for path in sys.argv[1:]:
    try:
        document = pypdfium2.PdfDocument(open(path, "rb").read())
    except pypdfium2.PdfiumError:
        continue
    for number in range(len(document)):
        document[number].get_textpage().get_text_range()
"""


class Result(Struct):
    """The results for the files of a format."""

    format: str
    files: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    named: dict[str, str] = field(default_factory=dict)  #: File by name, with the reason
    pages: int = 0
    compared: int = 0
    shares: list[float] = field(default_factory=list)
    incomplete: dict[str, float] = field(default_factory=dict)
    ours: float = 0.0  #: Processor time in seconds
    alone: float = 0.0
    timed: int = 0  #: Pages for which both readers were timed


def main() -> None:
    options = _options()
    files = sorted(path for folder in options.folders for path in folder.rglob("*") if path.is_file())
    readers = registry.Readers([registry.ALL])
    chosen = [path for path in files if registry.suffix(path.name) in registry.suffixes([registry.ALL])]
    sources = [_source(path) for path in chosen]
    results: dict[str, Result] = {}
    for outcome in read_all(sources, readers):
        path = Path(outcome.file.absolute)
        reader = readers.of(path.name)
        result = results.setdefault(reader.format.name, Result(reader.format.name))
        result.files += 1
        if outcome.error is not None:
            result.unread[outcome.failure.reason if outcome.failure else outcome.error.message] += 1
            result.named[path.name] = outcome.error.message.partition(": ")[2]
            continue
        pages = sum(max(1, len(source.anchors)) for _, source, _ in outcome.documents)
        result.pages += pages
        _compare(result, path, "\n".join(source.text for _, source, _ in outcome.documents))
        _clock(result, reader, path, pages)
    rows = []
    for result in sorted(results.values(), key=lambda each: each.format):
        mean = sum(result.shares) / len(result.shares) if result.shares else None
        rows.append(
            [
                *(result.format, result.files, sum(result.unread.values()), f"{result.pages:,}"),
                "-" if mean is None else f"{100 * mean:.2f}",
                "-" if mean is None else f"{100 * min(result.shares):.1f}",
                f"{1000 * result.ours / max(1, result.timed):.2f}",
                f"{1000 * result.alone / result.timed:.2f}" if result.alone else "-",
            ]
        )
        say(f"{result.format}: {dict(result.unread)} {result.incomplete}")
    heads = ["format", "files", "unread", "pages", "words %", "least %", "ms/page", "library alone"]
    print(table(heads, rows))
    ratio = _thousand([path for path in chosen if path.suffix == ".pdf"], readers)
    print(f"1,000 pages of PDF: {ratio}")
    if options.json is not None:
        entries = {result.format: _entry(result) for result in results.values()}
        write_json(options.json, {"formats": entries, "pdf_pages_in_child_processes": ratio})


def _thousand(paths: list[Path], readers: registry.Readers) -> dict[str, Any]:
    """Compare reading 1,000 pages of PDF in child processes with pypdfium2 alone."""
    sources = [_source(path) for path in paths]
    pages = sum(
        len(source.anchors) for outcome in read_all(sources, readers) for _, source, _ in outcome.documents
    )
    times = -(-1_000 // max(pages, 1))
    ours, alone = [], []
    for _ in range(_ROUNDS):
        alone.append(_spent(lambda: _run_alone(paths * times)))
        ours.append(_spent(lambda: deque(read_all(sources * times, readers), maxlen=0)))
    ratios = [one / other for one, other in zip(ours, alone, strict=True)]
    return {
        "pages": pages * times,
        "seconds": round(statistics.median(ours), 2),
        "seconds_alone": round(statistics.median(alone), 2),
        "ratio": round(statistics.median(ratios), 3),
    }


def _spent(work: Callable[[], object]) -> float:
    """Return the processor time of this process and of its finished child processes."""

    def now() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    began = now()
    work()
    return now() - began


def _run_alone(paths: list[Path]) -> None:
    """Extract the text of all pages in two processes, each with half of the files."""
    halves = [paths[::2], paths[1::2]]
    started = [subprocess.Popen([sys.executable, "-c", _PDFIUM_ALONE, *map(str, half)]) for half in halves]
    for process in started:
        process.wait()


def _entry(result: Result) -> dict[str, Any]:
    return {
        "files": result.files,
        "pages": result.pages,
        "unread": dict(result.unread),
        "unread_files": result.named,
        "words": round(sum(result.shares) / len(result.shares), 4) if result.shares else None,
        "least_words": round(min(result.shares), 4) if result.shares else None,
        "below_98_percent": {name: round(share, 4) for name, share in result.incomplete.items()},
        "ms_a_page": round(1000 * result.ours / max(1, result.timed), 3),
        "ms_a_page_of_the_library_alone": round(1000 * result.alone / result.timed, 3)
        if result.alone
        else None,
    }


def _source(path: Path) -> SourceFile:
    status = path.stat()
    fingerprint = Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino)
    return SourceFile(path.name, str(path), fingerprint)


def _compare(result: Result, path: Path, text: str) -> None:
    """Add the fraction of a second reader's words that are in our text."""
    second = SECOND.get(result.format)
    if second is None:
        return
    try:
        expected = set(map(str.casefold, _WORD.findall(second(path.read_bytes()))))
    except Exception as error:  # noqa: BLE001 - the second reader may fail where ours does not
        say(f"{path.name}: the second reader fails: {type(error).__name__}: {error}")
        return
    if not expected:
        return
    # Compared without spaces, because the readers may divide words in different places.
    ours = "".join(text.casefold().split())
    share = sum(word in ours for word in expected) / len(expected)
    result.compared += 1
    result.shares.append(share)
    if share < _COMPLETE:
        result.incomplete[path.name] = share


def _clock(result: Result, reader: registry.Reader, path: Path, pages: int) -> None:
    """Add the processor time of reading a file in this process, and of the library alone."""
    raw = RawBytes(path.name, path.read_bytes())
    began = time.process_time()
    registry.extract(reader, raw)
    between = time.process_time()
    alone = ALONE.get(result.format)
    if alone is not None:
        alone(raw.data)
        result.alone += time.process_time() - between
    result.ours += between - began
    result.timed += pages


# -- second readers ---------------------------------------------------------------------------------------


def _pypdf(data: bytes) -> str:
    import logging

    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


def _zipped(pattern: str) -> Callable[[bytes], str]:
    """Return a reader of the text elements in some members of an archive."""

    def read(data: bytes) -> str:
        import html

        archive = zipfile.ZipFile(io.BytesIO(data))
        members = [archive.read(name) for name in archive.namelist() if re.fullmatch(pattern, name)]
        parts = [b"".join(_TAG.findall(_paragraphs)) for each in members for _paragraphs in _split(each)]
        return html.unescape("\n".join(part.decode("utf-8", "replace") for part in parts))

    return read


def _split(member: bytes) -> list[bytes]:
    return re.split(rb"</(?:w:p|a:p|si|is)>", member)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._skip = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._skip += tag in ("script", "style", "head")
        self.parts.append(" " if tag in ("p", "div", "td", "li", "br", "tr", "th") else "")

    def handle_endtag(self, tag: str) -> None:
        self._skip -= tag in ("script", "style", "head") and self._skip > 0

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.parts.append(data)


def _html(data: bytes) -> str:
    parser = _Words()
    parser.feed(data.decode("utf-8", "replace"))
    return "".join(parser.parts)


def _epub(data: bytes) -> str:
    archive = zipfile.ZipFile(io.BytesIO(data))
    package = next(archive.read(name) for name in archive.namelist() if name.endswith(".opf"))
    spine = set(re.findall(rb"<(?:opf:)?itemref[^>]*idref=[\"']([^\"']+)", package))
    pages = []
    for item in re.findall(rb"<(?:opf:)?item\s[^>]*>", package):
        identity, href = (re.search(rb"\b%b=[\"']([^\"']+)" % key, item) for key in (b"id", b"href"))
        if identity and href and identity[1] in spine:
            name = href[1].decode().rpartition("/")[2]
            pages += [archive.read(each) for each in archive.namelist() if each.endswith("/" + name)]
    return "\n".join(map(_html, pages))


def _notebook(data: bytes) -> str:
    def strings(value: Any) -> Iterator[str]:
        if isinstance(value, list):
            yield "".join(part for part in value if isinstance(part, str))
        elif isinstance(value, str):
            yield value

    book = json.loads(data)
    cells = book.get("cells") or [cell for sheet in book.get("worksheets", ()) for cell in sheet["cells"]]
    return "\n".join(text for cell in cells for text in strings(cell.get("source", cell.get("input"))))


def _mail(data: bytes) -> str:
    message = message_from_bytes(data, policy=policy.default)
    body = message.get_body(("plain",))
    return "" if body is None or body.get_content_type() != "text/plain" else str(body.get_content())


def _mailbox(data: bytes) -> str:
    parts = re.split(rb"(?:\A|\n)From [^\n]*\d\d:\d\d[^\n]*\n", data)
    return "\n".join(map(_mail, filter(None, parts)))


SECOND: dict[str, Callable[[bytes], str]] = {
    "pdf": _pypdf,
    "docx": _zipped(r"word/(document|footnotes|endnotes|comments)\.xml"),
    "pptx": _zipped(r"ppt/slides/slide\d+\.xml"),
    "xlsx": _zipped(r"xl/sharedStrings\.xml"),
    "html": _html,
    "epub": _epub,
    "notebook": _notebook,
    "mail": _mail,
    "mailbox": _mailbox,
}


def _pdfium(data: bytes) -> None:
    import pypdfium2

    document = pypdfium2.PdfDocument(data)
    for number in range(len(document)):
        document[number].get_textpage().get_text_range()


def _calamine(data: bytes) -> None:
    import python_calamine

    book = python_calamine.load_workbook(io.BytesIO(data))
    for name in book.sheet_names:
        book.get_sheet_by_name(name).to_python()


def _docx(data: bytes) -> None:
    import docx

    document = docx.Document(io.BytesIO(data))
    "".join(paragraph.text for paragraph in document.paragraphs)
    [[cell.text for row in each.rows for cell in row.cells] for each in document.tables]


def _pptx(data: bytes) -> None:
    import pptx

    for slide in pptx.Presentation(io.BytesIO(data)).slides:
        "".join(shape.text_frame.text for shape in slide.shapes if shape.has_text_frame)


def _parse(data: bytes) -> None:
    from lxml import etree

    etree.fromstring(data, etree.HTMLParser())


ALONE: dict[str, Callable[[bytes], None]] = {
    "pdf": _pdfium,
    "xlsx": _calamine,
    "docx": _docx,
    "pptx": _pptx,
    "html": _parse,
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--json", type=Path, metavar="OUT", help="keep the results in this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()

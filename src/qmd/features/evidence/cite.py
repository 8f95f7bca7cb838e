"""`cite`: check the citations of a text."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from qmd.cli.render.view import address
from qmd.cli.session import Session
from qmd.cli.show import show_listing
from qmd.cli.terminal import BOLD, DIM, RED, YELLOW, clean_name, cut, one_line, painted
from qmd.cli.usage import Exit, fail
from qmd.config.atomic import replace_file
from qmd.errors import SourceError
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.features.evidence.types import CitationReport

_COLUMNS = (
    *("line", "column", "citation", "standing", "message", "quote", "file", "address", "first_line"),
    *("last_line", "text", "difference", "candidates", "replacement"),
)
#: The most characters of a quotation that people see, and of the difference.
_QUOTE, _DIFFERENCE = 100, 400


def check(session: Session, draft: str, fix: bool) -> None:
    """Check that what DRAFT, a file or - for stdin, cites and quotes stands where it says."""

    is_stdin = draft == "-"
    if is_stdin and fix:
        fail("--fix needs a file")
    data = sys.stdin.buffer.read() if is_stdin else _read(draft)
    # Bytes that are not UTF-8 stay as they are.
    text = data.decode("utf-8", "surrogateescape")
    folder = os.getcwd() if is_stdin else os.path.dirname(os.path.abspath(draft))
    report = session.index.cite_check(text, folder=folder)
    fixed = 0
    if fix:
        fixed = sum(item.replacement is not None for item in report.failed)
        if fixed:
            _replace(draft, data, report.fixed(text).encode("utf-8", "surrogateescape"))
    name = "-" if is_stdin else draft
    nothing = f"No citations in {clean_name(name)}."
    rows = [{**asdict(item), "file": item.file and address(item.file)} for item in report.checks]
    show_listing(
        "checks", "check", _COLUMNS, rows, nothing, names=("citation",), lines=_lines(report, name, fix)
    )
    if report.uncited:
        session.note(f"{plural(report.uncited, 'quotation')} without a citation: not checked")
    if fixed:
        session.note(f"rewrote {plural(fixed, 'citation')} in {clean_name(draft)}")
    if len(report.failed) > fixed:
        raise Exit(1)


def _lines(report: CitationReport, draft: str, fix: bool) -> Iterator[str]:
    """Yield the citations that do not hold, each with what is wrong, and a line with the numbers of all."""
    for item in report.failed:
        colour = YELLOW if item.standing == "moved" else RED
        place = f"{clean_name(draft)}:{item.line}:{item.column}"
        yield f"{painted(place, BOLD)}  {painted(item.standing, colour)}  {one_line(item.citation)}"
        if item.quote is not None:
            yield painted(f'    "{cut(one_line(item.quote), _QUOTE)}"', DIM)
        yield f"    {one_line(item.message)}{': rewritten' if fix and item.replacement is not None else ''}"
        if item.difference:
            yield f"    {cut(one_line(item.difference), _DIFFERENCE)}"
        if item.candidates and item.standing == "ambiguous":
            yield f"    {one_line(', '.join(item.candidates))}"
    counts = Counter(item.standing for item in report.checks)
    parts = ", ".join(f"{number:,} {standing}" for standing, number in sorted(counts.items()))
    yield f"{plural(len(report.checks), 'citation')}: {parts}."


def _read(draft: str) -> bytes:
    try:
        with open(draft, "rb") as file:
            return file.read()
    except OSError as error:
        raise SourceError(f"{draft}: cannot be read: {error.strerror}") from error


def _replace(draft: str, before: bytes, after: bytes) -> None:
    """Replace a file atomically, unless somebody has changed it meanwhile."""

    if _read(draft) != before:
        raise SourceError(f"{draft} has changed while it was checked", "check it again")
    replace_file(os.path.realpath(draft), after)

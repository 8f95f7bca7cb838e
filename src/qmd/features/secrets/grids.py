"""Find the columns of tables, in Markdown, HTML, CSV and TSV, by the names above them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from qmd.text.regex import lazy

#: Places of cells in a text.
_Cells: TypeAlias = list[tuple[int, int]]

#: The most characters of a row, and rows of a table, that are looked at.
_ROW, _ROWS = 4_000, 20_000
#: The most characters of HTML between the beginning of a row and a name in it.
_HTML = 800
_RULE = lazy(r"[ \t>]*+(?:\|[ \t]*+)?+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+(?:\|[ \t]*+)?+\Z")
#: Signs that the head of a table of values does not have, but code and sentences do.
_CODE = lazy(r"[={}()\[\]$<>:]|\. ")
_HTML_ROW = lazy(r"(?is)<tr\b(?:(?!<tr\b).){0,2000}")
_HTML_CELL = lazy(r"(?is)<t[hd]\b[^<>]{0,200}>((?:(?!</?t[hdr]\b).){0,1000})")
_TAG = lazy(r"<[^<>]{0,200}>")


def columns(text: str, at: int) -> tuple[str, Iterator[tuple[int, int]], int] | None:
    """Return the name above a column at a place of a text, its cells, and the end of the table.

    None if the place is in no head of a table.
    """
    start, end = text.rfind("\n", max(0, at - _ROW), at) + 1, text.find("\n", at, at + _ROW)
    if end < 0 or end - start > _ROW:
        return None
    line = text[start:end]
    if "<t" in line or "<T" in line:
        return _in_html(text, at)
    after = text.find("\n", end + 1, end + _ROW)
    following = text[end + 1 : after if after >= 0 else end + _ROW]
    if "|" in line and "-" in following and _RULE.match(following):
        return _below(text, at, start, len(text) if after < 0 else after + 1, _bars)
    for sign in "\t;," if not _CODE.search(line) else "":
        if sign in line and line.count(sign) == following.count(sign):
            return _below(text, at, start, end + 1, _separated(sign))
    return None


def _below(
    text: str, at: int, start: int, first: int, split: Callable[[str, int, int], _Cells]
) -> tuple[str, Iterator[tuple[int, int]], int] | None:
    head = split(text, start, _end(text, start))
    number = next((n for n, (left, right) in enumerate(head) if left <= at < right), None)
    if number is None:
        return None
    cells: _Cells = []
    row = first
    for _ in range(_ROWS):
        end = _end(text, row)
        if row >= len(text) or end - row > _ROW:
            break
        found = split(text, row, end)
        if len(found) < 2 or len(found) < len(head) - 1:
            break
        cells += found[number : number + 1]
        row = end + 1
    left, right = head[number]
    return text[left:right], iter(cells), row


def _end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _bars(text: str, start: int, end: int) -> _Cells:
    line = text[start:end].rstrip()
    lead = len(line) - len(line.lstrip(" \t>"))
    lead += line[lead : lead + 1] == "|"
    return _cut(text, start + lead, start + len(line) - line.endswith("|"), "|") if "|" in line else []


def _separated(sign: str) -> Callable[[str, int, int], _Cells]:
    return lambda text, start, end: _cut(text, start, end, sign) if sign in text[start:end] else []


def _cut(text: str, start: int, end: int, sign: str) -> _Cells:
    """Return the cells of a line, without blanks and quotes around them."""
    cells: _Cells = []
    left = start
    while left <= end:
        right = left
        while right < end and text[right] != sign:
            if text[right] == '"' and right == left and sign != "|":
                closing = text.find('"', right + 1, end)
                right = end - 1 if closing < 0 else closing
            right += 1
        cells.append(_stripped(text, left, min(right, end)))
        left = right + 1
    return cells


def _stripped(text: str, left: int, right: int) -> tuple[int, int]:
    while left < right and text[left] in " \t\r\"'`*":
        left += 1
    while left < right and text[right - 1] in " \t\r\"'`*":
        right -= 1
    return left, right


def _in_html(text: str, at: int) -> tuple[str, Iterator[tuple[int, int]], int] | None:
    before = max(0, at - _HTML)
    start = before + text[before:at].lower().rfind("<tr")
    if start < before:
        return None
    rows = _HTML_ROW.finditer(text, start)
    head = [match.span(1) for match in _HTML_CELL.finditer(next(rows)[0])]
    number = next((n for n, (left, right) in enumerate(head) if left <= at - start < right), None)
    if number is None:
        return None
    cells: _Cells = []
    end = start
    for _, row in zip(range(_ROWS), rows, strict=False):
        if row.start() - end > _ROW * 2:
            break
        end = row.end()
        found = [match.span(1) for match in _HTML_CELL.finditer(row[0])]
        if len(found) != len(head):
            break
        left, right = found[number]
        cells.append(_without_tags(text, row.start() + left, row.start() + right))
    left, right = head[number]
    return _TAG.sub("", text[start + left : start + right]).strip(), iter(cells), end


def _without_tags(text: str, left: int, right: int) -> tuple[int, int]:
    """Return a cell without the tags around its text."""
    while match := _TAG.match(text, left, right):
        left = match.end()
    inner = text.find("<", left, right)
    return _stripped(text, left, right if inner < 0 else inner)

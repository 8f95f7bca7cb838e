"""PDF by pypdfium2: the text of the pages, without headers and footers that repeat."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from msgspec import Struct

from qmd.features.formats.columns import RowPart, in_columns
from qmd.sources.formats.base import DAMAGED, ENCRYPTED, NO_TEXT, SCAN, TOO_LARGE, RawFile, Unreadable
from qmd.sources.formats.recognized import Seen, seen_in
from qmd.sources.formats.writing import Fields, Writer, properties
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "pdf"
version = 7
media_type = "text/plain"

_MAX_PAGES = 20_000
#: The most bookmarks that become headings, and the most lines that one of them has on its page.
_MAX_BOOKMARKS, _BOOKMARK_LINES = 5_000, 3
#: A line is a header or footer if it is on this share of the pages, and on this many.
_SHARE, _REPEATS = 0.5, 3
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
#: Line ends inside of sentences. The line end comes first, because a literal beginning is found fast.
_JOINED = re.compile(rf"\n(?<=[{_CJK}、，]\n)(?=[{_CJK}])")
_WRAPPED = re.compile(r"\n(?<=[\w,;’'\")–-]\n)(?=[a-zà-öø-ÿα-ωа-я(])")
#: The number of a page in a header or footer: `12 Title`, `Title | xii`, `Page 2 of 9`, `第 2 页`.
_NUMBER = re.compile(
    r"\A\W*(?:\d++|[ivxlc]++)\b|\b(?:\d++|[ivxlc]++)\W*\Z"
    r"|(?<!\d)\d++(?=\s*(?:(?:of|von|de|sur|di|/)\s*\d+|页|頁|ページ|쪽)\W*\Z)"
)
#: The numbers at the ends of a line.
_AT_ENDS = re.compile(r"\A\W*(\d{1,5})\b|\b(\d{1,5})\W*\Z")
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")
#: Titles that programs make up.
_MADE_UP = re.compile(
    r"untitled|\W*\Z|microsoft (word|powerpoint|excel) - "
    r"|.*\.(docx?|pptx?|xlsx?|dvi|tex|indd|qxd|rtf|odt|html?)\Z",
    re.I,
)
_NUMBERING = re.compile(r"\A[\d.\s]+")
#: The share of a page's height at each edge with headers and footers, and their most lines and characters.
_EDGE, _EDGE_LINES, _EDGE_CHARACTERS = 0.15, 2, 100
#: The most annotations of a page that are looked at.
_MAX_ANNOTATIONS = 2_000
_PASSWORD = 1 << 13
#: The fewest rows of columns, and the most parts of a page that are looked at for columns.
_LEAST_ROWS, _MAX_PARTS = 3, 3_000
#: The character of pdfium for a hyphen at the end of a line, and the soft hyphen.
_HYPHEN = re.compile("[\ufffe\u00ad][ \t]*\n[ \t]*|[\ufffe\u00ad]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]+")
#: The number that pdfium writers append to the parts of a field's name.
_COUNTER = re.compile(r"\[\d+\]\Z")


class Page(Struct, frozen=True):
    """The text of a page.

    Attributes:
        lines: The lines; none if the page has no text.
        edges: The numbers of the short lines at the top and bottom edge, from 0.
        values: The filled fields of a form, and the notes that readers have written, a part each.
    """

    lines: list[str]
    edges: frozenset[int] = frozenset()
    values: tuple[str, ...] = ()

    @property
    def blank(self) -> bool:
        """True if the page has no text and no values."""
        return not (self.lines or self.values)


def extract(file: RawFile) -> Extracted:
    document = _opened(file)
    pages, broken = _pages(document)
    seen = seen_in(file)
    pages = [_with_seen(page, seen.get(number)) for number, page in enumerate(pages, 1)]
    if all(page.blank for page in pages):
        raise Unreadable(DAMAGED if len(broken) == len(pages) else NO_TEXT if seen else SCAN)
    blank = [number for number, page in enumerate(pages, 1) if page.blank and number not in {*broken, *seen}]
    metadata = document.get_metadata_dict()
    fields = {**_fields(metadata), "pages": (float(len(pages)),)}
    writer = Writer("page")
    writer.add(str(fields["subject"][0]))
    first = _write(writer, pages, _bookmarks(document, len(pages)))
    title = one_line(metadata.get("Title") or "")
    omitted = [f"{_listed(blank)} without a text layer"] if blank else []
    omitted += [f"{_listed(broken)}: damaged"] if broken else []
    omitted += [f"page {number}: {page.why}" for number, page in seen.items() if page.why]
    return Extracted(
        writer.text,
        first if _MADE_UP.match(title) else title,
        fields,
        anchors=writer.anchors,
        omitted=tuple(omitted),
        structure=writer.structure,
    )


def _opened(file: RawFile) -> Any:
    """Return the document of pypdfium2."""
    from pypdfium2 import PdfDocument, PdfiumError

    if b"%PDF-" not in file.data[:1024]:
        raise Unreadable(DAMAGED, "not a PDF file")
    try:
        document = PdfDocument(file.data)
    except PdfiumError as error:
        if "password" in str(error).lower():
            raise Unreadable(ENCRYPTED) from error
        raise Unreadable(DAMAGED, str(error)) from error
    with suppress(PdfiumError):  # the pages may be whole although the form is not
        document.init_forms()
    if len(document) > _MAX_PAGES:
        raise Unreadable(TOO_LARGE, f"{len(document):,} pages")
    return document


def _write(writer: Writer, pages: Sequence[Page], bookmarks: Mapping[int, list[tuple[int, str]]]) -> str:
    """Write the pages, and return the first line that can be a title."""
    repeated, least, shift = _repeated(pages), _least(pages), _shift(pages)
    first = ""
    for number, page in enumerate(pages, 1):
        writer.anchor(number)
        kept = _without_repeated(page, repeated, least, None if shift is None else number + shift)
        first = first or next((line for line in kept if _is_title(line)), "")
        for level, lines in _divided(kept, bookmarks.get(number, [])):
            if level:
                writer.add_heading(one_line(" ".join(lines)), level)
            else:
                writer.add(joined(lines))
        writer.add("\n\n".join(page.values))
    return first


def joined(lines: Sequence[str]) -> str:
    """Return the lines of a page as a text, whose sentences have no line ends of the page."""
    return _WRAPPED.sub(" ", _JOINED.sub("", "\n".join(lines)))


def _with_seen(page: Page, seen: Seen | None) -> Page:
    """Return a page with the text recognized in it, if it has no other."""
    return Page(_lines(seen.text), values=page.values) if seen is not None and not page.lines else page


def _pages(document: Any) -> tuple[list[Page], list[int]]:
    """Return the pages, and the numbers of those that cannot be read."""
    from pypdfium2 import PdfiumError

    pages: list[Page] = []
    broken: list[int] = []
    length = 0
    for number in range(len(document)):
        page = Page([])
        try:
            page = read_page(document, number)
        except PdfiumError:
            broken.append(number + 1)
        length += sum(map(len, page.lines)) + sum(map(len, page.values))
        if length > 20_000_000:
            raise Unreadable(TOO_LARGE, "more than 20 million characters of text")
        pages.append(page)
    return pages, broken


def _repeated(pages: Sequence[Page]) -> Counter[str]:
    """Return how many pages have the lines that may be a header or footer, without their numbers."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(set(_forms(page).values()))
    return counts


def _shift(pages: Sequence[Page]) -> int | None:
    """Return what is printed as the number of the first page, less one; None if pages have no numbers."""
    counts: Counter[int] = Counter()
    for number, page in enumerate(pages, 1):
        counts.update({printed - number for at in page.edges for printed in _printed(page.lines[at])})
    shift, count = max(counts.items(), key=lambda each: each[1], default=(0, 0))
    return shift if count >= _least(pages) else None


def _least(pages: Sequence[Page]) -> float:
    """Return on how many pages a line is a header or footer."""
    return max(_REPEATS, _SHARE * sum(1 for page in pages if page.lines))


def _printed(line: str) -> set[int]:
    """Return the numbers at both ends of a line, one of which may be that of the page."""
    return {int(part) for match in _AT_ENDS.finditer(line) for part in match.groups() if part}


def _forms(page: Page) -> dict[int, str]:
    """Return the lines that may be a header or footer, without page numbers if there are other lines."""
    body = any(line.strip() for at, line in enumerate(page.lines) if at not in page.edges)
    lines = {at: " ".join(page.lines[at].split()).casefold() for at in sorted(page.edges)}
    return {at: _NUMBER.sub("", line).strip() if body else line for at, line in lines.items()}


def _without_repeated(page: Page, repeated: Counter[str], least: float, printed: int | None) -> list[str]:
    """Return the lines of a page without headers and footers. Words stay where they stand first.

    Args:
        page: The page.
        repeated: The pages with each line, negative if its words stand on an earlier page.
        least: The number of pages with a line from which it is a header or footer.
        printed: The number of the page. With words of two pages, or of another line, it is a header.
    """
    dropped = set()
    for at, form in _forms(page).items():
        line, count = page.lines[at], abs(repeated[form])
        numbered = printed in _printed(line)
        words = _AT_ENDS.sub("", line).strip() if numbered else ""
        if numbered and any(words in other for each, other in enumerate(page.lines) if each != at):
            dropped.add(at)
        elif count >= (2 if numbered else least):
            if repeated[form] < 0 or not any(char.isalpha() for char in form):
                dropped.add(at)
            repeated[form] = -count
    return [line for at, line in enumerate(page.lines) if at not in dropped]


def _bookmarks(document: Any, pages: int) -> dict[int, list[tuple[int, str]]]:
    """Return (level, title) of the bookmarks by page."""
    found: dict[int, list[tuple[int, str]]] = {}
    for count, (level, title, page) in enumerate(_toc(document)):
        if count >= _MAX_BOOKMARKS:
            break
        if 0 <= page < pages and title:
            found.setdefault(page + 1, []).append((level, title))
    return found


def _toc(document: Any) -> Iterator[tuple[int, str, int]]:
    for bookmark in document.get_toc(max_depth=6):
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        if page is not None:
            yield int(bookmark.level), one_line(bookmark.get_title()), int(page)


def _divided(lines: list[str], bookmarks: Sequence[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield (level, lines) of the headings and texts of a page; the level of a text is 0.

    The lines that a bookmark leads to are a heading. A bookmark without a line is a heading above all.
    """
    headings: dict[int, tuple[int, int]] = {}  # the number of lines, and the level, by the first line
    for level, title in bookmarks:
        bare = _bare(title)
        places = [*_places(lines, bare)] if bare else []
        # The head of a page may say the same in capitals.
        exact = (place for place in places if title in " ".join(lines[place[0] : sum(place)]))
        at, count = next(exact, places[0] if places else (0, 0))
        if count:
            headings[at] = count, level + 2
        else:
            yield level + 2, [title]
    before = 0
    for at, (count, level) in sorted(headings.items()):
        if at >= before:
            yield 0, lines[before:at]
            yield level, lines[at : at + count]
            before = at + count
    yield 0, lines[before:]


def _places(lines: Sequence[str], bare: str) -> Iterator[tuple[int, int]]:
    """Yield (number, count) of neighbouring lines that together are a title."""
    parts = [_bare(line) for line in lines]
    for at, part in enumerate(parts):
        if part and bare.startswith(part):
            for count in range(1, _BOOKMARK_LINES + 1):
                if "".join(parts[at : at + count]) == bare:
                    yield at, count


def _bare(text: str) -> str:
    return "".join(_NUMBERING.sub("", text.strip()).split()).casefold()


def _is_title(line: str) -> bool:
    return 4 <= len(line.strip()) <= 150 and sum(char.isalpha() for char in line) > len(line) / 2


def _fields(metadata: dict[str, str]) -> Fields:
    date = _DATE.match(metadata.get("CreationDate") or "")
    day = "-".join(part for part in date.groups() if part) if date else ""
    subject = one_line(metadata.get("Subject") or "")
    return {**properties(metadata.get("Author"), day, metadata.get("Keywords")), "subject": (subject,)}


def _listed(numbers: Sequence[int]) -> str:
    """Return `page 3` or `5 pages (1, 2, 3, ...)`."""
    if len(numbers) == 1:
        return f"page {numbers[0]}"
    more = ", ..." if len(numbers) > 10 else ""
    return f"{len(numbers):,} pages ({', '.join(map(str, numbers[:10]))}{more})"


def read_page(document: Any, number: int) -> Page:
    """Read a page by its number from 0. Raises `PdfiumError` if it is damaged."""
    page = document[number]
    text_page = page.get_textpage()
    lines = _lines(_in_columns(page, text_page) or text_page.get_text_range())
    edges = frozenset(_edges(page, text_page, lines)) if lines else frozenset()
    values = tuple(dict.fromkeys(_values(document.formenv, page)))
    text_page.close()
    page.close()
    return Page(lines, edges, values)


def _in_columns(page: Any, text_page: Any) -> str | None:
    """Return the text of a page whose columns are drawn row by row."""
    if page.get_rotation():
        return None
    count = text_page.count_rects()
    if not 2 * _LEAST_ROWS <= count <= _MAX_PARTS:
        return None
    parts = [RowPart(*text_page.get_rect(at)) for at in range(count)]

    def read(part: RowPart) -> str:
        return " ".join(text_page.get_text_bounded(*part).split())

    return in_columns(parts, read)


def _lines(text: str) -> list[str]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\ufffe" in text or "\u00ad" in text:
        text = _HYPHEN.sub("", text)
    lines = [line.rstrip() for line in _CONTROLS.sub("", text).split("\n")]
    return lines if any(lines) else []


def _edges(page: Any, text_page: Any, lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the first lines in the top edge and of the last ones in the bottom edge."""
    left, bottom, right, top = page.get_bbox()
    height, width = _EDGE * (top - bottom), _EDGE * (right - left)
    upper, lower = {
        0: ({"bottom": top - height}, {"top": bottom + height}),
        90: ({"right": left + width}, {"left": right - width}),
        180: ({"top": bottom + height}, {"bottom": top - height}),
        270: ({"left": right - width}, {"right": left + width}),
    }[page.get_rotation()]
    numbers = range(len(lines))
    for edge, order in ((upper, numbers), (lower, reversed(numbers))):
        inside = {" ".join(line.split()) for line in _lines(text_page.get_text_bounded(**edge))}
        at_edge = (at for at in order if lines[at].strip() and " ".join(lines[at].split()) in inside)
        yield from (at for at in islice(at_edge, _EDGE_LINES) if len(lines[at].strip()) <= _EDGE_CHARACTERS)


def _values(form: Any, page: Any) -> Iterator[str]:
    """Yield `name: value` of the fields of a page that the user has filled, and the notes of readers."""
    import pypdfium2.raw as pdfium

    with_text = {
        getattr(pdfium, f"FPDF_FORMFIELD_{kind}")
        for kind in ("TEXTFIELD", "COMBOBOX", "LISTBOX", "CHECKBOX", "RADIOBUTTON")
    }
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, at)
        if not annotation:
            continue
        subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
        if subtype != pdfium.FPDF_ANNOT_WIDGET:
            note = _string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents").strip()
            if note and subtype not in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
                yield "\n".join(_lines(note))
        elif form:
            kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
            flags = pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation)
            is_password = kind == pdfium.FPDF_FORMFIELD_TEXTFIELD and flags & _PASSWORD
            if kind in with_text and not is_password:
                value = _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation).strip()
                if value not in ("", "Off"):  # boxes that are not checked are off
                    yield f"{_label(form, annotation)}: {value}"
        pdfium.FPDFPage_CloseAnnot(annotation)


def _label(form: Any, annotation: Any) -> str:
    """Return the name of a field as people see it, otherwise the last part of its full name."""
    import pypdfium2.raw as pdfium

    shown = one_line(_string(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation))
    name = _string(pdfium.FPDFAnnot_GetFormFieldName, form, annotation).rpartition(".")[2]
    return shown or _COUNTER.sub("", one_line(name)) or "Field"


def _string(function: Callable[..., int], *arguments: Any) -> str:
    """Call a function of pdfium that writes UTF-16 into a buffer."""
    size = function(*arguments, None, 0)
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    function(*arguments, buffer, size)
    return bytes(buffer)[:size].decode("utf-16-le", "replace").rstrip("\0")

"""A page of a PDF: its lines, which of them stand at its edges, and the values of its form."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from qmd.text.outline import one_line

#: The share of a page's height at each edge with headers and footers, and their most lines and characters.
_EDGE, _EDGE_LINES, _EDGE_CHARACTERS = 0.15, 2, 100
#: The most annotations of a page that are looked at.
_MAX_ANNOTATIONS = 2_000
_PASSWORD = 1 << 13
#: What pdfium returns for a hyphen at the end of a line, and the soft hyphen.
_HYPHEN = re.compile("[\ufffe\u00ad][ \t]*\n[ \t]*|[\ufffe\u00ad]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]+")
#: The number that pdfium writers append to the parts of a field's name.
_COUNTER = re.compile(r"\[\d+\]\Z")


class Page(Struct, frozen=True):
    """The text of a page.

    Attributes:
        lines: The lines; none if the page has no text.
        edges: The numbers of the short lines at the top and bottom edge, from 0.
        values: The filled fields of a form, a line each.
    """

    lines: list[str]
    edges: frozenset[int] = frozenset()
    values: tuple[str, ...] = ()

    @property
    def blank(self) -> bool:
        """Whether the page has no text and no values."""
        return not (self.lines or self.values)


def read_page(document: Any, number: int) -> Page:
    """Read a page by its number from 0. Raises `PdfiumError` if it is damaged."""
    page = document[number]
    text_page = page.get_textpage()
    lines = _lines(text_page.get_text_range())
    edges = frozenset(_edges(page, text_page, lines)) if lines else frozenset()
    values = tuple(dict.fromkeys(_values(document.formenv, page))) if document.formenv else ()
    text_page.close()
    page.close()
    return Page(lines, edges, values)


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
    """Yield `name: value` of the fields of a page that the user has filled."""
    import pypdfium2.raw as pdfium

    with_text = {
        getattr(pdfium, f"FPDF_FORMFIELD_{kind}")
        for kind in ("TEXTFIELD", "COMBOBOX", "LISTBOX", "CHECKBOX", "RADIOBUTTON")
    }
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, at)
        if not annotation:
            continue
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


def _string(function: Callable[..., int], form: Any, annotation: Any) -> str:
    """Call a function of pdfium that writes UTF-16 into a buffer."""
    size = function(form, annotation, None, 0)
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    function(form, annotation, buffer, size)
    return bytes(buffer)[:size].decode("utf-16-le", "replace").rstrip("\0")

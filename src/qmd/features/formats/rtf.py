"""Rich text (RTF) by striprtf: the text without its styles. Images and embedded objects are left out."""

from __future__ import annotations

import re
from typing import Any

from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.parts import Parts
from qmd.sources.formats.writing import properties
from qmd.types import Extracted

name = "rtf"
version = 2
media_type = "text/plain"

#: Groups of the document's information, and the bytes at the beginning that contain it.
_INFORMATION, _HEAD = re.compile(r"\{\\(title|author|keywords)\s([^{}]*)\}"), 100_000
#: Places where a line end, which means nothing in RTF, keeps the patterns of striprtf linear: they look for
#: the rest of a field and of a font on the same line. Addresses of links are left out for the same reason.
_BREAKS = re.compile(r"(?<!\\)(?=\{?\\field|\\f\d)|(?<=hyper)(?=link)", re.I)
_CHARSET = re.compile(r"\\fcharset\d+")
_CODE_PAGE = re.compile(r"\\ansicpg\d+")


def extract(file: RawFile) -> Extracted:
    source = file.data.decode("latin-1")
    if not source.lstrip().startswith("{\\rtf"):
        raise Unreadable(DAMAGED, "not an RTF file")
    page = _CODE_PAGE.search(source[:_HEAD])
    prefix = f"{{\\rtf1{page[0] if page else ''} "
    about = {key: _text(f"{prefix}{value}}}") for key, value in _INFORMATION.findall(source[:_HEAD])}
    fields = properties(about.get("author"), "", about.get("keywords"))
    text = _text(source).strip("\n") + "\n"
    return Extracted(text, about.get("title", ""), fields, structure=Parts().structure(text))


def _text(source: str) -> str:
    """Return the text of RTF. It writes characters beyond 16 bits as two halves."""
    from striprtf import striprtf

    convert: Any = striprtf.rtf_to_text
    bounded = _CHARSET.sub(r"\g<0> ;", _BREAKS.sub("\n", source))
    text: str = convert(bounded, errors="replace")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""Plain text and logs: the text as it is. Headings and the fields at its top are read from it."""

from __future__ import annotations

from qmd.sources.formats.base import RawFile
from qmd.text import front_matter
from qmd.text.markdown.reading import read
from qmd.text.outline import first_heading
from qmd.types import Extracted

name = "text"
version = 3
media_type = "text/plain"


def extract(file: RawFile) -> Extracted:
    text = file.text()
    structure = read(text).structure
    head = front_matter.of(text)
    title = head.stated.get("title") or first_heading(text, structure)
    return Extracted(text, title, head.fields, omitted=(*head.omitted,), structure=structure)

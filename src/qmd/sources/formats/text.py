"""Plain text and logs: the text as it is. Nothing but headings is read from it."""

from __future__ import annotations

from qmd.sources.formats.base import RawFile
from qmd.text.markdown.reading import read
from qmd.text.outline import first_heading
from qmd.types import Extracted

name = "text"
version = 2
media_type = "text/plain"


def extract(file: RawFile) -> Extracted:
    text = file.text()
    structure = read(text).structure
    return Extracted(text, first_heading(text, structure), structure=structure)

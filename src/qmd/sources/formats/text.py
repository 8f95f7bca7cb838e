"""Plain text and logs: the text as it is. Nothing but headings is read from it."""

from __future__ import annotations

from qmd.sources.formats.base import RawFile
from qmd.text.blocks import blocks
from qmd.text.outline import heading_text
from qmd.types import Extracted

name = "text"
version = 1
media_type = "text/plain"


def extract(file: RawFile) -> Extracted:
    text = file.text()
    heading = next((block for block in blocks(text) if block.kind == "heading"), None)
    return Extracted(text, heading_text(heading.content) if heading else "")

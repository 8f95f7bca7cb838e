"""Markdown, and every text whose suffix no other format has."""

from __future__ import annotations

from msgspec.structs import replace

from qmd.sources.formats.base import RawFile
from qmd.types import Extracted
from qmd.types.content import MARKDOWN, MARKDOWN_VERSION

name = MARKDOWN
version = MARKDOWN_VERSION
media_type = "text/markdown"


def extract(file: RawFile) -> Extracted:
    from qmd.text import extraction  # scans without a change start without it

    text = file.text()
    found = extraction.extract(text, file.path)
    if not file.beside:
        return found
    from qmd.sources.formats.recognized import shown_in

    whole = extraction.extract(text + shown_in(file, text), file.path)
    return replace(whole, title=found.title, fields=found.fields, links=found.links)

"""Markdown, and every text whose suffix no other format has."""

from __future__ import annotations

from qmd.sources.formats.base import RawFile
from qmd.types import Extracted
from qmd.types.content import MARKDOWN, MARKDOWN_VERSION

name = MARKDOWN
version = MARKDOWN_VERSION
media_type = "text/markdown"


def extract(file: RawFile) -> Extracted:
    from qmd.text import extraction  # scans without a change start without it

    return extraction.extract(file.text(), file.path)

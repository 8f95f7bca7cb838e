"""Markdown, and every text whose suffix no other format has."""

from __future__ import annotations

from qmd.sources.formats.base import RawFile
from qmd.text import extraction
from qmd.types import Extracted

name = extraction.MARKDOWN
version = extraction.VERSION
media_type = "text/markdown"


def extract(file: RawFile) -> Extracted:
    return extraction.extract(file.text(), file.path)

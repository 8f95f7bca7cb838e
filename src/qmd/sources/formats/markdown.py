"""Markdown, and every text whose suffix no other format has."""

from __future__ import annotations

from qmd.sources.formats.base import RawFile
from qmd.text import extraction
from qmd.types import Extracted

name = extraction.MARKDOWN
# 2: fields of nested maps, TOML and JSON; tags and links outside indented code and HTML
# 3: code, comments and headings in lists and quotes
# 4: text with invalid bytes, and in charsets that were not known before
version = 4
media_type = "text/markdown"


def extract(file: RawFile) -> Extracted:
    return extraction.extract(file.text(), file.path)

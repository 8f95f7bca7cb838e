"""Parts of what is read from Markdown, for tests of one of them."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.text.chunking import chunk as chunk_of
from qmd.text.markdown.reading import Block, read
from qmd.text.outline import first_heading as first_heading_of, sections as sections_of
from qmd.text.spans import blanked
from qmd.types import Chunk, Section
from qmd.types.structure import Span


def blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of a text below its front matter."""
    return read(text).blocks


def fences(text: str) -> list[Span]:
    """Return the spans of code fences and verbatim HTML."""
    return read(text).structure.verbatim_spans()


def only_text(text: str) -> str:
    """Return a text with blanks in place of what is not read."""
    return blanked(text, read(text).structure.unread_spans())


def sections(text: str) -> tuple[Section, ...]:
    """Return the sections of a text."""
    return sections_of(text, read(text).structure)


def chunk(text: str, offsets: Sequence[tuple[int, int]], **sizes: int) -> list[Chunk]:
    """Return the chunks of a text."""
    return chunk_of(text, offsets, read(text).structure, **sizes)


def first_heading(text: str) -> str:
    """Return the first heading of a text."""
    return first_heading_of(text, read(text).structure)

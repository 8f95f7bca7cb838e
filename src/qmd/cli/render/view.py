"""What a format needs to know besides the hits or pages themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qmd.engine.documents import Page, Skipped
    from qmd.types import Document, Hit

#: Spans (start, end) to highlight in a text.
Highlights = Callable[[str], list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class View:
    """How to show things. `roots` (collection → folder) is given where paths on disk are wanted.

    `terminal` says whether a person reads it; `width`, `colours`, `highlights` and `editor` (the address of a
    file at a line) are that terminal's.
    """

    full: bool = False
    line_numbers: bool = False
    explain: bool = False
    roots: Mapping[str, str] | None = None
    terminal: bool = False
    width: int = 80
    colours: bool = False
    highlights: Highlights | None = None
    editor: Callable[[Hit], str] | None = None

    def file(self, item: Hit | Document) -> str:
        """The path for people: the display path, or that on disk."""
        return item.file if self.roots is None else on_disk(self.roots, item)

    def address(self, item: Hit | Document) -> str:
        """The path for programs: a `qmd://` address, or the path on disk. `get` takes either."""
        return address(item.file) if self.roots is None else on_disk(self.roots, item)

    def text(self, hit: Hit) -> str:
        """What is shown of a hit: its snippet or all of it, with the file's line numbers where wanted."""
        if self.full and hit.body is not None:
            return self.numbered(hit.body.removesuffix("\n"), 1)
        return self.numbered(hit.snippet.text, hit.snippet.first_line)

    def page(self, page: Page) -> str:
        """A page's text, numbered where wanted, and the line that says how much was cut."""
        text = page.text
        if self.line_numbers:
            text = self.numbered(text.removesuffix("\n"), page.first_line)
        return text + cut_mark(page)

    def numbered(self, text: str, first_line: int) -> str:
        if not self.line_numbers:
            return text
        from qmd.text.snippet import numbered

        return numbered(text, first_line)


def address(file: str) -> str:
    """`qmd://` and a display path; only a `%` that would be decoded is encoded."""
    return "qmd://" + re.sub(r"%(?=[0-9A-Fa-f]{2})", "%25", file)


def on_disk(roots: Mapping[str, str], item: Hit | Document) -> str:
    """The absolute path of a document's file."""
    return f"{roots[item.collection].rstrip('/')}/{item.path}"


def cut_mark(page: Page) -> str:
    """What follows a text that was cut."""
    return f"\n\n[... truncated {page.more} more lines]" if page.more else ""


def kilobytes(item: Skipped) -> int:
    """A skipped document's size, at least 1."""
    return max(1, round(item.bytes / 1024))


def skipped_because(item: Skipped) -> str:
    """Why a document was left out, and how to have it all the same."""
    import shlex

    command = f"qmd get {shlex.quote(item.document.file)}"
    return f"File too large ({kilobytes(item)}KB). Use '{command}' to retrieve."

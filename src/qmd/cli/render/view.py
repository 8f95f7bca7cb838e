"""What a format needs to know besides the hits or pages themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qmd.text.uris import encode_path

if TYPE_CHECKING:
    from qmd.engine.documents.library import Page, Skipped
    from qmd.types import Document, Hit

#: What is encoded in an address: escapes that are none, and whatever ends a line to some program.
_TO_ENCODE = re.compile("%(?=[0-9A-Fa-f]{2})|[\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029]")

#: Spans (start, end) to highlight in a text.
Highlights = Callable[[str], list[tuple[int, int]]]


class Disk:
    """Where documents lie. `roots` has each collection's folder; paths are told from `current`."""

    def __init__(self, roots: Mapping[str, str], current: str) -> None:
        self._roots = {name: os.path.realpath(root) for name, root in roots.items()}
        self._here = os.path.join(os.path.realpath(current), "")
        self._known: dict[str, str | None] = {}

    @property
    def missing(self) -> int:
        """How many of the documents asked for have lost their files."""
        return sum(path is None for path in self._known.values())

    def absolute(self, item: Hit | Document) -> str:
        """The path of a document's file, whether or not that is there."""
        return os.path.join(self._roots[item.collection], item.path)

    def path(self, item: Hit | Document) -> str | None:
        """From the current folder on with `./` where it is below that; None where the file has gone."""
        if item.file not in self._known:
            absolute = self.absolute(item)
            below = f"./{absolute.removeprefix(self._here)}" if absolute.startswith(self._here) else absolute
            self._known[item.file] = below if os.path.exists(absolute) else None
        return self._known[item.file]


@dataclass(frozen=True, slots=True)
class View:
    """How to show things. `disk` is given where paths on disk are wanted in place of addresses and docids.

    `exact` leaves out the line that says how much of a document was cut: those lines alone were asked for.
    `terminal` says whether a person reads it; `width`, `colours`, `highlights` and `editor` (the address of a
    file at a line) are that terminal's.
    """

    full: bool = False
    line_numbers: bool = False
    explain: bool = False
    disk: Disk | None = None
    exact: bool = False
    terminal: bool = False
    width: int = 80
    colours: bool = False
    highlights: Highlights | None = None
    editor: Callable[[Hit | Document, int], str] | None = None

    def file(self, item: Hit | Document) -> str:
        """The path for people: the display path, or that on disk. `get` takes either."""
        return self._on_disk(item) or (item.file if self.disk is None else address(item.file))

    def address(self, item: Hit | Document) -> str:
        """The path for programs: a `qmd://` address, or the path on disk. `get` takes either."""
        return self._on_disk(item) or address(item.file)

    def docid(self, item: Hit | Document) -> str | None:
        """The docid; None where a path on disk says already which file it is."""
        return None if self._on_disk(item) else item.docid

    def _on_disk(self, item: Hit | Document) -> str | None:
        return None if self.disk is None else self.disk.path(item)

    def text(self, hit: Hit) -> str:
        """What is shown of a hit: its snippet or all of it, with the file's line numbers where wanted."""
        if self.full and hit.body is not None:
            return self.numbered(hit.body.removesuffix("\n"), 1)
        return self.numbered(hit.snippet.text, hit.snippet.first_line)

    def page(self, page: Page) -> str:
        """A page's text, numbered where wanted; and how much was cut, unless the cut was asked for."""
        text = page.text
        if self.line_numbers:
            # The line feed at the end of a whole document begins no line; a part ends without one.
            text = self.numbered(text.removesuffix("\n") if page.whole else text, page.first_line)
        return text if self.exact or page.counted else text + cut_mark(page)

    def numbered(self, text: str, first_line: int) -> str:
        if not self.line_numbers:
            return text
        from qmd.text.snippet import numbered

        return numbered(text, first_line)


def address(file: str) -> str:
    """`qmd://` and a display path; only what would be decoded, or would end a line, is encoded."""
    return "qmd://" + _TO_ENCODE.sub(lambda match: encode_path(match[0]), file)


def cut_mark(page: Page) -> str:
    """What follows a text that was cut."""
    return f"\n\n[... truncated {page.more} more lines]" if page.more else ""


def skipped_because(item: Skipped) -> str:
    """Why a document was left out, and how to have it all the same."""
    import shlex

    command = f"qmd get {shlex.quote(item.document.file)}"
    return f"File too large ({item.kilobytes}KB). Use '{command}' to retrieve."

"""Options of an output format: paths, line numbers, colours, width."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from qmd.cli.record import Record
from qmd.cli.terminal import clean, clean_for_pipe, shell_words, styled
from qmd.text.regex import lazy
from qmd.text.uris import encode_path

if TYPE_CHECKING:
    from qmd.engine.documents.pages import Page, Skipped
    from qmd.types import Anchor, Document, Hit

#: Between two passages of a document.
PASSAGE_GAP = "\n[...]\n"
#: Characters to encode in an address: % before two hexadecimal digits, and all line separators.
_TO_ENCODE = lazy("%(?=[0-9A-Fa-f]{2})|[\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029]")

#: Spans (start, end) to highlight in a text.
Highlights = Callable[[str], list[tuple[int, int]]]


class Disk:
    """Paths on disk. `roots` has each collection's folder; paths below `current` are relative to it."""

    def __init__(self, roots: Mapping[str, str], current: str) -> None:
        self._roots = {name: os.path.realpath(root) for name, root in roots.items()}
        self._here = os.path.join(os.path.realpath(current), "")
        self._paths: dict[str, str | None] = {}

    @property
    def missing(self) -> int:
        """The number of documents looked up whose files are missing."""
        return sum(path is None for path in self._paths.values())

    def absolute(self, item: Hit | Document) -> str:
        """Return the absolute path of a document's file, which may be missing."""
        root = self._roots[item.collection]
        if "#" not in item.path or os.path.lexists(whole := os.path.join(root, item.path)):
            return os.path.join(root, item.path)
        from qmd.sources.formats.registry import file_of

        file = os.path.join(root, file_of(item.path))
        return file if os.path.lexists(file) else whole

    def path(self, item: Hit | Document) -> str | None:
        """Return the path, relative if it is below the current folder, or None if the file is missing."""
        if item.file not in self._paths:
            absolute = self.absolute(item)
            below = f"./{absolute.removeprefix(self._here)}" if absolute.startswith(self._here) else absolute
            self._paths[item.file] = below if os.path.exists(absolute) else None
        return self._paths[item.file]


class View(Record):
    """The options for showing results."""

    #: Show whole documents instead of snippets.
    full: bool = False
    line_numbers: bool = False
    #: Show how each result was ranked.
    explain: bool = False
    #: Makes paths on disk, which replace addresses and docids if it is given.
    disk: Disk | None = None
    #: Omit the line that says how much of a document was cut.
    exact: bool = False
    terminal: bool = False
    #: Escape control characters of texts also where no terminal shows them.
    escapes: bool = False
    width: int = 80
    #: The lines of the terminal that results may take; 0 if any number.
    height: int = 0
    colours: bool = False
    #: A note on parts that were left out to stay within a number of tokens.
    note: str = ""
    #: Finds the spans to highlight in a text.
    highlights: Highlights | None = None
    #: Makes the address that opens a file in an editor at a line, or at an anchor.
    editor: Callable[[Hit | Document, int, Anchor | None], str] | None = None

    def styled(self, text: str, *codes: str) -> str:
        """Return the text in bold, a colour and so on, if the view has colours."""
        return styled(text, *codes) if self.colours else text

    def shown(self, text: str) -> str:
        """Return a text of a document without what could steer a terminal, as far as the view escapes it."""
        if self.terminal:
            return clean(text)
        return clean_for_pipe(text) if self.escapes else text

    def written(self, text: str) -> str:
        """Return the text of a format for programs, which a terminal may show."""
        return self.shown(text)

    def file(self, item: Hit | Document) -> str:
        """Return the path for people: the display path or the path on disk. `get` accepts both."""
        return self._on_disk(item) or (item.file if self.disk is None else address(item.file))

    def address(self, item: Hit | Document) -> str:
        """Return the path for programs: a `qmd://` address or the path on disk. `get` accepts both."""
        return self._on_disk(item) or address(item.file)

    def docid(self, item: Hit | Document) -> str | None:
        """Return the docid, or None if a path on disk identifies the document."""
        return None if self._on_disk(item) else item.docid

    def _on_disk(self, item: Hit | Document) -> str | None:
        return None if self.disk is None else self.disk.path(item)

    def passage(self, hit: Hit) -> tuple[str, int]:
        """Return the snippet of a hit, or its whole text if `full` is set, and its first line's number."""
        if self.full and hit.body is not None:
            return hit.body.removesuffix("\n"), 1
        return hit.snippet.text, hit.snippet.first_line

    def passages(self, hit: Hit) -> list[tuple[str, int]]:
        """Return all passages of a hit as `passage` does, or its whole text if `full` is set."""
        if self.full and hit.body is not None:
            return [self.passage(hit)]
        return [(each.text, each.first_line) for each in hit.passages or (hit.snippet,)]

    def text(self, hit: Hit) -> str:
        """Return the passage of a hit with line numbers if they are set."""
        return self._numbered(*self.passage(hit))

    def page(self, page: Page) -> str:
        """Return the text of a page, and the number of lines cut unless `exact` is set."""
        text = page.text
        if self.line_numbers:
            # The line feed at the end of a whole document does not start another line.
            text = self._numbered(text.removesuffix("\n") if page.whole else text, page.first_line)
        if self.exact or page.counted or not page.more:
            return text
        return f"{text}\n\n[... truncated {page.more} more lines]"

    def _numbered(self, text: str, first_line: int) -> str:
        if not self.line_numbers:
            return text
        from qmd.text.snippet import numbered

        return numbered(text, first_line)


def address(file: str) -> str:
    """Return the `qmd://` address of a display path. Only characters in `_TO_ENCODE` are encoded."""
    if "%" not in file and file.isprintable():  # most are, so that the pattern need not be compiled
        return f"qmd://{file}"
    return "qmd://" + _TO_ENCODE.sub(lambda match: encode_path(match[0]), file)


def skipped_because(item: Skipped) -> str:
    """Return why a document was skipped, and the command that prints it."""
    command = f"qmd get {shell_words(item.document.file)}"
    return f"File too large ({item.kilobytes}KB). Use '{command}' to retrieve."

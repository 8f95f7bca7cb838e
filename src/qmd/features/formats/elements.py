"""Documents that are trees of elements, as in HTML and OpenDocument: their words, and what these are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from qmd.sources.formats.writing import Writer
from qmd.text.markdown.links import AFTER_URL, MAX_LINKS, SCHEME, URL
from qmd.text.regex import lazy
from qmd.text.spans import Closed
from qmd.types import Link, LinkKind
from qmd.types.structure import Span

#: What an element is. One without a role is a part of a line.
Role = Literal[
    "", "block", "heading", "list", "item", "quote", "code", "row", "cell", "break", "rule", "link", "hidden"
]
#: The roles of elements that begin and end lines.
_LINES = frozenset(("block", "heading", "list", "item", "quote", "code", "row", "cell", "rule"))
#: The most signs of lists and quotes before a line.
_DEPTH = 20
#: Schemes of addresses that lead nowhere.
_NOWHERE = lazy(r"\s*(?:javascript|data|about|blob):", re.I)


class Element(NamedTuple):
    """What a reader says of an element.

    Attributes:
        role: What it is.
        value: The level of a heading, the number of the first item of a list (none if they have none), `bare`
            for an item without sign, or the target of a link.
        text: The text that stands for it, as for an image.
        id: The name by which links lead to it.
    """

    role: Role = ""
    value: str = ""
    text: str = ""
    id: str = ""


def write(root: Any, writer: Writer, look: Callable[[Any], Element]) -> None:
    """Write the text of a tree of lxml, in which `look` says what the elements are."""
    from lxml.etree import iterwalk

    flow = _Flow(writer)
    walk = iterwalk(root, events=("start", "end", "comment", "pi"))
    opened: list[Element] = []
    for event, node in walk:
        if event == "start":
            element = look(node)
            opened.append(element)
            flow.start(element)
            if element.role == "hidden":
                walk.skip_subtree()
            else:
                flow.text(node.text)
            continue
        if event == "end":
            flow.end(opened.pop())
        if node is not root:
            flow.text(node.tail)
    flow.flush()


class _Flow:
    """Writes the words of elements as they come: a paragraph, heading, item, row or piece of code each."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._words: list[str] = []  # of the line or lines that are read
        self._size = self._lead = 0  # their length, and that of what is before them
        self._blank = False  # whether a blank is before the next word
        self._heading: Element | None = None
        self._in_code = 0
        self._in_row = False
        self._quotes = 0
        self._items: list[int | None] = []  # the numbers of the next items of the lists that are open
        self._sign: str | None = None  # before the item that begins
        self._id = ""  # what was named last, in this part or just before it
        self._link: tuple[str, int] | None = None  # its target, and the number of words before it
        self._links: list[tuple[int, str, str]] = []  # place in the part, target, words
        self._marks: list[Span] = []  # addresses among the words
        self._before: Role = ""  # of the part before

    def start(self, element: Element) -> None:
        """Begin an element."""
        role = element.role
        if role in _LINES:
            self.flush()
        self._id = element.id or self._id
        match role:
            case "heading" if not self._quotes and not self._in_row:
                self._heading = element
            case "list":
                self._items.append(int(element.value) if element.value.isdigit() else None)
            case "item":
                self._sign = "" if element.value == "bare" else self._next_sign()
            case "quote":
                self._quotes += 1
            case "code":
                self._in_code += not self._in_row
            case "row":
                self._in_row = True
            case "cell" if self._in_row:
                self._put(" | " if self._words else "| ", bare=True)
            case "break":
                self._break()
            case "rule" if not self._in_row:
                self._writer.add_rule()
            case "link" if self._link is None and element.value and not _NOWHERE.match(element.value):
                self._link = element.value.strip(), len(self._words)
        if element.text:
            self.text(element.text)

    def end(self, element: Element) -> None:
        """End an element."""
        role = element.role
        if role == "row" and self._in_row:
            self._in_row = False
            filled = any(each.strip(" |") for each in self._words)
            self._words = [*self._words, " |"] if filled else []
            self._write("row")
        elif role in _LINES:
            self.flush()
        match role:
            case "heading":
                self._heading = None
            case "list":
                self._items.pop()
                self._sign = None
                self._before = self._before if self._items else ""
            case "quote":
                self._quotes -= 1
            case "code":
                self._in_code = max(0, self._in_code - 1)
            case "link" if self._link is not None:
                self._end_link()
                self._link = None

    def text(self, text: str | None) -> None:
        """Add a text, in which white space means nothing outside of code."""
        if not text:
            return
        if self._in_code:
            self._put(text, bare=True)
            return
        if words := " ".join(text.split()):
            self._blank |= text[0].isspace()
            self._put(words)
            self._blank = text[-1].isspace()
        else:
            self._blank = True

    def flush(self) -> None:
        """End the lines that are read; in a row of a table they are one."""
        if self._in_row:
            self._blank = True
        else:
            self._write("code" if self._in_code else "item" if self._items else "")

    def _put(self, words: str, *, bare: bool = False) -> None:
        if not self._words and not bare:
            before = self._prefix()
            self._lead, words = len(before), before + words
        elif self._blank and not bare and not self._words[-1].endswith((" ", "\n")):
            words = f" {words}"
        self._words.append(words)
        self._size += len(words)
        self._blank = False

    def _prefix(self) -> str:
        """Return what is before the words of a line: the marks of quotes, and the sign of an item."""
        if self._heading or self._in_row:
            return ""
        sign, self._sign = self._sign, None
        depth = min(len(self._items), _DEPTH)
        indent = "  " * (depth - 1) + ("  " if sign is None else sign) if depth else ""
        return "> " * min(self._quotes, _DEPTH) + indent

    def _next_sign(self) -> str:
        number = self._items[-1] if self._items else None
        if number is None:
            return "- "
        self._items[-1] = number + 1
        return f"{number}. "

    def _break(self) -> None:
        if self._in_code or not (self._heading or self._in_row or not self._words):
            self._put("\n" + ("" if self._in_code else self._prefix()), bare=True)
        else:
            self._blank = True

    def _end_link(self) -> None:
        """Keep a link, and write its address after its words, which are those since it began."""
        assert self._link is not None
        target, first = self._link
        shown = " ".join("".join(self._words[first:])[0 if first else self._lead :].split())
        if "%" in target and not SCHEME.match(target):
            target = unquote(target)
        low = self._size
        self._links.append((low, target, shown))
        if shown and shown != target and target[0] != "#" and not (self._heading or self._in_code):
            blank, self._blank = self._blank, False
            self._put(f" <{target}>", bare=True)
            self._marks.append((low, self._size))
            self._blank = blank

    def _write(self, role: Role) -> None:
        """Write the words as a part of the text, below the part before if both are items, or rows."""
        if self._link is not None:
            if any(each.strip() for each in self._words[self._link[1] :]):
                self._end_link()
                self._link = None
            else:
                self._link = self._link[0], 0
        part, writer = "".join(self._words).strip("\n"), self._writer
        if part.strip():
            if self._heading is not None:
                part = " ".join(part.split())
                start = writer.add_heading(part, int(self._heading.value), self._heading.id or self._id)
                self._heading = None  # what follows in the same element is a text
            else:
                start = writer.add(part, tight=role in ("item", "row") and role == self._before)
            if role == "code":
                writer.found.verbatim.append((start, start + len(part)))
            writer.found.markup((start + low, start + high) for low, high in self._marks)
            writer.links += islice(self._linked(part), max(0, MAX_LINKS - len(writer.links)))
            self._before, self._id, self._links = role, "", []
        # Links without words are those of the next part.
        self._links = [(0, target, shown) for _, target, shown in self._links]
        self._words, self._marks, self._blank = [], [], False
        self._size = self._lead = 0

    def _linked(self, part: str) -> Iterator[Link]:
        """Yield the links of a part, also those that are addresses among its words."""
        found = self._links
        if "://" in part and not self._in_code:
            closed = Closed(self._marks)
            given = {target for _, target, _ in found}
            urls = ((each.start(), each[0].rstrip(AFTER_URL), "") for each in closed.matches(URL, part))
            found = sorted([*found, *(each for each in urls if each[1] not in given)])
        for at, target, shown in found:
            kind: LinkKind = "url" if SCHEME.match(target) or target.startswith("//") else "markdown"
            yield Link(target, shown, self._writer.line + part.count("\n", 0, at), kind)

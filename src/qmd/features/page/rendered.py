"""The HTML of a document, in which the words of a query and the line of a hit can be marked.

It is taken apart once and kept for other queries.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from html import escape, unescape
from itertools import accumulate, pairwise

from msgspec import Struct

#: Spans (start, end) to mark in a text.
Find = Callable[[str], Sequence[tuple[int, int]]]

#: The attribute of a block with its first line and the line after its last one.
LINES = "data-lines"
_LINES_OF = re.compile(rf' {LINES}="(\d+) (\d+)"')
#: A tag, as nh3 writes it.
_TAG = re.compile(r'(<[^>"]*(?:"[^"]*"[^>"]*)*>)')
#: The hit in a block of more lines is its line, not the whole block.
_LONG = 6
#: Elements without content.
_VOID = ("<br", "<hr", "<img", "<wbr")
#: Tags that may be inside a word.
_IN_WORDS = re.compile(r"</?(?:b|del|em|i|ins|mark|s|small|span|strong|sub|sup|u|wbr)[ >]")
#: The names of languages are no part of a document.
_NOT_MARKED = '<span class="language"'


class PageHeading(Struct, frozen=True):
    """A heading, its level, and the id of its element."""

    text: str
    level: int
    anchor: str


class Rendered(Struct, frozen=True):
    """A document in HTML.

    Attributes:
        parts: Its texts and tags by turns, beginning with a text, which may be empty.
        blocks: The first line, the line after the last one, the place in `parts` of each block's tag, and how
            many elements it is in.
        headings: Its headings.
        blocked_images: The number of remote images that were left out.
        short: Whether a part is plain text, or a link, because the page would have cost too much.
    """

    parts: tuple[str, ...] = ()
    blocks: tuple[tuple[int, int, int, int], ...] = ()
    headings: tuple[PageHeading, ...] = ()
    blocked_images: int = 0
    short: bool = False

    @classmethod
    def of(
        cls, html: str, headings: Sequence[PageHeading] = (), blocked_images: int = 0, *, short: bool = False
    ) -> Rendered:
        """Take a document apart whose blocks have the attribute `LINES`."""
        parts = _TAG.split(html)
        blocks = []
        depth = 0
        for place in range(1, len(parts), 2):
            tag = parts[place]
            if tag.startswith("</"):
                depth -= 1
                continue
            found = _LINES_OF.search(tag)
            if found:
                parts[place] = tag.replace(found[0], "")
                blocks.append((int(found[1]), int(found[2]), place, depth))
            depth += not tag.startswith(_VOID)
        return cls(tuple(parts), tuple(blocks), tuple(headings), blocked_images, short)

    @classmethod
    def joined(cls, rendered: Sequence[Rendered]) -> Rendered:
        """Return parts of a document as one. The last of them has the headings of all."""
        parts, blocks = [""], list[tuple[int, int, int, int]]()
        for each in rendered:
            shift = len(parts) - 1
            blocks += [(first, end, place + shift, depth) for first, end, place, depth in each.blocks]
            parts[-1:] = [parts[-1] + each.parts[0], *each.parts[1:]]
        last = rendered[-1]
        return cls(
            tuple(parts),
            tuple(blocks),
            last.headings,
            last.blocked_images,
            any(each.short for each in rendered),
        )

    @property
    def size(self) -> int:
        """The number of characters."""
        return sum(map(len, self.parts))

    def html(
        self,
        find: Find | None = None,
        hit: int | None = None,
        separators: Sequence[tuple[int, str]] = (),
        *,
        lines: bool = False,
    ) -> str:
        """Return the HTML, and mark the words that `find` finds and the smallest block with the line `hit`.

        The element of the hit, or an empty one at its beginning, has the id `hit`. `separators` is HTML that
        stands before the outermost blocks that begin at these lines or after them. With `lines` these blocks
        have the attribute `LINES`, from which a quotation gets its address.
        """
        parts = [*self.parts]
        if find is not None:
            _mark(parts, find)
        if lines:
            for first, end, place, depth in self.blocks:
                if not depth:
                    parts[place] = f'{parts[place][:-1]} {LINES}="{first} {end}">'
        if hit is not None and self.blocks:
            # A line between blocks, or one that is not shown, counts as the block before it.
            around = [block for block in self.blocks if block[0] <= hit < block[1]]
            before = [block for block in self.blocks if block[0] <= hit]
            first, end, place, _ = (around or before or self.blocks)[-1 if before else 0]
            if not (end - first > _LONG and _mark_line(parts, place, hit - first)):
                parts[place] = _as_hit(parts[place])
        outermost = [(first, place) for first, _, place, depth in self.blocks if not depth]
        at = 0
        inserted: dict[int, str] = {}
        for line, html in separators:
            while at < len(outermost) and outermost[at][0] < line:
                at += 1
            place = outermost[at][1] if at < len(outermost) else len(parts) - 1
            inserted[place] = inserted.get(place, "") + html
        for place, html in inserted.items():
            parts[place] = html + parts[place]
        return "".join(parts)


def marked(text: str, find: Find | None) -> str:
    """Return a plain text as HTML, with the words of the query in `<mark>`."""
    return _with_marks(text, find(text) if find is not None else ())


def _with_marks(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += [escape(text[at:start], False), "<mark>", escape(text[start:end], False), "</mark>"]
        at = end
    return "".join((*parts, escape(text[at:], False)))


def _mark(parts: list[str], find: Find) -> None:
    """Mark words in the texts of HTML. All texts are searched at once, which is faster than one by one."""
    texts = [unescape(text) if "&" in text else text for text in parts[::2]]
    starts = [*accumulate((len(text) + 1 for text in texts), initial=0)]
    found: dict[int, list[tuple[int, int]]] = {}
    for start, end in find(_joined(texts, parts[1::2])):
        at = bisect_right(starts, start) - 1
        while start < end:  # a word may have tags inside
            last = min(end, starts[at] + len(texts[at]))
            if start < last:
                found.setdefault(at, []).append((start - starts[at], last - starts[at]))
            at, start = at + 1, starts[at + 1]
    for at, spans in found.items():
        if not (at and parts[2 * at - 1].startswith(_NOT_MARKED)):
            parts[2 * at] = _with_marks(texts[at], spans)


def _joined(texts: Sequence[str], tags: Sequence[str]) -> str:
    """Return texts with a sign for each tag between them: one that is not seen if it is inside a word."""
    pieces = [texts[0]]
    for tag, (before, after) in zip(tags, pairwise(texts), strict=True):
        inside = before[-1:].isalnum() and after[:1].isalnum() and _IN_WORDS.match(tag)
        pieces += ["\u00ad" if inside else "\n", after]
    return "".join(pieces)


def _mark_line(parts: list[str], place: int, line: int) -> bool:
    """Put the element of the hit before a line inside of a block. Return whether there is such a line."""
    line -= parts[place].startswith('<div class="code"')  # without the line that opens the block
    for at in range(place + 1, len(parts), 2):
        lines = parts[at].split("\n")
        if 0 <= line < len(lines):
            parts[at] = "\n".join([*lines[:line], f'<span id="hit"></span>{lines[line]}', *lines[line + 1 :]])
            return True
        line -= len(lines) - 1
    return False


def _as_hit(tag: str) -> str:
    """Return the tag of the block with the hit. If it has an id, such as a heading, an element is added."""
    name = re.match(r"<\w+", tag)
    assert name is not None
    rest = tag[name.end() :]
    if ' class="' in rest:
        rest = rest.replace(' class="', ' class="hit-line ', 1)
    else:
        rest = f' class="hit-line"{rest}'
    if ' id="' in rest:
        return f'{name[0]}{rest}<span id="hit"></span>'
    return f'{name[0]} id="hit"{rest}'

"""Find the quotations of a text, and the citation that each belongs to.

A quotation belongs to the first of these citations that there is:

1. the link around it, if it is the text of a link;
2. the citation directly after it: in brackets, after a dash or a word such as "in" or "see", or a footnote;
3. the last citation before it in its sentence, then the next one after it;
4. the last citation before it in its paragraph, list item or table row, then the next one after it, if it has
   at least three words;
5. the last citation of the paragraph before a list that ends with a colon, if it is in an item of the list.

A block quote belongs to a citation in its last line, in a short line after it that begins with a dash or a
bracket or is nothing but the citation, or else to the last citation of the paragraph before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from qmd.text.blocks import fences
from qmd.text.citations import Citation
from qmd.text.regex import lazy
from qmd.text.tokens import UNSPACED
from qmd.text.verbatim import Words

_LETTERS = lazy(rf"[^\W_{UNSPACED}]")
#: Marks of quotations, and the empty lines that end them.
_MARK = lazy(r"[\"“”„«»「」『』‘’]|\n[ \t]*\n")
#: The marks that end a quotation, by the one that begins it.
_ENDS = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』", "‘": "’", '"': '"'}
_CODE = lazy(r"(`+)(?!`)[^\n]{1,1000}?(?<!`)\1(?!`)")
_BLOCK_START = lazy(r"[ \t]*(?:[-*+]|\d{1,3}[.)]|\[\^?[^\[\]\s]{1,50}\]:?|#{1,6}|\|)(?:[ \t]|(?<=\|))")
_ITEM = lazy(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]")
_QUOTE_LINE = lazy(r"[ \t]*>[ \t]?(?P<inner>.*)")
_CALLOUT = lazy(r"\[!\w+\]")
_SENTENCE_END = lazy(r"[.!?][\"”’»)\]]*\s+(?=[\"“‘«(\[]?[^\W\d_a-z])|[。！？][”’」』）]*")
#: Between a quotation and the citation directly after it.
_DIRECTLY = lazy(
    r"[\s`*_]*(?:[`*_<]*|(?:[.,;:!?][\s`*_]*)?(?:[(\[（【<—–-][^)\]）】>]*"
    r"|(?:see|cf\.?|in|from|source:?|per|at|of|siehe|aus|voir|dans|见|参见|来源[:：]?|出自|载于|より)\s*[(\[`*_<]*))\Z",
    re.I,
)
_TO_NOTE = lazy(r"[\s.,;:!?*_]*\Z")
_ATTRIBUTION = lazy(r"[ \t]*(?:[—–(\[（]|--?[ \t]|(?:source|from|in|see|来源|出自)\b)", re.I)
_LEAD = lazy(r"[ \t]*(?:—|–|--?[ \t]|[(\[（]).*")
_MARKER = lazy(r"\[(\^?[^\[\]\s]{1,50})\](?![(:\[])")
_DEFINITION = lazy(r"(?m)^[ \t]{0,3}\[(\^?[^\[\]\s]{1,50})\]:?[ \t]")
#: The most characters of a line after a block quote that says where it is from.
_SHORT = 150


class Quotation(Struct, frozen=True):
    """A quotation: its offsets with the marks, and the words without them."""

    start: int
    end: int
    words: str


class _Block(Struct):
    """A paragraph, list item, table row or block quote, and what is in it."""

    start: int
    end: int
    quoted: bool
    item: bool


class Reference(Struct, frozen=True, order=True):
    """A place where a citation stands: itself, or the mark of a footnote with it."""

    start: int
    end: int
    citation: int
    note: bool = False


def assigned(
    text: str, citations: Sequence[Citation], doubtful: Collection[int] = ()
) -> tuple[list[tuple[Quotation, int]], int]:
    """Return the quotations of a text, each with the number of its citation, and how many have none.

    Citations that are `doubtful` get only quotations directly before them, unless their paragraph has no
    other.
    """
    references = _references(text, citations)
    blocks = _blocks(text)
    taken: list[tuple[int, int]] = []
    found: list[tuple[Quotation, int]] = []
    uncited = 0
    for number, block in enumerate(blocks):
        if block.quoted and (match := _of_block(text, blocks, number, references)) is not None:
            found.append(match)
            taken.append((block.start, block.end))
    starts = [block.start for block in blocks]
    for quotation in _inline(text, citations, taken):
        number = bisect_right(starts, quotation.start) - 1
        last = blocks[bisect_left(starts, quotation.end) - 1]
        inside = _within(references, blocks[number].start, last.end)
        nearest = _directly(text, quotation, inside)
        if nearest is None:
            sure = [each for each in inside if each.citation not in doubtful]
            nearest = _nearest(text, quotation, sure or inside)
        if nearest is None and blocks[number].item:
            nearest = _of_lead(text, blocks, number, references)
        if nearest is None:
            uncited += 1
        else:
            found.append((quotation, nearest))
    return sorted(found, key=lambda pair: pair[0].start), uncited


def _references(text: str, citations: Sequence[Citation]) -> list[Reference]:
    """Return where citations stand, in order, with the marks of notes that contain them."""
    own = [Reference(each.start, each.end, number) for number, each in enumerate(citations)]
    notes: dict[str, int] = {}
    defined: list[tuple[int, int]] = []
    for match in _DEFINITION.finditer(text):
        end = text.find("\n", match.end())
        at = bisect_left(own, Reference(match.end(), 0, 0))
        if at < len(own) and own[at].start < (end if end >= 0 else len(text)):
            notes.setdefault(match[1], own[at].citation)
            defined.append(match.span())
    marks = [
        Reference(match.start(), match.end(), notes[match[1]], note=True)
        for match in (_MARKER.finditer(text) if notes else ())
        if match[1] in notes and not any(start <= match.start() < end for start, end in defined)
    ]
    return sorted([*own, *marks])


def _blocks(text: str) -> list[_Block]:
    """Return the paragraphs, list items, table rows and block quotes of a text, which are all of it."""
    found = [_Block(0, 0, quoted=False, item=False)]
    at, fresh, item = 0, True, False
    for line in text.splitlines(keepends=True):
        quoted = _QUOTE_LINE.match(line) is not None
        if not line.strip():
            fresh, item = True, item and not fresh
        else:
            begins = _ITEM.match(line) is not None
            item = begins or (item and (not fresh or line[:1] in " \t"))
            if fresh or begins or quoted != found[-1].quoted or _BLOCK_START.match(line):
                found.append(_Block(at, at, quoted=quoted, item=item))
            fresh = False
        at += len(line)
        found[-1].end = at
    return found


def _within(references: Sequence[Reference], start: int, end: int) -> Sequence[Reference]:
    return references[
        bisect_left(references, Reference(start, 0, 0)) : bisect_left(references, Reference(end, 0, 0))
    ]


def _inline(
    text: str, citations: Sequence[Citation], taken: Sequence[tuple[int, int]]
) -> Iterator[Quotation]:
    """Yield the quotations inside of paragraphs, outside of code and of the spans that are taken."""
    code = [match.span() for match in _CODE.finditer(text)]
    closed = sorted([*fences(text), *code, *taken])
    paths = [(each.start, each.end) for each in citations if each.form != "link"]
    for start, end in _outermost(text, closed):
        low, high = bisect_left(paths, (start, 0)), bisect_left(paths, (end, 0))
        inside = sum(after - before for before, after in paths[low:high] if after <= end)
        words = text[start + 1 : end - 1]
        if 2 * inside <= len(words) and len(Words(words)):
            yield Quotation(start, end, words)


def _outermost(text: str, closed: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of quotations that are in no other, outside of spans that are closed."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    ends = [end for _, end in closed]
    for match in _MARK.finditer(text + "\n\n"):
        mark, at = match[0], match.start()
        if len(mark) > 1:
            # Of nested quotations the outer one ends last.
            last = len(text) + 1
            outer: list[tuple[int, int]] = []
            for pair in reversed(pairs):
                if pair[0] < last:
                    outer.append(pair)
                    last = pair[0]
            yield from reversed(outer)
            opened, pairs = [], []
            continue
        place = bisect_right(ends, at)
        if place < len(closed) and closed[place][0] <= at:
            continue
        if opened and _ends(text, at) and mark in _ENDS[text[opened[-1]]]:
            pairs.append((opened.pop(), at + 1))
        elif mark in _ENDS and _begins(text, at):
            opened.append(at)
        elif _ends(text, at):
            before = next((each for each in reversed(opened) if mark in _ENDS[text[each]]), None)
            if before is not None:
                del opened[opened.index(before) :]
                pairs.append((before, at + 1))


def _begins(text: str, at: int) -> bool:
    """Return whether a mark can begin a quotation: a straight one after a digit means inches."""
    before, after = text[at - 1 : at] if at else " ", text[at + 1 : at + 2]
    if text[at] == '"':
        return not _LETTERS.match(before) and before != "\\" and bool(after.strip())
    return text[at] != "‘" or not before.isalnum()


def _ends(text: str, at: int) -> bool:
    """Return whether a mark can end a quotation: one before a letter is an apostrophe."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] == '"':
        return bool(before.strip() or not after.strip()) and not _LETTERS.match(after)
    return text[at] != "’" or not after.isalnum()


def _directly(text: str, quotation: Quotation, references: Sequence[Reference]) -> int | None:
    """Return the citation around a quotation, or directly after it."""
    around = [each for each in references if each.start <= quotation.start and quotation.end <= each.end]
    if around:
        return around[0].citation
    after = next((each for each in references if each.start >= quotation.end), None)
    if after is None:
        return None
    between = text[quotation.end : after.start]
    return after.citation if (_TO_NOTE if after.note else _DIRECTLY).match(between) else None


def _nearest(text: str, quotation: Quotation, references: Sequence[Reference]) -> int | None:
    """Return the citation of its paragraph that a quotation belongs to if none is directly after it."""
    before = [each for each in references if each.end <= quotation.start]
    after = [each for each in references if each.start >= quotation.end]
    if before and not _SENTENCE_END.search(text, before[-1].end, quotation.start):
        return before[-1].citation
    same = after and not _SENTENCE_END.search(text, quotation.end, after[0].start)
    # A single word in quotation marks often is no quotation.
    if same or (after and not before and len(Words(quotation.words)) > 2):
        return after[0].citation
    return before[-1].citation if before and len(Words(quotation.words)) > 2 else None


def _of_lead(text: str, blocks: Sequence[_Block], number: int, references: Sequence[Reference]) -> int | None:
    """Return the last citation of the paragraph before a list, if that ends with a colon."""
    while number and blocks[number].item:
        number -= 1
    block = blocks[number]
    inside = _within(references, block.start, block.end)
    return (
        inside[-1].citation
        if inside and text[block.start : block.end].rstrip().endswith((":", "："))
        else None
    )


def _of_block(
    text: str, blocks: Sequence[_Block], number: int, references: Sequence[Reference]
) -> tuple[Quotation, int] | None:
    """Return a block quote and its citation; None if it has none, or is a callout."""
    block = blocks[number]
    lines = text[block.start : block.end].splitlines()
    rows = [match["inner"] for line in lines if (match := _QUOTE_LINE.match(line))]
    if not rows or _CALLOUT.match(rows[0]):
        return None
    own = _within(references, block.start, block.end)
    last = block.start + text[block.start : block.end].rstrip().rfind("\n") + 1
    citation: int | None = None
    if own and own[-1].start >= last:
        citation = own[-1].citation
        # What says where it is from is no part of it.
        begin = next(each.start for each in own if each.start >= last)
        before = text[last:begin]
        cut = max(before.rfind(mark) for mark in ("—", "–", " - ", "--", "(", "[", "（"))
        inner = _QUOTE_LINE.match(before[:cut] if cut >= 0 else before)
        rows[-1] = inner["inner"] if inner else ""
    elif own:
        return None
    if citation is None and number + 1 < len(blocks):
        after = blocks[number + 1]
        following, inside = text[after.start : after.end].strip(), _within(references, after.start, after.end)
        if inside and len(following) <= _SHORT:
            alone = inside[0].end - inside[0].start >= len(following) - 4
            if alone or _ATTRIBUTION.match(following):
                citation = inside[0].citation
    if citation is None and number and (inside := _within(references, blocks[number - 1].start, block.start)):
        citation = inside[-1].citation
    words = "\n".join(rows).strip()
    if len(words) > 1 and (words[0], words[-1]) in (
        ('"', '"'),
        ("“", "”"),
        ("„", "“"),
        ("«", "»"),
        ("「", "」"),
    ):
        words = words[1:-1]
    return (
        None
        if citation is None or not len(Words(words))
        else (Quotation(block.start, block.end, words), citation)
    )


def by_citation(pairs: Iterable[tuple[Quotation, int]]) -> dict[int, list[Quotation]]:
    """Return the quotations by the number of their citation."""
    found: dict[int, list[Quotation]] = {}
    for quotation, number in pairs:
        found.setdefault(number, []).append(quotation)
    return found


def is_quoted(citation: Citation, pairs: Sequence[tuple[Quotation, int]]) -> bool:
    """Return whether a citation is inside of one of some quotations, which are in order."""
    at = bisect_right(pairs, citation.start, key=lambda pair: pair[0].start) - 1
    return at >= 0 and citation.end <= pairs[at][0].end

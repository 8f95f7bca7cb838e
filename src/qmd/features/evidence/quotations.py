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

from qmd.features.evidence.citations import Citation
from qmd.features.evidence.verbatim import VerbatimWords
from qmd.text.markdown.reading import read
from qmd.text.regex import lazy
from qmd.text.tokens import UNSPACED

_LETTERS = lazy(rf"[^\W_{UNSPACED}]")
#: Marks of quotations, and the empty lines that end them.
_MARK = lazy(r"[\"“”„«»「」『』‘’]|\n[ \t]*\n")
#: The marks that end a quotation, by the one that begins it.
_ENDS = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』", "‘": "’", '"': '"'}
_CODE = lazy(r"(?<!`)(`{1,3})(?!`)[^`\n]{1,1000}\1(?!`)")
_BLOCK_START = lazy(r"[ \t]*(?:[-*+]|\d{1,3}[.)]|\[\^?[^\[\]\s]{1,50}\]:?|#{1,6}|\|)(?:[ \t]|(?<=\|))")
_ITEM = lazy(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]")
_QUOTE_LINE = lazy(r"[ \t]*>[ \t]?(?P<inner>.*)")
_CALLOUT = lazy(r"\[!\w+\]")
_SENTENCE_END = lazy(r"[.!?][\"”’»)\]]*\s+(?=[\"“‘«(\[]?[^\W\d_a-z])|[。！？][”’」』）]*")
#: Between a quotation and the citation directly after it.
_DIRECTLY = lazy(
    r"[\s`*_]*+(?:(?:<[`*_<]*+)?|(?:[.,;:!?][\s`*_]*+)?(?:[(\[（【<—–-][^)\]）】>]*+"
    r"|(?:see|cf\.?|in|from|source:?|per|at|of|siehe|aus|voir|dans|见|参见|来源[:：]?|出自|载于|より)\s*+[(\[`*_<]*+))\Z",
    re.I,
)
_TO_NOTE = lazy(r"[\s.,;:!?*_]*+\Z")
_ATTRIBUTION = lazy(r"[ \t]*(?:[—–(\[（]|--?[ \t]|(?:source|from|in|see|来源|出自)\b)", re.I)
_MARKER = lazy(r"\[(\^?[^\[\]\s]{1,50})\](?![(:\[])")
_DEFINITION = lazy(r"(?m)^[ \t]{0,3}\[(\^?[^\[\]\s]{1,50})\]:?[ \t]")
#: Quotations that are open at a time.
_DEPTH = 8
#: The most characters between a quotation and the citation directly after it.
_NEAR = 200
#: Words of a block quote before the citation of its source: a dash or a bracket, and up to three words.
_SOURCE = lazy(r"(?<![ \t])[ \t]*+(?:—|–|--?[ \t]|[(\[（])[ \t]*+(?:[^\s—–(\[（]++[ \t]++){0,3}[`*_<(\[]*+\Z")
#: The most characters of a line after a block quote that names its source.
_SHORT = 150


class Quotation(Struct, frozen=True):
    """A quotation: its offsets with the marks, and the words without them."""

    start: int
    end: int
    words: str


class QuotedReference(Struct, frozen=True, order=True):
    """The place of a citation: itself, or the mark of a footnote with it."""

    start: int
    end: int
    citation: int
    note: bool = False


class _References:
    """Places of citations in order, found by their offsets."""

    def __init__(self, references: Iterable[QuotedReference]) -> None:
        self._references = sorted(references)
        self._starts = [reference.start for reference in self._references]

    def before(self, at: int, low: int) -> QuotedReference | None:
        """Return the last reference that ends up to an offset, and begins from `low` on."""
        place = bisect_right(self._starts, at) - 1
        while place >= 0 and self._references[place].end > at:
            place -= 1
        return self._references[place] if place >= 0 and self._starts[place] >= low else None

    def after(self, at: int, high: int) -> QuotedReference | None:
        """Return the first reference that begins from an offset on and before `high`."""
        place = bisect_left(self._starts, at)
        return self._references[place] if place < len(self._starts) and self._starts[place] < high else None

    def around(self, start: int, end: int) -> QuotedReference | None:
        """Return the link whose text has a span."""
        place = bisect_right(self._starts, start) - 1
        found = self._references[place] if place >= 0 else None
        return found if found is not None and found.end >= end else None


class _QuotedBlock(Struct):
    """A paragraph, list item, table row or block quote.

    `lead` is the number of the block before its list; that of a block that is in no list is its own.
    """

    start: int
    end: int
    quoted: bool
    lead: int


class _Draft:
    """A text with the places of its citations, its blocks, and the ends of its sentences."""

    def __init__(self, text: str, citations: Sequence[Citation], doubtful: Collection[int]) -> None:
        self.text = text
        references = _references(text, citations)
        self.all = _References(references)
        self.sure = _References(each for each in references if each.citation not in doubtful)
        self.blocks = _blocks(text)
        self._starts = [block.start for block in self.blocks]
        self._ends = [match.start() for match in _SENTENCE_END.finditer(text)]

    def of(self, quotation: Quotation) -> int | None:
        """Return the citation that a quotation inside of a paragraph belongs to."""
        number = bisect_right(self._starts, quotation.start) - 1
        low = self.blocks[number].start
        high = self.blocks[bisect_left(self._starts, quotation.end) - 1].end
        found = self._directly(quotation, high)
        for references in (self.sure, self.all):
            found = self._nearest(quotation, references, low, high) if found is None else found
        lead = self.blocks[number].lead
        return self._of_lead(self.blocks[lead]) if found is None and lead != number else found

    def _directly(self, quotation: Quotation, high: int) -> int | None:
        """Return the citation around a quotation, or directly after it."""
        around = self.all.around(quotation.start, quotation.end)
        if around is not None:
            return around.citation
        after = self.all.after(quotation.end, min(high, quotation.end + _NEAR))
        if after is None:
            return None
        between = self.text[quotation.end : after.start]
        belongs = _TO_NOTE.match(between) if after.note else _DIRECTLY.match(between)
        return after.citation if belongs else None

    def _nearest(self, quotation: Quotation, references: _References, low: int, high: int) -> int | None:
        """Return the citation of its paragraph that a quotation belongs to if none is directly after it."""
        before, after = references.before(quotation.start, low), references.after(quotation.end, high)
        if before is not None and self._is_one_sentence(before.end, quotation.start):
            return before.citation
        if after is not None and self._is_one_sentence(quotation.end, after.start):
            return after.citation
        nearest = before or after
        # A single word in quotation marks often is no quotation.
        return nearest.citation if nearest is not None and len(VerbatimWords(quotation.words)) > 2 else None

    def _is_one_sentence(self, start: int, end: int) -> bool:
        return bisect_left(self._ends, start) == bisect_left(self._ends, end)

    def _of_lead(self, block: _QuotedBlock) -> int | None:
        """Return the last citation of the paragraph before a list, if that ends with a colon."""
        last = self.all.before(block.end, block.start)
        is_lead = self.text[max(block.start, block.end - 10) : block.end].rstrip().endswith((":", "："))
        return last.citation if last is not None and is_lead else None

    def of_block(self, number: int) -> tuple[Quotation, int] | None:
        """Return a block quote and its citation; None if it has none, or is a callout."""
        block = self.blocks[number]
        written = self.text[block.start : block.end].rstrip()
        rows = [match["inner"] for line in written.splitlines() if (match := _QUOTE_LINE.match(line))]
        if not rows or _CALLOUT.match(rows[0]):
            return None
        last = block.start + written.rfind("\n") + 1
        found = self.all.after(last, block.end)
        if found is not None:
            # The introduction of its source is no part of it.
            inner = _QUOTE_LINE.match(self.text[last : found.start])
            rows[-1] = _SOURCE.sub("", inner["inner"] if inner else "")
        elif self.all.after(block.start, block.end) is not None:
            return None  # a text with citations, as a whole
        else:
            found = self._beside(number)
        words = "\n".join(rows).strip()
        if words[:1] + words[-1:] in ('""', "“”", "„“", "«»", "「」"):
            words = words[1:-1]
        if found is None or not len(VerbatimWords(words)):
            return None
        return Quotation(block.start, block.end, words), found.citation

    def _beside(self, number: int) -> QuotedReference | None:
        """Return the citation in a short line after a block quote, or in the paragraph before it."""
        if number + 1 < len(self.blocks):
            after = self.blocks[number + 1]
            following = self.text[after.start : after.end].strip()
            found = self.all.after(after.start, after.end)
            if found is not None and len(following) <= _SHORT:
                is_alone = found.end - found.start >= len(following) - 4
                if is_alone or _ATTRIBUTION.match(following):
                    return found
        before = self.blocks[number - 1]
        return self.all.before(before.end, before.start)


def assigned(
    text: str, citations: Sequence[Citation], doubtful: Collection[int] = ()
) -> tuple[list[tuple[Quotation, int]], int]:
    """Return the quotations of a text, each with the number of its citation, and how many have none.

    Citations that are `doubtful` get only quotations directly before them, unless their paragraph has no
    other.
    """
    draft = _Draft(text, citations, doubtful)
    of_blocks = (draft.of_block(number) for number, block in enumerate(draft.blocks) if block.quoted)
    found = [pair for pair in of_blocks if pair is not None]
    uncited = 0
    for quotation in list(_inline(text, citations, [(each.start, each.end) for each, _ in found])):
        citation = draft.of(quotation)
        if citation is None:
            uncited += 1
        else:
            found.append((quotation, citation))
    return sorted(found, key=lambda pair: pair[0].start), uncited


def _references(text: str, citations: Sequence[Citation]) -> list[QuotedReference]:
    """Return the places of citations, with the marks of notes that contain them."""
    own = [QuotedReference(each.start, each.end, number) for number, each in enumerate(citations)]
    notes: dict[str, int] = {}
    defined: set[int] = set()
    for match in _DEFINITION.finditer(text):
        end = text.find("\n", match.end())
        at = bisect_left(own, QuotedReference(match.end(), 0, 0))
        if at < len(own) and own[at].start < (end if end >= 0 else len(text)):
            notes.setdefault(match[1], own[at].citation)
            defined.add(match.start(1))
    marks = (
        QuotedReference(match.start(), match.end(), notes[match[1]], note=True)
        for match in (_MARKER.finditer(text) if notes else ())
        if match[1] in notes and match.start(1) not in defined
    )
    return [*own, *marks]


def _blocks(text: str) -> list[_QuotedBlock]:
    """Return the paragraphs, list items, table rows and block quotes of a text, which are all of it."""
    found = [_QuotedBlock(0, 0, quoted=False, lead=0)]
    at, fresh, item = 0, True, False
    for line in text.splitlines(keepends=True):
        quoted = _QUOTE_LINE.match(line) is not None
        if not line.strip():
            fresh, item = True, item and not fresh
        else:
            begins = _ITEM.match(line) is not None
            was_item = item
            item = begins or (item and (not fresh or line[:1] in " \t"))
            if fresh or begins or quoted != found[-1].quoted or _BLOCK_START.match(line):
                number = len(found)
                before = found[-1].lead if was_item else number - 1
                found.append(_QuotedBlock(at, at, quoted=quoted, lead=before if item else number))
            fresh = False
        at += len(line)
        found[-1].end = at
    return found


def _inline(
    text: str, citations: Sequence[Citation], taken: Sequence[tuple[int, int]]
) -> Iterator[Quotation]:
    """Yield the quotations inside of paragraphs, outside of code and of the spans that are taken."""
    code = [match.span() for match in _CODE.finditer(text)]
    closed = sorted([*read(text).structure.verbatim_spans(), *code, *taken])
    paths = [(each.start, each.end) for each in citations if each.form != "link"]
    for start, end in _outermost(text, closed):
        low, high = bisect_left(paths, (start, 0)), bisect_left(paths, (end, 0))
        inside = sum(after - before for before, after in paths[low:high] if after <= end)
        words = text[start + 1 : end - 1]
        if 2 * inside <= len(words) and len(VerbatimWords(words)):
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
            before = next((each for each in reversed(opened[-_DEPTH:]) if mark in _ENDS[text[each]]), None)
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

"""Compare words as quotations are compared: typography may differ, words, numbers and negations may not.

A text becomes *words*, and the punctuation before each of them. Forms of Unicode, white space, line wraps,
the form of quotation marks and dashes, emphasis and other marks of Markdown do not count. The marks of a link
may be left out, but an address that is quoted is a value like a number. Every character of a script without
spaces is a word.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from qmd.features.evidence.units import unit_after, unit_before
from qmd.text.regex import lazy
from qmd.text.tokens import MARKS, UNSPACED

#: Characters that are not seen: soft hyphens, joiners, byte-order marks.
_UNSEEN = "\u00ad\u200b-\u200d\u2060\ufe0e\ufe0f\ufeff"
_LETTER = rf"[^\W_{UNSPACED}]"
_TAGS = "a|abbr|b|br|cite|code|del|div|em|font|i|ins|kbd|mark|p|q|s|small|span|strong|sub|sup|u"
#: Matches words, and marks of Markdown and HTML, which have no name. Quantifiers are possessive or bounded.
_WORD = lazy(
    rf"(?P<unspaced>[\u1100-\u115f][\u1160-\u11a7]++[\u11a8-\u11ff]*+|[{UNSPACED}][{MARKS}\u3099\u309a]*+)"
    # A sign belongs to a number, but a dash between two numbers does not.
    rf"|(?P<word>(?:(?<![\w)\]])[-−–+](?=\d))?(?:{_LETTER}|(?<=\w)[_'’ʼ](?={_LETTER})|[{MARKS}{_UNSEEN}]"
    rf"|(?<=\d)[.,٫٬](?=\d))++)"
    r"|!?\[(?=[^\[\]\n]{1,500}\][(\[])"  # the beginning of a link, and its end
    r"|\](?:\((?P<link>[^()\s]{0,500}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?)(?:\s\"[^\"\n]{0,200}\")?\)"
    r"|\[(?P<reference>[^\[\]\n]{0,100})\])"
    r"|!?\[\[(?:(?P<note>[^\[\]\n|]{1,500})\|)?(?=[^\[\]\n|]{1,500}\]\])|\]\]"
    r"|\[\^[^\[\]\s]{1,50}\]:?"
    rf"|</?(?:{_TAGS})(?:\s(?:[^<>\n]{{0,300}}?\b(?:href|cite)\s?=\s?[\"']?(?P<href>[^<>\"'\s]{{1,500}}))?"
    r"[^<>\n]{0,300})?/?>"
)
#: The groups of what is a word; the others are addresses.
_WORDS = ("unspaced", "word")
#: The beginnings of lines in Markdown: block quotes, headings, bullets.
_LINE_START = lazy(r"(?<=\n)[ \t]*+(?:>[ \t]?)*+(?:#{1,6}[ \t]++|[-*+][ \t]++)?(?=[^\n])")
_EMPHASIS = lazy(r"`+|\*{1,3}|_{1,3}|~~|==")
_ESCAPE = lazy(r"\\(?=[!-/:-@\[-`{-~])")
_SPACES = lazy(rf"[\s{_UNSEEN}]+")
_DASHES = lazy(r"[-‐‑‒–—―−]+")
_TYPOGRAPHY = str.maketrans(
    {**dict.fromkeys("“”„‟«»″「」『』", '"'), **dict.fromkeys("‘’‚‛′ʼ‹›", "'"), "…": "...", "。": "."}
)
#: Forms of characters that are the same in a quotation. Powers and fractions are not: 10² is no 102.
_SAME_FORMS = ("<compat>", "<wide>", "<narrow>", "<font>", "<noBreak>", "<initial>", "<medial>", "<final>")
_EDGES = ".,;:'\"()[] \t\n"
#: Words that a quotation must not leave out at its beginning or in place of an ellipsis.
_NEGATIONS = frozenset(
    "not no never neither nor cannot without hardly nicht kein keine keinen nie ne pas jamais sin nunca "
    "don't doesn't didn't isn't aren't wasn't weren't won't can't couldn't shouldn't mustn't wouldn't "
    "不 没 沒 未 无 無 非 勿 莫".split()
)
#: Negations that follow their object, in scripts without spaces.
AFTERWARDS = ("ない", "なか", "ません", "지않", "지못")
#: Words compared to find a difference beside equal words, and the least number of such places.
_MOST_COMPARED, _LEAST_PLACES = 200_000, 20


class LineNumbers:
    """The lines of the offsets of a text."""

    def __init__(self, text: str) -> None:
        self._feeds = [match.start() for match in re.finditer("\n", text)]
        self.count = len(self._feeds) + 1

    def of(self, offset: int) -> int:
        """Return the line of an offset, counted from 1."""
        return bisect_left(self._feeds, offset) + 1

    def start(self, line: int) -> int:
        """Return the offset at which a line begins; that of the last line if there are fewer."""
        return self._feeds[min(line - 2, len(self._feeds) - 1)] + 1 if line > 1 and self._feeds else 0


class VerbatimWords:
    """The words of a text.

    Attributes:
        text: The text.
        folded: The words without regard to case.
        starts: The offset of each word.
        ends: The offset after each word.
        before: The punctuation before each word.
        addresses: The addresses of links by the number of the words before them.
        after: The punctuation after the last word.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.before: list[str] = []
        self.addresses: dict[int, str] = {}
        at, outside, left = 0, "", "\n"
        for match in _WORD.finditer(text):
            outside += text[at : match.start()]
            at = match.end()
            if match.lastgroup not in _WORDS:
                if address := match[match.lastgroup or 0] if match.lastgroup else "":
                    self.addresses[len(self)] = f"{self.addresses.get(len(self), '')} {address.strip('<>')}"
                continue
            word = match[0]
            self.folded.append(word.lower() if word.isascii() else form(word).casefold())
            self.starts.append(match.start())
            self.ends.append(at)
            right = "\1" if match.lastgroup == "word" else "\2"
            self.before.append("" if outside == " " else punctuation(outside, left, right))
            outside, left = "", right
        self.after = punctuation(outside + text[at:], left, "\n")

    def __len__(self) -> int:
        return len(self.folded)

    def written(self, at: int) -> str:
        """Return a word with regard to case."""
        return form(self.text[self.starts[at] : self.ends[at]])

    def following(self, at: int) -> str:
        """Return the punctuation after a word."""
        return self.before[at + 1] if at + 1 < len(self) else self.after

    def slice(self, first: int, end: int) -> str:
        """Return the text of the words from `first` to before `end`."""
        return self.text[self.starts[first] : self.ends[end - 1]] if first < end else ""

    @cached_property
    def _joined(self) -> tuple[str, list[int]]:
        at, places = 1, []
        for word in self.folded:
            places.append(at)
            at += len(word) + 1
        return "\n" + "\n".join(self.folded) + "\n", places

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """The places of each word."""
        found: dict[str, list[int]] = {}
        for at, word in enumerate(self.folded):
            found.setdefault(word, []).append(at)
        return found

    def find(self, words: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[int]:
        """Yield the places before `stop` at which words follow one another, from the place `start` on."""
        joined, places = self._joined
        wanted = "\n" + "\n".join(words) + "\n"
        end = len(joined) if stop is None or stop >= len(places) else places[stop] + len(wanted)
        at = joined.find(wanted, places[start] - 1, end) if words and start < len(places) else -1
        while at >= 0:
            place = bisect_left(places, at + 1)
            if stop is not None and place >= stop:
                return
            yield place
            at = joined.find(wanted, at + 1, end)

    def word_at(self, offset: int) -> int:
        """Return the first word that begins at or after an offset."""
        return bisect_left(self.starts, offset)

    @cached_property
    def line_numbers(self) -> LineNumbers:
        """The lines of the offsets of the text."""
        return LineNumbers(self.text)

    def words_of(self, first: int, last: int) -> tuple[int, int]:
        """Return the first word of some lines, and the first after them."""
        numbers = self.line_numbers
        start = self.word_at(numbers.start(first))
        return start, self.word_at(numbers.start(last + 1)) if last < numbers.count else len(self)

    def lines(self, first: int, end: int) -> tuple[int, int]:
        """Return the first and the last line of the words from `first` to before `end`."""
        return self.line_numbers.of(self.starts[first]), self.line_numbers.of(self.ends[end - 1] - 1)


class Place(tuple[int, int]):
    """The words of a text from the first to before the end, the place of a quotation."""

    fault: str

    def __new__(cls, first: int, end: int, fault: str = "") -> Place:
        place = super().__new__(cls, (first, end))
        place.fault = fault
        return place


@lru_cache(maxsize=20_000)
def form(word: str) -> str:
    """Return a word in the form in which it is compared: NFC, one form of each letter, without joiners."""
    if word.isascii():
        return word
    normal = unicodedata.normalize("NFC", word.translate(_TYPOGRAPHY))
    characters = (
        unicodedata.normalize("NFKC", each)
        if unicodedata.decomposition(each).startswith(_SAME_FORMS)
        else each
        for each in _SPACES.sub("", normal)
    )
    return _DASHES.sub("-", "".join(characters))


@lru_cache(maxsize=20_000)
def punctuation(outside: str, left: str, right: str) -> str:
    """Return the punctuation between two words, without white space and marks of Markdown.

    `left` and `right` stand for what is beside it: `\\1` for a word, `\\2` for one in a script without
    spaces, and a line feed at the beginning and the end of the text.
    """
    if outside.isspace() or not outside:
        return ""
    padded = _LINE_START.sub("", f"{left}{outside}{right}")
    unmarked = _EMPHASIS.sub(lambda match: _kept(padded, match), padded)[1:-1]
    return form(_SPACES.sub("", _ESCAPE.sub("", unmarked)))


def _kept(text: str, match: re.Match[str]) -> str:
    """Return a mark of emphasis if it is an operator: between two words, or with spaces on both sides."""
    around = text[match.start() - 1] + text[match.end()]
    return match[0] if match[0][0] != "`" and (around == "\1\1" or around.isspace()) else ""


def exact_places(
    words: VerbatimWords, quote: VerbatimWords, start: int = 0, stop: int | None = None
) -> Iterator[Place]:
    """Yield the places of the words of a quotation, and the difference at each: "" if there is none."""
    for number, first in enumerate(words.find(quote.folded, start, stop)):
        if number >= _LEAST_PLACES and number * len(quote) >= _MOST_COMPARED:
            return
        yield Place(first, first + len(quote), _fault(words, quote, first))


def _fault(words: VerbatimWords, quote: VerbatimWords, first: int) -> str:
    """Tell the difference between a quotation and the same words at a place."""
    last = first + len(quote) - 1
    for at in range(len(quote)):
        here = words.written(first + at)
        there = quote.written(at)
        # The first letter may be adapted to the sentence around the quotation.
        if here != there and (at or here[1:] != there[1:]):
            return "its case"
        if at and words.before[first + at] != quote.before[at]:
            return "its punctuation"
    if any(words.addresses.get(first + at) != address for at, address in quote.addresses.items()):
        return "its address"
    before, after = words.before[first], words.following(last)
    head = quote.before[0].strip(_EDGES)
    tail = quote.after.strip(_EDGES)
    if not before.strip(_EDGES).endswith(head) or not after.strip(_EDGES).startswith(tail):
        return "its punctuation"
    unit = unit_after(words, last) if quote.folded[-1][-1:].isdigit() and not tail else ""
    if not unit and quote.folded[0][:1].isdigit() and not head:
        unit = unit_before(words, first)
    if unit:
        return f"it leaves out '{unit}'"
    return "" if head else left_out(words, first, last + 1)


def left_out(words: VerbatimWords, first: int, end: int) -> str:
    """Tell which negation stands directly before or after some words, without punctuation between."""
    sign = words.text[words.starts[first] - 1 : words.starts[first]]
    if sign and sign in "!¬":
        return f"it leaves out '{sign}'"
    if first and not words.before[first] and words.folded[first - 1] in _NEGATIONS:
        return f"it leaves out '{words.folded[first - 1]}'"
    if end < len(words) and not words.before[end]:
        following = "".join(words.folded[end : end + 3])
        for negation in AFTERWARDS:
            if following.startswith(negation):
                return f"it leaves out '{negation}'"
    return ""


def is_negation(word: str) -> bool:
    return word in _NEGATIONS

"""Find keys that are known by their shape, as in `shapes.tsv`.

The table is made from the rules of gitleaks by `tools/make_secrets.py`. Only long words are looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TypeAlias

from qmd.features.secrets.records import is_pair
from qmd.features.secrets.values import FoundSecret, is_filler, is_random
from qmd.text.regex import lazy

#: Words with fewer characters are no key by their shape alone.
_LEAST = 15
#: The most lines that a key is wrapped over, and the most places that are looked at for such keys.
_WRAPPED, _MOST_WRAPPED = 60, 1_000
#: Keywords of at most this length are in too many words, so these are only looked for in longer words.
_SHORT_KEYWORD, _LONG_WORD = 2, 34


class _Shape(NamedTuple):
    kind: str
    pattern: re.Pattern[str]


_ByKeyword: TypeAlias = Sequence[tuple[str, Sequence[_Shape]]]


@cache
def _shapes() -> tuple[_ByKeyword, _ByKeyword]:
    """Return the shapes by a keyword that each has in lower case: by longer keywords, and by short ones."""
    by_keyword: dict[str, list[_Shape]] = {}
    rows = (Path(__file__).with_name("shapes.tsv")).read_text(encoding="utf-8").splitlines()
    for kind, keywords, pattern in (row.split("\t") for row in rows if not row.startswith("#")):
        for keyword in keywords.split():
            by_keyword.setdefault(keyword, []).append(_Shape(kind, lazy(pattern)))
    short = [each for each in by_keyword.items() if len(each[0]) <= _SHORT_KEYWORD]
    return [each for each in by_keyword.items() if len(each[0]) > _SHORT_KEYWORD], short


class _ShapePart(NamedTuple):
    """A word, or a part of one, with its place in the text."""

    at: int
    word: str


def keys_of_shape(text: str) -> Iterator[FoundSecret]:
    """Yield the keys that are known by their shape, also if they are wrapped over several lines."""
    parts = _long_words(text)
    if parts:
        by_keyword, by_short_keyword = _shapes()
        yield from _keys(text, parts, by_keyword)
        longer = [part for part in parts if len(part.word) >= _LONG_WORD]
        longer = [each for part in longer for each in (part, _ShapePart(-1, _SEPARATOR))]
        yield from _keys(text, longer, by_short_keyword)
        for part in parts:
            pair = _ENCODED.search(part.word) if part.at >= 0 else None
            if pair and pair[0].lower() != pair[0] != pair[0].upper() and is_pair(pair[0]):
                yield FoundSecret(part.at + pair.start(), part.at + pair.end(), "password")


#: What may be a pair of a name and a password in base64, at the end of a word.
_ENCODED = lazy(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{12,300}={0,2}\Z")


def _keys(text: str, parts: Sequence[_ShapePart], by_keyword: _ByKeyword) -> Iterator[FoundSecret]:
    """Yield the keys of some shapes in words."""
    joined, starts = _joined(parts)
    lowered = joined.lower()
    for keyword, shapes in [row for row in by_keyword if row[0] in lowered]:
        for shape in shapes:
            whole: dict[int, int] = {}
            for match in shape.pattern.finditer(joined):
                whole[bisect_right(starts, match.start()) - 1] = match.end()
                yield from _placed(match, parts, starts, shape.kind)
            if len(keyword) > _SHORT_KEYWORD:
                for number in _numbers(lowered, keyword, starts):
                    end = starts[number] + len(parts[number].word)
                    if whole.get(number, end) == end:
                        yield from _over_lines(text, shape, parts[number], number in whole)


def _numbers(text: str, keyword: str, starts: Sequence[int]) -> Iterator[int]:
    """Yield the numbers of the parts that have a keyword."""
    at = text.find(keyword)
    for _ in range(_MOST_WRAPPED):
        if at < 0:
            return
        yield bisect_right(starts, at) - 1
        at = text.find(keyword, at + len(keyword))


def _over_lines(text: str, shape: _Shape, word: _ShapePart, whole: bool) -> Iterator[FoundSecret]:
    """Yield the keys of a shape that begin in a word and go on in the next lines.

    If the word is a `whole` key, only a random word goes on with it.
    """
    lines = _following(text, word)
    if len(lines) < 2 or (whole and not (len(lines[1].word) >= _LEAST and is_random(lines[1].word, 3.0))):
        return
    joined, offsets = _joined(lines)
    for match in shape.pattern.finditer(joined):
        yield from _placed(match, lines, offsets, shape.kind)


def _placed(
    match: re.Match[str], parts: Sequence[_ShapePart], starts: Sequence[int], kind: str
) -> Iterator[FoundSecret]:
    """Yield the places in the text of a match in joined parts; none if it only stands for a key."""
    start, end = match.span(1) if match.re.groups and match[1] else match.span()
    if is_filler(match.string[start:end]):
        return
    for part, offset in zip(parts, starts, strict=False):
        first, last = max(start - offset, 0), min(end - offset, len(part.word))
        if first < last and part.at >= 0:
            yield FoundSecret(part.at + first, part.at + last, kind)


def _joined(parts: Sequence[_ShapePart]) -> tuple[str, list[int]]:
    """Return the words of parts as one, and the beginning of each."""
    words = [part.word for part in parts]
    return "".join(words), [0, *accumulate(map(len, words))][:-1]


_RUN = b"a" * _LEAST
#: Signs that a key may have, as `a`, and all others as spaces.
_SIGNS = bytes(
    97 if (code < 128 and chr(code).isalnum()) or chr(code) in "_-+/=.~:%$" else 32 for code in range(256)
)
_SEPARATOR = "\n"


def _long_words(text: str) -> list[_ShapePart]:
    """Return the long words of a text, between line feeds.

    The first word of a line is there once more, after the last one of the line before, where a key may begin.
    """
    runs = text.encode("ascii", "replace").translate(_SIGNS)
    parts: list[_ShapePart] = []
    at = runs.find(_RUN)
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(text) if end < 0 else end
        word = _ShapePart(at, text[at:end])
        parts += (word, _ShapePart(-1, _SEPARATOR))
        if (line := text.rfind("\n", max(0, at - 12), at)) > 0 and not text[line:at].strip(" \t\n>|#*"):
            before = runs.rfind(b" ", max(0, line - 20), line) + 1
            if 0 < line - before < _LEAST:
                parts += (_ShapePart(before, text[before:line]), word, _ShapePart(-1, _SEPARATOR))
        at = runs.find(_RUN, end)
    return parts


_AFTER = lazy(r"[ \t]*+(?:\\[ \t]*+)?\n[ \t>|#*]*+([\w+/=.~%:-]{1,200})")


def _following(text: str, word: _ShapePart) -> list[_ShapePart]:
    """Return a word and the words in the next lines, as long as these begin and end their lines."""
    parts = [word]
    end = word.at + len(word.word)
    while len(parts) < _WRAPPED and word.at >= 0 and (after := _AFTER.match(text, end)):
        parts.append(_ShapePart(after.start(1), after[1]))
        end = after.end()
    return parts

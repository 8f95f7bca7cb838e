"""Fit texts into a number of tokens: a bound of those that a text has, and places at which it can be cut.

The bound holds for today's language models, without their tokenizers.

Byte-pair encoding joins pieces of a word as long as two neighbours form a token. So of all ways to divide a
word, the one with the most pieces of which no two neighbours form a token is a bound, and needs only the
tokens that cl100k_base and o200k_base share. `tools/make_model_tokens.py` makes the table of these.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from qmd.text.regex import lazy

#: Pieces that no tokenizer divides differently: words by case, up to three digits, line breaks, runs of a
#: character, punctuation, and any other character.
_PIECE = lazy(
    r"[ ]?[A-Z]?[a-z]+|[ ]?[A-Z]+(?![a-z])|[ ]?[^\W\d_]+|(?P<digits>[0-9]{1,3})|(?P<breaks>\n+|(?:\r\n)+)"
    r"|(?P<run>(?P<repeated>[ \t=*#_./-])(?P=repeated){3,})|[ ]?[!-/:-@\[-`{-~]+|[ ]?[^\w\s]|.",
    re.DOTALL,
)
#: The most characters of a piece in a division. Longer ones would not make more pieces.
_LONGEST = 5
#: Longer words are not kept: they are rare, and a hostile one may have megabytes.
_KEPT = 40


def count(text: str) -> int:
    """Return a number of tokens that cl100k_base and o200k_base do not exceed.

    It is about 1.2 times their larger number on prose, and up to 1.4 times on source code. The time is
    proportional to the length of the text.
    """
    total = 0
    for match in _PIECE.finditer(text):
        piece, kind = match.group(), match.lastgroup
        if kind == "digits":
            total += 1
        elif kind == "breaks":
            total += min(2, len(piece)) + len(piece) // 8
        elif kind == "run":
            total += len(piece) // 16 + 2
        else:
            total += _short(piece) if len(piece) <= _KEPT else _pieces(piece)
    return total + total // 100 + 1 if text else 0


def _pieces(word: str) -> int:
    """Return the most pieces that a word, or a character of several bytes, can be divided into."""
    known = _known()
    if word in known or (len(word) == 1 and word.isascii()):
        return 1
    if len(word) == 1:
        word = word.encode("utf-8", "surrogatepass").decode("ascii", "surrogateescape")
        single = dict.fromkeys(word, 1)
    else:
        single = {character: _short(character) for character in set(word)}
        if word[0] == " " and word[1] >= "\u0800":
            single[" "] = 2  # joined with the first byte, it leaves the other two
    ascii_only = word.isascii()
    #: For the last positions, the latest first: the most pieces up to there by the length of the last one.
    most: list[dict[int, int]] = [{0: 0}]
    for end in range(1, len(word) + 1):
        here: dict[int, int] = {}
        for length, earlier in enumerate(most, 1):
            start = end - length
            if length > 1 and not ascii_only and word[start:end] not in known:
                continue
            before = [
                pieces
                for last, pieces in earlier.items()
                if not last or word[start - last : end] not in known
            ]
            if before:
                here[length] = max(before) + (single[word[start]] if length == 1 else 1)
        most = [here, *most[: _LONGEST - 1]]
    return max(most[0].values(), default=sum(map(single.__getitem__, word)))


_short = lru_cache(maxsize=32_768)(_pieces)


@cache
def _known() -> frozenset[str]:
    """Return the tokens that both tokenizers have; bytes of a character alone are lone surrogates."""
    import gzip

    with open(os.path.join(os.path.dirname(__file__), "model_tokens.gz"), "rb") as file:
        return frozenset(gzip.decompress(file.read()).decode("utf-8", "surrogatepass").split("\n"))


#: The end of a sentence, with the quotation marks and brackets that belong to it.
_SENTENCE = lazy(
    r"(?:(?<![\d.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|(?<![。！？｡])[。！？｡]++[」』”’）】]*+(?![\u0300-\u036f\ufe00-\ufe0f\u200d]))"
)


def cuts(text: str, fences: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield the lengths to which a text can be shortened, ascending. No heading is the last line.

    Args:
        text: Some lines of a document.
        fences: The spans of code in it, in order, inside which it is not cut.
    """
    start = fence = 0
    for line in text.split("\n"):
        end = start + len(line)
        while fence < len(fences) and fences[fence][1] <= start:
            fence += 1
        low, high = fences[fence] if fence < len(fences) else (len(text) + 1, len(text) + 1)
        if end <= low and "|" not in line:  # a row of a table has it
            yield from (start + match.end() for match in _SENTENCE.finditer(line) if match.end() < len(line))
        ends_inside = low < end < high - 1  # the last line feed is part of a fence
        if not ends_inside and line.strip() and not line.startswith("#") and end < len(text):
            yield end
        start = end + 1


def line_ends(text: str) -> Iterator[int]:
    """Yield the lengths of a text up to the end of each line but the last."""
    end = text.find("\n")
    while end >= 0:
        yield end
        end = text.find("\n", end + 1)

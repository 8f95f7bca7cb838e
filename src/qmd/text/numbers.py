"""The numbers of sections: `§ 433`, `9.1`, `Art. 5`, `Chapter IV`, `Appendix B`, `第一千零七十七条`.

A number is compared in one form, however it is written. Its kind is that of the word beside it: an article is
not the chapter with its number, but a number without a word may be any.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from qmd.text.regex import lazy
from qmd.types.structure import Number

#: The words for parts of a document by kind, and the units after a number in Chinese, Japanese and Korean.
_KINDS = {
    "§": ("§§ § paragraph paragraphs paragraf paragrafo párrafo", ""),
    "section": (
        "section sections sect sec abschnitt clause sección seccion sezione seção secção sectie avsnitt"
        " afsnit rozdział раздел",
        "节節절",
    ),
    "article": ("article articles art artikel artículo articulo articolo artigo artykuł статья", "条條조"),
    "chapter": (
        "chapter chapters chap ch kapitel kap chapitre capítulo capitulo capitolo hoofdstuk luku глава",
        "章장",
    ),
    "part": ("part teil partie parte deel del osa часть", "编編部篇편"),
    "book": ("book buch livre libro livro boek книга", "卷巻"),
    "title": ("title titel titre título titulo titolo", ""),
    "appendix": (
        "appendix annex annexe anhang anlage anexo apéndice apêndice allegato bilaga bijlage bilag vedlegg"
        " liite załącznik приложение 附录 附錄 附件 付録 附属書 부록",
        "",
    ),
}
_KIND_OF = {word: kind for kind, (words, units) in _KINDS.items() for word in (*words.split(), *units)}
_WORDS = "|".join(
    sorted((word for words, _ in _KINDS.values() for word in words.split()), key=len, reverse=True)
)
#: The beginnings of words, one of which every number without a digit has before it or in it.
_BEGINNINGS = (*(word for words, _ in _KINDS.values() for word in words.split()), "第", "제")
#: Those that may stand inside of a run of letters.
_INSIDE = "§第제附付부"
_LETTERS = lazy(r"[^\W_]+")
#: The first word of a heading or a paragraph, with a sign behind it.
_WORD = lazy(r"[ \t\u00a0\u3000*_\[(（【]{0,8}([^\W_]+)([.)、．]?)")
_UNITS = "".join(units for _, units in _KINDS.values())
_HAN = {**{digit: value for value, digit in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2, "兩": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_HAN_WORD = f"[{''.join((*_HAN, *_HAN_UNITS))}]{{1,12}}"
_HAN_NUMBER = rf"(?:{_HAN_WORD}|[0-9０-９]{{1,9}})"
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_GAP = r"[ \t\u00a0\u3000]{0,3}"
_END = r"(?![^\W_])"
_DIGITS = r"[0-9]{1,9}+(?:\.[0-9]{1,9})*+[a-z]?"
_LETTERED = r"[A-Z](?:\.[0-9]{1,9})++"
_NAMED = (
    rf"(?<![^\W_])(?P<word>(?i:{_WORDS}))\.?{_GAP}(?P<value>"
    rf"(?:{_LETTERED}|[A-Z]\.?[ ]?[0-9]{{1,9}}(?:-[0-9]{{1,9}}){{0,4}}|{_DIGITS}|[IVXLC]{{1,9}}"
    rf"|[ivxlc]{{2,9}}|[ivx]|[A-Z]){_END}|{_HAN_WORD})"
)
_COUNTED = (
    rf"[第제]{_GAP}(?P<count>{_HAN_NUMBER}){_GAP}(?P<unit>[{_UNITS}])(?:[之のノ의](?P<more>{_HAN_NUMBER}))?"
)
#: The number at the beginning of a heading, which may have no word.
_FIRST = lazy(
    rf"[ \t\u00a0\u3000*_\[(（【]{{0,8}}(?:{_NAMED}|{_COUNTED}|(?P<bare>{_LETTERED}{_END}|{_DIGITS}{_END}"
    rf"|(?:[IVXLC]{{1,9}}|[A-Z])(?=[.)][ \t])|{_HAN_NUMBER}(?=[、．])))"
)
#: The same of a heading in ASCII that has a digit there.
_FIRST_DIGIT = lazy(rf"[ \t*_\[(]{{0,8}}(?P<bare>{_DIGITS}{_END})")
_ANY = lazy(
    rf"{_NAMED}|{_COUNTED}|(?<![^\W_])(?<![^\W_][.-])(?P<bare>(?:{_LETTERED}|{_DIGITS}){_END})"
    rf"(?P<after>\.[ ](?i:{_WORDS}){_END})?"
)
#: Numbers at the beginning of a paragraph, and of a line.
_PARAGRAPH = lazy(
    rf"\n\n(?=[^a-z\s#>|(-])(?P<mark>\*{{0,3}})(?:{_NAMED}|(?P<bare>(?:{_LETTERED}"
    r"|[0-9]{1,9}(?:\.[0-9]{1,9}){1,8})(?=\.?[ \t]+\S)))(?P<rest>[^\n]{0,120})"
)
_COUNTED_LINE = lazy(
    rf"\n(?P<mark>[ \t\u3000*]{{0,8}}+){_COUNTED}(?P<rest>(?:[\s（(【*:：][^\n]{{0,120}})?)(?!\w)"
)
#: Where these may begin; the patterns of what follows take longer to compile than most texts take to read.
_PARAGRAPH_START, _COUNTED_START = lazy(r"\n\n(?=[^a-z\s#>|(-])"), lazy(r"\n(?=[ \t\u3000*]{0,8}+[第제])")
#: A sentence goes on with a small letter: "Section 5 describes".
_SENTENCE = lazy(r"\*{0,3},?[ \t]+[a-zß-ÿ]|[ \t]+[0-9]")
#: How surely a number in a query is that of a section if it may be something else.
_DOTTED, _PLAIN = 0.5, 0.1
#: What ends a sentence whose words are not separated, one with words, and what may follow.
_ENDS, _ENDS_WORDS, _CLOSES = tuple("。；：！？，"), tuple(".;:!?,"), "\"'”’」』）)* \t\u3000"
#: The most characters of a line after its number if it is a heading.
_ALONE = 100


class Named(NamedTuple):
    """A number in a query, how surely it is that of a section, 0..1, and the terms of what was written."""

    number: Number
    sure: float
    terms: frozenset[str]


def numbers_in(query: str) -> list[Named]:
    """Return the numbers of a query that sections may have; only those with a word if there are any."""
    # Most queries have no number, and the pattern takes longer to compile than they take to read.
    words = _LETTERS.findall(query)
    if not (any(map(query.__contains__, _INSIDE)) or any(not w.isalpha() or _may_be_named(w) for w in words)):
        return []
    from qmd.text import tokens  # reading a document starts without it

    found: list[Named] = []
    for match in _ANY.finditer(query):
        bare = match["bare"]
        sure = 1.0 if bare is None or match["after"] else _DOTTED if "." in bare else _PLAIN
        terms = tokens.terms(match[0]) if sure == 1.0 else []
        found.append(Named(_number(match.groupdict()), sure, frozenset(terms)))
    named = [each for each in found if each.sure == 1.0]
    return named or found


def first_number(heading: str) -> Number | None:
    """Return the number that a heading begins with; None if it begins with none."""
    word = _WORD.match(heading)
    # Most headings begin with another word, and the pattern takes longer to compile than they take to read.
    if word and word[1].isalpha() and not word[2] and not _may_be_named(word[1]):
        return None
    has_digit = word is not None and word[1][0].isdigit() and heading.isascii()
    match = _FIRST_DIGIT.match(heading) if has_digit else _FIRST.match(heading)
    return _number(match.groupdict()) if match else None


def _may_begin(text: str, at: int) -> bool:
    """Return whether a paragraph that begins at a position may begin with a number."""
    word = _WORD.match(text, at)
    if word is None:
        return "§" in text[at : at + 8]
    is_dotted = word[2] == "." and text[word.end() : word.end() + 1].isdigit()
    return is_dotted or _may_be_named(word[1])


def _may_be_named(word: str) -> bool:
    """Return whether a word of letters may be one for a part of a document, or begin with it."""
    lowered = word.lower()
    return lowered in _KIND_OF or (lowered.startswith(_BEGINNINGS) and not word[1:].islower())


def whole_number(address: str) -> Number | None:
    """Return the number that an address consists of: `§ 433`, `9.1`, `section-9.1`; None if it is more."""
    for written in (address.strip(), address.strip().replace("-", " ")):
        match = _FIRST.match(written)
        if match and not written[match.end() :].strip(" .)"):
            return _number(match.groupdict())
    return None


def numbered_lines(text: str) -> Iterator[tuple[int, str, Number]]:
    """Yield the sections of a text that begin with a number and have no heading: place, words, number.

    They are paragraphs with a word and a number (`§ 5`, `Art. 5`), lines with `第…条`, and lines that stand
    alone with a number of several parts. The words are those of the line, if it stands alone as a heading
    does, and is no sentence.
    """
    padded = f"\n\n{text}"
    for beginning, pattern in ((_PARAGRAPH_START, _PARAGRAPH), (_COUNTED_START, _COUNTED_LINE)):
        for start in beginning.finditer(padded):
            if pattern is _PARAGRAPH and not _may_begin(padded, start.end()):
                continue
            if (match := pattern.match(padded, start.start())) is None:
                continue
            low, rest = match.end("mark"), match["rest"]
            alone = len(rest) < _ALONE and padded[match.end() : match.end() + 2] in ("\n\n", "\n", "")
            groups = match.groupdict()
            sentence = _SENTENCE.match(rest) and (not alone or rest.endswith("."))
            if groups.get("count") or (not sentence and (alone or groups["bare"] is None)):
                titled = alone and not _says(rest)
                yield low - 2, padded[low : match.end()] if titled else "", _number(groups)


def _says(line: str) -> bool:
    """Return whether a line ends as a sentence does: it says something, and is no heading."""
    line = line.rstrip(_CLOSES)
    return line.endswith(_ENDS) or (line.endswith(_ENDS_WORDS) and len(line.split(None, 4)) > 4)


def _number(match: Mapping[str, str | None]) -> Number:
    count, unit, more, word, value, bare = map(match.get, ("count", "unit", "more", "word", "value", "bare"))
    if count and unit:
        return Number(f"{_integer(count)}-{_integer(more)}" if more else str(_integer(count)), _KIND_OF[unit])
    kind = _KIND_OF[word.lower()] if word else ""
    return Number(_value(value or bare or "", kind), kind)


def _value(written: str, kind: str) -> str:
    """Return a number in the form in which it is compared: Roman and Chinese ones in digits."""
    if written[0] in _HAN or written[0] in _HAN_UNITS:
        return str(_integer(written))
    # A single C, D or L is a letter, and so is any of an appendix.
    upper = written.upper()
    if set(upper) <= _ROMAN.keys() and (len(upper) > 1 or (upper in "IVX" and kind != "appendix")):
        return str(_roman(upper))
    # `L. 121-1` is `L121-1`, and `B.2` is `B2`.
    first, *parts = written.lower().replace(" ", "").split(".")
    parts = [part.lstrip("0") or part for part in (first, *parts) if part]
    return (
        "".join(parts[:2]) + "".join(f".{part}" for part in parts[2:]) if first.isalpha() else ".".join(parts)
    )


def _roman(written: str) -> int:
    values = [_ROMAN[character] for character in written]
    return sum(-low if low < high else low for low, high in zip(values, [*values[1:], 0], strict=True))


def _integer(written: str) -> int:
    """Return the value of a number in Chinese characters or digits of any width."""
    plain = unicodedata.normalize("NFKC", written)
    if plain.isdecimal():
        return int(plain)
    total = digits = 0
    for character in plain:
        if character in _HAN_UNITS:
            total += max(1, digits) * _HAN_UNITS[character]
            digits = 0
        else:
            digits = digits * 10 + (int(character) if character.isdecimal() else _HAN[character])
    return total + digits

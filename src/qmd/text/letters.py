"""The letters and signs that are one when words are compared: one table for the whole of qmd.

Unicode's own data says most of it: compatible forms (NFKC), capitals (`str.casefold`), digits of all scripts,
signs that are not seen (category Cf), and marks above, below and in letters, by their combining class. So
accents, nukta, and the vowel signs of Arabic and Hebrew do not count; those of Indic scripts do. Letters that
Unicode does not decompose are as in published foldings: Latin ones as in the transform Latin-ASCII of CLDR,
Arabic and Persian ones as in the normalizers of Lucene.
"""

from __future__ import annotations

import unicodedata

from qmd.text.regex import lazy

#: Characters that are not seen, as ranges of a character class: soft hyphens, joiners and non-joiners,
#: zero-width spaces, marks of direction, the mark of byte order.
UNSEEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
#: The letters of CLDR's Latin-ASCII that NFKC leaves, each with the letters that it is folded to.
_LATIN = {
    "ae": "æ", "b": "ƀƃɓ", "c": "ƈȼɕ", "d": "ðđƌȡɖɗ", "dz": "ʣ", "e": "ɇɛ", "f": "ƒ", "g": "ǥɠɡ", "h": "ħɦɧ",
    "hv": "ƕ", "i": "ıɨ", "j": "ȷɉɟʝ", "k": "ƙ", "l": "łƚȴɫɬɭ", "m": "ɱ", "n": "ŋƞȵɲɳ", "o": "ø", "oe": "œ",
    "oi": "ƣ", "p": "ƥ", "q": "ĸɋʠ", "r": "ɍɼɽɾ", "s": "ȿʂ", "t": "ŧƫƭȶʈ", "th": "þ", "ts": "ʦ", "u": "ʉ",
    "v": "ʋ", "y": "ƴɏ", "z": "ƶȥɀʐʑ",
}  # fmt: skip
#: Alef wasla; teh marbuta and other forms of heh; yeh without dots, of Persian and barree; keheh.
_ARABIC = {"ا": "ٱ", "ه": "ةەہۂ", "ي": "ىیےۍ", "ك": "ک"}
#: A nasal before another consonant, which Hindi also writes as anusvara, and candrabindu.
_NASAL = lazy("[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u0939])")
_CANDRABINDU = {0x901: "\u0902"}
#: The first letters of words of Arabic and Hebrew that may be particles; see `particles`.
BEFORE_WORDS = "\u0648\u0628\u0644\u0643\u0641\u0627\u05d5\u05db\u05e9\u05de\u05d1\u05dc\u05d4"
#: The stretching sign of Arabic, and letters that are written for an apostrophe.
_NOTHING = "\u0640\u02b9\u02ba\u02bb\u02bc\u02bd\u02bf\u02be\u02c8"
#: Letters that are also written with two: those of German, as in CLDR's de-ASCII, and of Danish; and the
#: sign of micro (folded), for which people write `u`.
_TWO = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "μ": "u"})
#: Combining classes of marks that do not count: overlays, nukta, Hebrew and Arabic points, and marks that
#: stand above or below in general. Those of one script alone (viramas, Thai vowels) are letters.
_SIGNS = frozenset((1, 7, *range(10, 37), *range(202, 241)))
#: Those of the points of Hebrew and Arabic alone.
_VOWELS = frozenset(range(10, 37))


#: What remains of each character that was met: for `str.translate`.
_folded: dict[int, str | None] = {0x34F: None, 0x345: None}
_bare: dict[int, str | None] = {0x34F: None, 0x640: None, ord("ı"): "i"}
for _table in (_LATIN, _ARABIC):
    for _letters, _forms in _table.items():
        _folded.update(dict.fromkeys(map(ord, _forms), _letters))
_folded.update(dict.fromkeys(map(ord, _NOTHING)))
_folded.update(_CANDRABINDU)
#: The letters that are folded to two, which `str.translate` of bytes cannot do.
DOUBLED = {form: letters for letters, forms in _LATIN.items() if len(letters) > 1 for form in forms}


def folded(text: str) -> str:
    """Return a text without capitals, accents, signs and other differences of letters, decomposed."""
    text = unicodedata.normalize("NFD", text.casefold())
    for code in set(map(ord, text)).difference(_folded):
        digit = unicodedata.decimal(chr(code), None)
        letter = chr(code) if digit is None else str(digit)
        _folded[code] = None if _is_sign(code, _SIGNS) else letter
    text = text.translate(_folded)
    return _NASAL.sub("\u0902", text) if "\u094d" in text else text


def bare(text: str) -> str:
    """Return a text without capitals, and without signs that are not seen or stand for vowels."""
    text = unicodedata.normalize("NFC", text).casefold().replace("i\u0307", "i")
    text = unicodedata.normalize("NFD", text)
    for code in set(map(ord, text)).difference(_bare):
        _bare[code] = None if _is_sign(code, _VOWELS) else chr(code)
    return unicodedata.normalize("NFC", text.translate(_bare))


def _is_sign(code: int, classes: frozenset[int]) -> bool:
    return unicodedata.combining(chr(code)) in classes or unicodedata.category(chr(code)) == "Cf"


def in_two(text: str) -> str:
    """Return a text with `ae` for `ä` and the like, without capitals: `ueber` for `Über`.

    It is the same text if it has no such letter.
    """
    return unicodedata.normalize("NFC", text).casefold().translate(_TWO)


def in_one(word: str) -> str:
    """Return a folded word with `a` for `ae` and the like: the folded form of what it may be written for."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u").replace("aa", "a")

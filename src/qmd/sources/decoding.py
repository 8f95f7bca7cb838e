"""Decode the bytes of a text file, whatever its encoding."""

from __future__ import annotations

import codecs
import re
import unicodedata
from operator import itemgetter
from typing import TypeAlias

from qmd.errors import SourceError
from qmd.text.regex import lazy
from qmd.types import Decoding

#: A text, its charset, and whether that is doubtful.
_Decoded: TypeAlias = tuple[str, str, bool]
# Longer marks first, because the mark of UTF-32-LE starts with that of UTF-16-LE.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b") + b"\x7f"
_MAX_CONTROLS = 0.05  # share of the bytes; text has almost none, binary data about one in ten

_SAMPLE = 64 * 1024  # bytes
_MAX_CHAOS = 0.15  # the detector's share of implausible characters, 0..1
#: A guess is doubtful above this chaos, or if another charset with so little more gives another text.
_CLEAR = 0.05
#: The share of characters that a charset may fail to decode. One character of a short text may be broken.
_MAX_BROKEN = 0.01
#: The share of characters that may be lost if no charset fits.
_MAX_LOST = 0.1
#: The share of the bytes above ASCII that is valid in UTF-8 with faults. Of other charsets it is below half.
_MOSTLY_UTF8 = 2 / 3
#: So few bytes above ASCII are no evidence of a charset.
_FEW = 3
#: The most lines with invalid bytes that are named.
MAX_LINES = 10

# Charsets of Latin scripts, in which most accented letters stand alone. The most common first.
_LATIN = ("cp1252", "cp1250", "cp1254", "iso8859_2")
# Charsets of other scripts, in which words are runs of bytes above ASCII. If several match, the first wins.
_MULTI_BYTE = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_OTHER = ("cp1251", "koi8_r", "cp1253", "cp1256", "cp1255")

#: By charset: the standard whose characters are ordered by how common they are, the first bytes of the common
#: ones there, and those of which a text has at least a tenth. The first of equally good charsets is taken.
_EAST_ASIAN = {
    "cp949": ("euc_kr", range(0xB0, 0xC9), range(0xB0, 0xC9)),
    "euc_jp": ("shift_jis", range(0x82, 0x98), range(0x82, 0x84)),
    "cp932": ("shift_jis", range(0x82, 0x98), range(0x82, 0x84)),
    "gb18030": ("gb2312", range(0xB0, 0xD8), range(0xB0, 0xD8)),
    "big5hkscs": ("big5", range(0xA4, 0xC7), range(0xA4, 0xC7)),
}
#: The share of common characters, and the fewest characters that tell.
_MOSTLY_COMMON, _LETTERS = 0.9, 4

_HIGH = bytes(range(128, 256))
_ALONE = lazy(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_ASCII_TEXT = b"\t\n\r" + bytes(range(32, 127))
#: Runs of bytes that are no UTF-8, as the error handler `surrogateescape` writes them.
_INVALID = lazy("[\udc80-\udcff]+")
#: What a charset puts in the place of bytes that it cannot decode.
_REPLACED = lazy("\ufffd")
#: The first bytes of most characters that are cut at the end of a file: of Latin letters and punctuation.
_CUT = b"\xc2\xc3\xc4\xc5\xe2"
#: How editors and languages declare the charset of a text in its first lines (PEP 263, Emacs, Vim, XML, CSS).
_CODING = lazy(rb"(?:coding|charset)[ \t]*[:=]?[ \t]*[\"']?([\w.-]+?)(?:-unix|-dos|-mac)?(?![\w.-])", re.I)
_CODING_WITHIN = 400  # bytes
#: Categories of characters that texts hardly have: controls, surrogates, private ones, and what is none.
_IMPLAUSIBLE = ("Cc", "Cn", "Co", "Cs")
_LINES = dict.fromkeys(map(ord, "\t\n\r"))
#: How invalid bytes of a charset are written; "replace" for others.
_HANDLERS = {"utf-8": "surrogateescape"}

#: Charsets that files may declare, by the beginnings of their names: no codecs that are slow or no charsets.
_DECLARED = ("ascii", "big5", "cp", "euc", "gb", "hz", "iso", "koi8", "mac", "shift", "tis", "utf-")
#: Charsets that are ASCII with escape sequences, so that their bytes are valid UTF-8.
_ESCAPED = ("hz", "iso2022", "utf-7")
#: The charset that browsers read for a declared one: the larger one that programs really write.
_LARGER = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}


def decode(path: str, data: bytes, encoding: str | None, declared: str = "") -> tuple[str, Decoding]:
    """Return the text of a file, with line feeds as line ends, and how it was decoded.

    A few bytes that do not fit the charset cost no more than themselves: beside ASCII they are read as
    Windows-1252, which is what they are in most files, and otherwise replaced by U+FFFD.

    Args:
        path: The path that errors name.
        data: The bytes. A byte-order mark decides; without one they are UTF-8 if that is possible.
        encoding: The encoding of the collection, for files that are neither UTF-8 nor `declared`.
        declared: The charset that the file itself names. Without any, the charset is guessed.

    Raises:
        SourceError: The bytes are not text, or `encoding` is unknown.
    """
    try:
        text, charset, doubtful = _decode(path, data, encoding, declared)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        encoded = _encoded(text, charset)
        text, invalid, lines = (text, 0, ()) if encoded is not None else _mend(text, charset)
        encoded = encoded or text.encode()
    except UnicodeError as error:
        raise SourceError(
            f"cannot read {path}: its encoding is unknown",
            "set the collection's 'encoding', or convert the file to UTF-8",
        ) from error
    controls = len(encoded) - len(encoded.translate(None, _CONTROLS))
    # One control character is allowed in any text, however short.
    if controls > max(1, _MAX_CONTROLS * len(encoded)):
        raise _not_text(path)
    zeros = text.count("\0")
    return text.replace("\0", " ") if zeros else text, Decoding(charset, doubtful, zeros, invalid, lines)


def as_text(data: bytes, declared: str = "") -> str:
    """Return a part of a file as text, whatever its charset; see `decode`."""
    try:
        return decode("", data, None, declared)[0]
    except SourceError:
        return data.decode("cp1252", "replace")


def _encoded(text: str, charset: str) -> bytes | None:
    """Return a text as UTF-8; None if it may have characters in the place of invalid bytes."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return None
    return encoded if charset == "utf-8" or "\ufffd" not in text else None


def _mend(text: str, charset: str) -> tuple[str, int, tuple[int, ...]]:
    """Return a text without invalid bytes, the number of places that had any, and the lines of the first.

    Raises `UnicodeError` if nothing else is in it.
    """
    pattern = _INVALID if charset == "utf-8" else _REPLACED
    places = [match.start() for match in pattern.finditer(text)]
    if not places:
        return text, 0, ()
    mended = _INVALID.sub(_replacement, text) if charset == "utf-8" else text
    if not mended.replace("\ufffd", "").strip("\0 \n"):
        raise UnicodeError("no character is valid")
    lines: list[int] = []
    line, last = 1, 0
    for place in places:
        line, last = line + text.count("\n", last, place), place
        if line not in lines[-1:]:
            lines.append(line)
        if len(lines) == MAX_LINES:
            break
    return mended, len(places), tuple(lines)


def _replacement(match: re.Match[str]) -> str:
    """Return what stands for a run of bytes that are no UTF-8."""
    text, (start, end) = match.string, match.span()
    data = match[0].encode("utf-8", "surrogateescape")
    is_beside_ascii = text[max(0, start - 1) : start].isascii() and text[end : end + 1].isascii()
    is_cut = end == len(text) and data in (_CUT[at : at + 1] for at in range(len(_CUT)))
    if is_beside_ascii and len(data) <= 2 and not is_cut and b"\xff" not in data:
        try:
            letters = data.decode("cp1252")
        except UnicodeError:
            pass
        else:
            if len(data) == 1 or letters.isalpha():
                return letters
    return data.decode("utf-8", "replace")


def _declared(label: str) -> str:
    """Return the codec for the charset that a file declares; "" if there is none."""
    if not label:
        return ""
    name = label.strip().lower()
    for spelling in (name, name.removeprefix("x-").removesuffix("-i"), f"cp{name.removeprefix('windows-')}"):
        try:
            codec = codecs.lookup(spelling).name
        except (LookupError, ValueError):
            continue
        return _LARGER.get(codec, codec) if codec.startswith(_DECLARED) else ""
    return ""


def _decode(path: str, data: bytes, encoding: str | None, declared: str) -> _Decoded:
    """Return the text, its charset and whether that is doubtful.

    Bytes that are no UTF-8 are lone surrogates in it, those that do not fit another charset are U+FFFD.
    Raises `UnicodeError` if no charset fits.
    """
    if marked := _by_mark(data):
        return marked
    zeros = data.count(0)
    few_zeros = zeros <= _MAX_CONTROLS * len(data)
    # Many zeros are more likely halves of UTF-16 characters.
    if known := _as_utf8(data, declared) if few_zeros else _wide(data):
        return known
    if (codec := _declared(declared or _coding(data))) and codec != "utf-8":
        text = data.decode(codec, "replace")
        if _is_whole(text):
            return text, codec, False
    if encoding is not None and (stated := _as_stated(path, data, encoding)):
        return stated
    if few_zeros and _is_mostly_utf8(data):
        return data.decode("utf-8", "surrogateescape"), "utf-8", False
    if zeros:
        if few_zeros and (wide := _wide(data)):
            return wide
        raise _not_text(path)
    detected = _detect_charset(data)
    if detected is not None:
        charset, doubtful = detected
        text = data.decode(charset, "replace")
        if _is_whole(text):
            return text, charset, doubtful
    text = data.decode("utf-8", "replace")
    if text.count("\ufffd") <= _MAX_LOST * len(text):  # its ASCII at least
        return data.decode("utf-8", "surrogateescape"), "utf-8", False
    raise UnicodeError("no charset fits")


def _by_mark(data: bytes) -> _Decoded | None:
    """Return the text of bytes that begin with a byte-order mark."""
    if data[:1] in (b"\xef", b"\xff", b"\xfe", b"\0"):
        for mark, charset in _MARKS:
            if data.startswith(mark):
                rest = data[len(mark) :]
                return rest.decode(charset, _HANDLERS.get(charset, "replace")), charset, False
    return None


def _as_utf8(data: bytes, declared: str) -> _Decoded | None:
    """Return the text of bytes that are UTF-8, or declare a charset that is written in ASCII."""
    try:
        text = data.decode()
        codec = _declared(declared)
        return (data.decode(codec), codec, False) if codec.startswith(_ESCAPED) else (text, "utf-8", False)
    except UnicodeDecodeError:
        return None


def _as_stated(path: str, data: bytes, encoding: str) -> _Decoded | None:
    """Return the text in the encoding of the collection, if it is another than UTF-8 and fits."""
    try:
        text = data.decode(encoding, "replace")
    except UnicodeError:
        text = "\ufffd"
    except (LookupError, ValueError) as error:
        raise SourceError(
            f"cannot read {path}: the encoding '{encoding}' is unknown",
            "set the collection's 'encoding' to a charset such as shift_jis, gb18030 or windows-1252",
        ) from error
    fits = codecs.lookup(encoding).name != "utf-8" and _is_whole(text)
    return (text, encoding, False) if fits else None


def _is_whole(text: str) -> bool:
    """Return whether a charset could decode nearly all characters of a text."""
    return text.count("\ufffd") <= max(1, _MAX_BROKEN * len(text)) and text != "\ufffd"


def _coding(data: bytes) -> str:
    """Return the charset that the first lines declare; "" if they declare none."""
    labels = (match[1].decode() for match in _CODING.finditer(data[:_CODING_WITHIN]))
    return next(filter(_declared, labels), "")


def _is_mostly_utf8(data: bytes) -> bool:
    """Return whether bytes are UTF-8 with faults rather than text in another charset."""
    text = data.decode("utf-8", "surrogateescape")
    runs = _INVALID.findall(text)
    tail = len(runs[-1]) if runs and text.endswith(runs[-1]) else 0  # a character may be cut there
    high = len(data) - len(data.translate(None, _HIGH)) - tail
    invalid = sum(map(len, runs)) - tail
    if high == invalid:
        # ASCII with a few letters or quotation marks of Windows-1252, or less than what tells a charset.
        is_few = high <= max(1, _MAX_BROKEN * len(data)) and len(_ALONE.findall(data)) == high + tail
        return is_few or high <= min(_FEW, len(data) // 20)
    if high - invalid >= _MOSTLY_UTF8 * high:
        return True
    # A text in Windows-1252 does not have what its own letters are in UTF-8, such as "Ã¤" and "â€™".
    valid = "".join(character for character in _INVALID.sub("", text) if character > "\x7f")
    return 2 * len(valid.encode("cp1252", "ignore")) >= len(valid) and _is_latin(data, high)


def _is_latin(data: bytes, high: int) -> bool:
    """Return whether a good part of the bytes above ASCII, so many, stand alone, as accented letters do."""
    return 3 * len(_ALONE.findall(data)) >= high


def _wide(data: bytes) -> _Decoded | None:
    """Return the text of UTF-16 or UTF-32 without a byte-order mark; None if it is something else."""
    if len(data.translate(None, _ASCII_TEXT)) <= len(data) // 5:
        return None  # ASCII; pairs of its letters would be Chinese
    fitting: list[tuple[int, str]] = []
    for charset in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        # The last character may be cut.
        text = data[:_SAMPLE].decode(charset, "replace").removesuffix("\ufffd").translate(_LINES)
        odd = text.count("\ufffd") + sum(unicodedata.category(char) in _IMPLAUSIBLE for char in text)
        narrow = sum(char < "\x80" for char in text)
        # In the other order of bytes, zeros end the code of a character.
        is_reversed = sum(not ord(char) & 0xFF for char in text) > max(narrow // 4, len(text) // 20)
        if text and odd <= _MAX_BROKEN * len(text) and not is_reversed:
            fitting.append((narrow - 4 * odd, charset))
    _, charset = max(fitting, default=(0, ""))
    return (data.decode(charset, "replace"), charset, False) if charset else None


def _detect_charset(data: bytes) -> tuple[str, bool] | None:
    """Guess the charset of a text in natural language from its first lines, and whether that is doubtful.

    None if no charset fits, or several fit equally well but would give different scripts.
    """
    if len(data) > _SAMPLE:  # end at a line end, so that no character is cut
        data = data[: data.rfind(b"\n", 0, _SAMPLE) + 1] or data
    latin = _is_latin(data, len(data) - len(data.translate(None, _HIGH)))
    charsets = _LATIN if latin else _MULTI_BYTE + _OTHER
    if not latin and (charset := _east_asian(data)):
        return charset, False
    from charset_normalizer import from_bytes

    matches = from_bytes(data, cp_isolation=list(charsets), threshold=_MAX_CHAOS)
    best = matches.best()
    if best is None:
        return None
    equally_good = {
        charset
        for match in matches
        if match.chaos <= best.chaos and (latin or match.coherence >= best.coherence)
        for charset in match.could_be_from_charset
    }
    if len(equally_good) > 1 and not equally_good.isdisjoint(_MULTI_BYTE):
        return None
    # Each match is another text.
    similar = sum(1 for match in matches if match.chaos <= best.chaos + _CLEAR)
    chosen = next((charset for charset in charsets if charset in equally_good), best.encoding)
    return chosen, similar > 1 or best.chaos > _CLEAR


def _east_asian(data: bytes) -> str:
    """Return the charset in which nearly all characters are among the common ones; "" if there is none."""
    best = (_MOSTLY_COMMON, "")
    for charset, (standard, common, needed) in _EAST_ASIAN.items():
        text = data.decode(charset, "replace")
        letters = "".join(char for char in text if char > "\x7f" and char.isalnum())
        leads = letters.encode(standard, "ignore")[::2]
        if (
            _is_whole(text)
            and len(letters) >= _LETTERS
            and sum(map(needed.__contains__, leads)) * 10 >= len(letters)
        ):
            best = max(
                best, (sum(map(common.__contains__, leads)) / len(letters), charset), key=itemgetter(0)
            )
    return best[1]


def _not_text(path: str) -> SourceError:
    return SourceError(f"cannot read {path}: not text", "exclude it with an ignore glob")

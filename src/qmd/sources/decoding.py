"""Decode the bytes of a text file, whatever its encoding."""

from __future__ import annotations

import codecs
import re

from qmd.errors import SourceError
from qmd.types import Decoding

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
#: The share of characters that a charset that the file declares may fail to decode.
_MAX_BROKEN = 0.01

# Charsets of Latin scripts, in which most accented letters stand alone. The most common first.
_LATIN = ("cp1252", "cp1250", "cp1254", "iso8859_2")
# Charsets of other scripts, in which words are runs of bytes above ASCII. If several match, the first wins.
_MULTI_BYTE = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_OTHER = ("cp1251", "koi8_r", "cp1253", "cp1256", "cp1255")

_HIGH = bytes(range(128, 256))
_ALONE = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")

#: Charsets that files may declare, by the beginnings of their names: no codecs that are slow or no charsets.
_DECLARED = ("ascii", "big5", "cp", "euc", "gb", "hz", "iso", "koi8", "mac", "shift", "tis", "utf-8")
#: Charsets that are ASCII with escape sequences, so that their bytes are valid UTF-8.
_ESCAPED = ("hz", "iso2022")
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

    Args:
        path: The path that errors name.
        data: The bytes. A byte-order mark decides; without one they are UTF-8 if that is possible.
        encoding: The encoding of the collection, for files that are neither UTF-8 nor `declared`.
        declared: The charset that the file itself names. Without any, the charset is guessed.

    Raises:
        SourceError: The bytes are not text, or `encoding` is unknown.
    """
    try:
        text, charset, doubtful = _decode(path, data, encoding, _declared(declared))
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        encoded = text.encode()
    except UnicodeError as error:
        raise SourceError(
            f"cannot read {path}: its encoding is unknown",
            "Set the collection's 'encoding', or convert the file to UTF-8.",
        ) from error
    controls = len(encoded) - len(encoded.translate(None, _CONTROLS))
    # One control character is allowed in any text, however short.
    if controls > max(1, _MAX_CONTROLS * len(encoded)):
        raise _not_text(path)
    zeros = text.count("\0")
    return text.replace("\0", " ") if zeros else text, Decoding(charset, doubtful, zeros)


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


def _decode(path: str, data: bytes, encoding: str | None, declared: str) -> tuple[str, str, bool]:
    """Return the text, its charset and whether that is doubtful. Raises `UnicodeError` if no charset fits."""
    if data[:1] in (b"\xef", b"\xff", b"\xfe", b"\0"):
        for mark, charset in _MARKS:
            if data.startswith(mark):
                return data[len(mark) :].decode(charset), charset, False
    zeros = data.count(0)
    try:
        # If a charset is set, many zeros are more likely halves of UTF-16 characters.
        if encoding is None or zeros <= _MAX_CONTROLS * len(data):
            text = data.decode()
            if declared.startswith(_ESCAPED):
                return data.decode(declared), declared, False
            return text, "utf-8", False
    except UnicodeDecodeError:
        pass
    if declared:
        text = data.decode(declared, "replace")
        broken = text.count("\ufffd")
        if broken <= _MAX_BROKEN * len(text):
            return text, declared, broken > 0
    if encoding is not None:
        try:
            return data.decode(encoding), encoding, False
        except UnicodeError:
            pass
        except (LookupError, ValueError) as error:
            raise SourceError(
                f"cannot read {path}: the encoding '{encoding}' is unknown",
                "Set the collection's 'encoding' to a charset such as shift_jis, gb18030 or windows-1252.",
            ) from error
    if zeros:
        raise _not_text(path)
    detected = _detect_charset(data)
    if detected is None:
        raise UnicodeError("no charset fits")
    charset, doubtful = detected
    return data.decode(charset), charset, doubtful


def _detect_charset(data: bytes) -> tuple[str, bool] | None:
    """Guess the charset of a text in natural language from its first lines, and whether that is doubtful.

    None if no charset fits, or several fit equally well but would give different scripts.
    """
    from charset_normalizer import from_bytes

    if len(data) > _SAMPLE:  # end at a line end, so that no character is cut
        data = data[: data.rfind(b"\n", 0, _SAMPLE) + 1] or data
    high = len(data) - len(data.translate(None, _HIGH))
    latin = 3 * len(_ALONE.findall(data)) >= high
    charsets = _LATIN if latin else _MULTI_BYTE + _OTHER
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


def _not_text(path: str) -> SourceError:
    return SourceError(f"cannot read {path}: not text", "Exclude it with an ignore glob.")

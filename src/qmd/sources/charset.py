"""Which charset bytes that are not UTF-8 are most likely in."""

from __future__ import annotations

import re

_SAMPLE = 64 * 1024  # bytes
_MAX_CHAOS = 0.15  # the detector's share of implausible characters, 0..1

# Single-byte charsets of Latin scripts, whose accented letters mostly stand alone; the commonest first.
_LATIN = ("cp1252", "cp1250", "cp1254")
# Scripts in which a word is a run of bytes above ASCII; of equals that are single-byte, the first.
_MULTI_BYTE = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_OTHER = ("cp1251", "koi8_r", "cp1253", "cp1256", "cp1255")

_HIGH = bytes(range(128, 256))
_ALONE = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")


def detect_charset(data: bytes) -> str | None:
    """The Python name of the charset that `data` is most likely in, from its first lines.

    None if no charset fits, or if several fit equally well and would read as different scripts. A guess for
    text in natural language: telling `data` from other than text is the caller's.
    """
    from charset_normalizer import from_bytes

    if len(data) > _SAMPLE:  # whole lines, so that no character is cut
        data = data[: data.rfind(b"\n", 0, _SAMPLE) + 1] or data
    high = len(data) - len(data.translate(None, _HIGH))
    latin = 3 * len(_ALONE.findall(data)) >= high
    charsets = _LATIN if latin else _MULTI_BYTE + _OTHER
    matches = from_bytes(data, cp_isolation=list(charsets), threshold=_MAX_CHAOS)
    best = matches.best()
    if best is None:
        return None
    equals = {
        charset
        for match in matches
        if match.chaos <= best.chaos and (latin or match.coherence >= best.coherence)
        for charset in match.could_be_from_charset
    }
    if len(equals) > 1 and not equals.isdisjoint(_MULTI_BYTE):
        return None
    return next((charset for charset in charsets if charset in equals), best.encoding)

"""`qmd://` addresses and `path:from:count` references: syntax only, nothing is looked up."""

from __future__ import annotations

import re
import unicodedata

SCHEME = "qmd://"
MAX_LINE = 1_000_000_000  # what a longer number means

# What JavaScript's encodeURIComponent leaves alone, and the slash between segments.
_RESERVED = re.compile(r"[^A-Za-z0-9\-_.!~*'()/]+")
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def encode_path(path: str) -> str:
    """`path` with every segment percent-encoded as encodeURIComponent does; slashes stay."""
    return _RESERVED.sub(_encode, path)


def to_uri(path: str) -> str:
    """The address of a display path: `notes/a b.md` is `qmd://notes/a%20b.md`."""
    return SCHEME + encode_path(path)


def is_uri(reference: str) -> bool:
    return reference[: len(SCHEME)].lower() == SCHEME


def parse_uri(uri: str) -> str:
    """The display path that a `qmd://` address names, decoded, in NFC, without empty and `.` segments.

    `%2F` is a slash. A `%` that starts no escape is itself, so addresses typed by hand work too. `..` and NUL
    are kept as they are, never interpreted: no document has such a path, so looking it up finds nothing.
    Raises ValueError for anything that does not start with `qmd://`.
    """
    if not is_uri(uri):
        raise ValueError(f"not a {SCHEME} address: {uri[:200]!r}")
    decoded = _ESCAPES.sub(_decode, uri[len(SCHEME) :])
    segments = [segment for segment in decoded.split("/") if segment not in ("", ".")]
    return unicodedata.normalize("NFC", "/".join(segments))


def split_location(reference: str) -> tuple[str, int | None, int | None]:
    """`path:from:count` or `path:from` as (path, from, count); (reference, None, None) without such an end.

    Numbers are ASCII digits; above `MAX_LINE` they are `MAX_LINE`. A file whose own name ends in `:12` is the
    caller's to look for first.
    """
    path, last = _split_number(reference)
    if last is None:
        return reference, None, None
    shorter, first = _split_number(path)
    if first is None:
        return path, last, None
    return shorter, first, last


def _split_number(reference: str) -> tuple[str, int | None]:
    path, _, digits = reference.rpartition(":")
    if not path or not (digits.isascii() and digits.isdigit()):
        return reference, None
    significant = digits.lstrip("0") or "0"
    return path, int(significant) if len(significant) <= len(str(MAX_LINE)) - 1 else MAX_LINE


def _encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def _decode(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")

"""What was recognized in the pages of a file that have no text, as its reader gets it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.msgpack import Decoder, encode

from qmd.sources.formats.base import RawFile


class Seen(Struct, frozen=True, array_like=True):
    """What was recognized in a page; `why` says why it could not be read."""

    text: str = ""
    why: str = ""


_decode = Decoder(dict[int, Seen]).decode


def pack(pages: Mapping[int, Seen]) -> bytes:
    """Return pages by number, from 1, for the reader of their file."""
    return encode(pages)


def seen_in(file: RawFile) -> dict[int, Seen]:
    """Return the pages of a file in which something was looked for, by number."""
    return _decode(file.beside) if file.beside else {}

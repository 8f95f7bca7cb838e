"""What was recognized in the pages of a file that have no text, as its reader gets it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from urllib.parse import quote

from msgspec import Struct
from msgspec.msgpack import Decoder, encode

from qmd.sources.formats.base import RawFile
from qmd.text.regex import lazy

#: Signs that Markdown would read.
_SIGNS = lazy(r"[\\`*_\[\]<|~$]|^[#>=+-]", re.M)


class Seen(Struct, frozen=True, array_like=True):
    """What was recognized in a page; `why` says why it could not be read.

    In a note, `shown` is the path of the picture that it shows.
    """

    text: str = ""
    why: str = ""
    shown: str = ""


_decode = Decoder(dict[int, Seen]).decode


def pack(pages: Mapping[int, Seen]) -> bytes:
    """Return pages by number, from 1, for the reader of their file."""
    return encode(pages)


def seen_in(file: RawFile) -> dict[int, Seen]:
    """Return the pages of a file in which something was looked for, by number."""
    return _decode(file.beside) if file.beside else {}


def shown_in(file: RawFile, text: str) -> str:
    """Return the texts of the pictures that a note still shows, each below the name of its file, as Markdown.

    They come after the text of the note, so that its lines are those of the file.
    """
    parts = []
    for page in seen_in(file).values():
        name = posixpath.basename(page.shown)
        if name in text or quote(name) in text:
            parts.append(f"\n\n###### {_plain(name)}\n\n{_plain(page.text)}\n")
    return "".join(parts)


def _plain(text: str) -> str:
    return _SIGNS.sub(lambda sign: f"\\{sign[0]}", text)

"""Data in a text: pictures that it holds itself, as `data:` addresses, and scenes of Excalidraw.

One of 60 kB is 80,000 characters in a line. They stay in the text, and `get` prints them. But no word of them
is indexed or embedded, and where passages are shown they are named by their size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from qmd.text.regex import lazy
from qmd.text.spans import blanked
from qmd.text.wording import human_size

#: An address with at least 40 characters of data, in base64, also on several lines, or in percent signs; with
#: the brackets behind it. Quantifiers are possessive or bounded, so that matching takes linear time.
_DATA = lazy(
    r"[dD](?<!\w[dD])(?i:ata):[\w.+-]{1,80}+/[\w.+-]{1,80}+(?P<parameters>"
    r"(?:;[\w.+-]{1,80}+(?:=[\w.+\"-]{0,80}+)?+){0,5}+),"
    r"(?P<data>[^\s\"'<>()\\]{40,}+(?:\n[ \t]{0,20}+[A-Za-z0-9+/]{60,}+)*+"
    r"(?:\n[ \t]{0,20}+[A-Za-z0-9+/]{1,76}+={0,2}(?=[\"'>)]))?+)(?:>?\))?"
)


#: The scene of a drawing in a note of Obsidian, compressed or as JSON. The note has its texts as well.
_SCENE = lazy(
    r"^```(?:compressed-json[ \t]*+\n|json[ \t]*+\n(?=\{\s{0,9}+\"type\":\s?+\"excalidraw\"))"
    r"(?P<data>(?:(?!```)[^\n]*+\n)*+)```",
    re.M,
)
#: A note with a drawing says so in its front matter, within so many characters.
_SIGN, _NEAR = "excalidraw-plugin", 4_000


def is_drawing(text: str) -> bool:
    """Return whether a text is a note of Obsidian with a drawing."""
    return text.startswith("---") and _SIGN in text[:_NEAR]


@lru_cache(maxsize=8)
def data_spans(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return [start, end) of the data of a text, with their names: `(data:image/png 60 kB)`."""
    scenes = [_named_scene(match) for match in _SCENE.finditer(text)] if is_drawing(text) else []
    if not any(scheme in text for scheme in ("data:", "Data:", "DATA:")):
        return tuple(scenes)
    found = (_named(text, match) for match in _DATA.finditer(text))
    return tuple(sorted([*scenes, *(each for each in found if not _covered(each[0], scenes))]))


def _covered(place: int, spans: Sequence[tuple[int, int, str]]) -> bool:
    return any(start <= place < end for start, end, _ in spans)


def _named_scene(match: re.Match[str]) -> tuple[int, int, str]:
    return *match.span(), f"(drawing {human_size(len(match['data']))})" + "\n" * match[0].count("\n")


def _named(text: str, match: re.Match[str]) -> tuple[int, int, str]:
    """Return [start, end) of an address with the brackets around it, and its name, on as many lines."""
    start, data = match.start(), match["data"]
    opening = next((each for each in ("(", "(<") if text.endswith(f"]{each}", 0, start)), "")
    size = len(data) * 3 // 4 if match["parameters"].endswith(";base64") else len(data)
    kind, closing = text[start : match.start("parameters")], text[match.end("data") : match.end()]
    name = f"{opening}{kind} {human_size(size)}{closing}" + "\n" * data.count("\n")
    return start - len(opening), match.end(), name


def without_data(text: str) -> str:
    """Return a text with blanks in place of its data, so that all positions stay the same."""
    return blanked(text, ((start, end) for start, end, _ in data_spans(text)))


def with_names(text: str, start: int = 0, end: int | None = None) -> str:
    """Return a part of a text in which data are named by their size."""
    end = len(text) if end is None else end
    parts, at = list[str](), start
    for first, last, name in data_spans(text):
        if first < end and last > at:
            parts += [text[at:first], name] if first >= at else [name]
            at = last
    return "".join([*parts, text[at:end]]) if parts else text[start:end]


def largest_free(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the longest part without data of a part of a text, without blanks around it if there are any."""
    inside = [(first, last) for first, last, _ in data_spans(text) if first < end and last > start]
    if not inside:
        return start, end
    edges = [start, *(edge for span in inside for edge in span), end]
    start, end = max(zip(edges[::2], edges[1::2], strict=True), key=lambda part: part[1] - part[0])
    end = start + len(text[start:end].rstrip())
    return end - len(text[start:end].lstrip()), end

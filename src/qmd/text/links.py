"""Find the links and inline tags of a Markdown text, outside code and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from qmd.types import Link, LinkKind

#: More links or tags of one document are left out.
MAX_LINKS = 10_000
MAX_TAGS = 1_000
_MAX_LENGTH = 1_000

_TAG_CHARACTERS = r"\w/\-\u200d\ufe0f\u2600-\u27bf\U0001f000-\U0001faff"
#: Where a token can begin. Looking for a few characters first is many times faster than trying `_TOKEN`.
_START = re.compile(rf"\[|<(?=[!A-Za-z])|%%|(?<=http):(?=//)|(?<=https):(?=//)|#(?=[{_TAG_CHARACTERS}])")
#: What most texts without links and tags lack.
_ANY = re.compile(rf"\]\(|\]\[|\]:|\[\[|://|(?<!\S)#[{_TAG_CHARACTERS}]|[(（：、，。；]#")
#: Quantifiers are possessive or bounded, so that matching takes linear time.
_TOKEN = re.compile(
    r"(?P<comment><!--|%%)"
    r"|(?P<auto><[A-Za-z][A-Za-z0-9+.\-]{1,30}:[^\s<>]{1,1000}>)"
    r"|(?P<url>\bhttps?://[^\s<>\"'`\]]{1,1000})"
    r"|(?P<embed>!?)\[\[(?P<wiki>[^\[\]\n|]{1,1000}+)(?:\|(?P<shown>[^\[\]\n]{0,1000}+))?\]\]"
    r"|(?P<image>!?)\[(?P<text>(?:[^\[\]\\]|\\.|!?\[[^\[\]]{0,500}+\]){0,1000}+)\]"
    r"(?:\(\s{0,9}+(?P<dest><[^<>\n]{0,1000}+>|(?:[^\s()<>]|\([^\s()]{0,500}+\)){0,1000}+)"
    r"(?:\s{1,9}+(?:\"[^\"]{0,500}+\"|'[^']{0,500}+'|\([^()]{0,500}+\)))?\s{0,9}+\)"
    r"|\[(?P<ref>[^\[\]]{0,500}+)\])?"
    rf"|(?<![^\s(（：、，。；])\#(?P<tag>[{_TAG_CHARACTERS}]{{1,200}}+)",
    re.DOTALL,
)
_DEFINITION = re.compile(
    r"^[ ]{0,3}\[(?!\^)(?P<label>[^\[\]\n]{1,500})\]:[ \t]*\n?[ \t]*(?P<dest><[^<>\n]{0,1000}>|\S{1,1000})",
    re.M,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,30}:")
_CLOSING = {"<!--": "-->", "%%": "%%"}


@dataclass(frozen=True, slots=True)
class Inline:
    """The links and tags of a text, in order, and what was left out."""

    links: tuple[Link, ...]
    tags: tuple[str, ...]
    omitted: tuple[str, ...] = ()


def find(text: str, start: int, code: Sequence[tuple[int, int]]) -> Inline:
    """Return the links and tags of a text.

    Args:
        text: The whole text. Its front matter may contain wikilinks.
        start: Where its body starts.
        code: The [start, end) spans of code blocks, in order.
    """
    if not _ANY.search(text):
        return Inline((), ())
    line, counted = 1, 0
    definitions = _definitions(text)
    links: list[Link] = []
    tags: dict[str, None] = {}
    omitted: list[str] = []
    for low, high in _spans(text, start, code):
        for match in _tokens(text, low, high):
            tag = match["tag"]
            if tag is not None:
                tag = tag.strip("/")
                if tag and not tag.isdigit():
                    tags.setdefault(tag)
                continue
            line += text.count("\n", counted, match.start())
            counted = match.start()
            if low < start and match["wiki"] is None:
                continue
            links.extend(_links(match, line, definitions))
        if len(links) > MAX_LINKS or len(tags) > MAX_TAGS:
            break
    if len(links) > MAX_LINKS:
        omitted.append(f"links after the first {MAX_LINKS:,}")
    if len(tags) > MAX_TAGS:
        omitted.append(f"inline tags after the first {MAX_TAGS:,}")
    return Inline(tuple(links[:MAX_LINKS]), tuple(tags)[:MAX_TAGS], tuple(omitted))


def _spans(text: str, start: int, code: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text outside code; the front matter is one of its own."""
    if start:
        yield 0, start
    at = start
    for low, high in code:
        if low > at:
            yield at, low
        at = high
    if at < len(text):
        yield at, len(text)


def _tokens(text: str, low: int, high: int) -> Iterator[re.Match[str]]:
    """Yield links and tags of a span, outside inline code and comments."""
    at = low
    while start := _START.search(text, at, high):
        first = start.start()
        after_code = _after_code(text, at, first, high)
        if after_code > first:
            at = after_code
            continue
        at = start.end()
        if text[first] == "[" and first > low and text[first - 1] in "!\\":
            if text[first - 1] == "\\":
                continue
            first -= 1
        elif text[first] == ":":
            first -= 5 if text.endswith("https", low, first) else 4
        match = _TOKEN.match(text, max(first, low), high)
        if match is None:
            continue
        at = match.end()
        comment = match["comment"]
        if comment is None:
            yield match
        else:
            closed = text.find(_CLOSING[comment], at, high)
            at = at if closed < 0 else closed + len(_CLOSING[comment])


def _after_code(text: str, low: int, position: int, high: int) -> int:
    """Return the end of the inline code that a position is in; `position` or less if it is in none."""
    paragraph = text.rfind("\n\n", low, position)
    at = low if paragraph < 0 else paragraph
    while (tick := text.find("`", at, position)) >= 0:
        if tick > low and text[tick - 1] == "\\":
            at = tick + 1
            continue
        at = tick + 1
        while text[at : at + 1] == "`":
            at += 1
        at = _code_end(text, text[tick:at], at, high)
    return at


def _code_end(text: str, ticks: str, at: int, high: int) -> int:
    """Return the end of inline code; `at` if it is not closed in its paragraph."""
    blank = text.find("\n\n", at, high)
    limit = high if blank < 0 else blank
    closed = text.find(ticks, at, limit)
    while closed >= 0:
        end = closed + len(ticks)
        if text[end : end + 1] != "`":
            return end
        while text[end : end + 1] == "`":
            end += 1
        closed = text.find(ticks, end, limit)
    return at


def _links(match: re.Match[str], line: int, definitions: dict[str, str]) -> Iterator[Link]:
    """Yield the links of one match. The text of a link may contain an image."""
    if match["wiki"] is not None:
        target = match["wiki"].removesuffix("\\").strip()
        shown = match["shown"] if match["shown"] is not None else target
        if target:
            yield Link(target, shown.strip(), line, "embed" if match["embed"] else "wikilink")
        return
    if match["auto"] is not None or match["url"] is not None:
        url = match["auto"][1:-1] if match["auto"] is not None else match["url"].rstrip(".,;:!?)*_")
        yield Link(url, "", line, "url")
        return
    text = match["text"]
    if text is None:
        return
    if "](" in text and not match["image"]:
        for inner in _tokens(text, 0, len(text)):
            yield from _links(inner, line, definitions)
    if match["dest"] is not None:
        target = match["dest"].strip("<>")
    elif match["ref"] is None and match.string.startswith(":", match.end()):
        return  # a definition
    else:
        target = definitions.get(_label(match["ref"] or text), "")
    if target:
        shown = " ".join(text.split())[:_MAX_LENGTH]
        yield _markdown(target, shown, line, match)


def _markdown(target: str, shown: str, line: int, match: re.Match[str]) -> Link:
    if _SCHEME.match(target) or target.startswith("//"):
        return Link(target, shown, line, "url")
    kind: LinkKind = "embed" if match["image"] else "markdown"
    return Link(unquote(target), shown, line, kind)


def _definitions(text: str) -> dict[str, str]:
    if "]:" not in text:
        return {}
    found: dict[str, str] = {}
    for match in _DEFINITION.finditer(text):
        found.setdefault(_label(match["label"]), match["dest"].strip("<>"))
    return found


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()

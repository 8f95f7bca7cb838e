"""Find the links and inline tags of a Markdown text, outside code and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from qmd.text.blocks import COMMENTS, Closings, fences
from qmd.text.containers import IndentedCode
from qmd.text.tokens import MARKS
from qmd.types import Link, LinkKind

#: More links or tags of one document are left out.
MAX_LINKS = 10_000
MAX_TAGS = 1_000
_MAX_LENGTH = 1_000

_TAG_CHARACTERS = rf"\w/\-\ufe0f\u2600-\u27bf\U0001f000-\U0001faff{MARKS}"
# It follows white space or an opening character.
_TAG = rf"#(?<![^\s(（：、，。；]#)([{_TAG_CHARACTERS}]{{1,200}}+)"
#: A run of inline code on one line, or several with nothing between them that could start a token.
_CODE = r"`(?!`)[^`\n]*+`(?!`)(?:(?:[^`\\\[<%:#]++|:(?!//))*+`(?!`)[^`\n]*+`(?!`))*+"
#: Where a token or code can begin. Each alternative starts with a literal character, so that `re` scans fast.
_START = re.compile(rf"\[|<(?=[!A-Za-z])|%%|\{{(?=/\*|\{{/\*|% comment %)|:(?=//)|{_TAG}|{_CODE}|``*+")
#: A likely tag; `tag_name` tells whether it is one.
TAG = re.compile(_TAG)
#: A tag of HTML: `/` if it ends an element, its name and its attributes. No empty line is inside.
HTML_TAG = re.compile(
    r"<(/?)([A-Za-z][A-Za-z0-9-]{0,50}+)((?:(?=[ \t\n])(?:[^<>\n]++|\n(?![ \t]*+\n))*+)?+)/?>"
)
#: Quantifiers are possessive or bounded, so that matching takes linear time.
_AUTO = re.compile(r"<([A-Za-z][A-Za-z0-9+.\-]{1,30}:[^\s<>]{1,1000})>")
URL = re.compile(r"\bhttps?://[^\s<>\"'`\]|]{1,1000}")
#: Characters that end a sentence or emphasis after an address, and are no part of it.
AFTER_URL = ".,;:!?)*_~"
WIKI = re.compile(r"\[\[([^\[\]\n|]{1,1000}+)(?:\|([^\[\]\n]{0,1000}+))?\]\]")
_BRACKETS = re.compile(
    r"\[(?P<text>(?:[^\[\]\\]|\\.|!?\[[^\[\]]{0,500}+\]){0,1000}+)\]"
    r"(?:\(\s{0,9}+(?P<dest><[^<>\n]{0,1000}+>|(?:[^\s()<>]|\([^\s()]{0,500}+\)){0,1000}+)"
    r"(?:\s{1,9}+(?:\"[^\"]{0,500}+\"|'[^']{0,500}+'|\([^()]{0,500}+\)))?\s{0,9}+\)"
    r"|\[(?P<ref>[^\[\]]{0,500}+)\])?",
    re.DOTALL,
)
_DEFINITION = re.compile(
    r"\n[ ]{0,3}\[(?!\^)(?P<label>[^\[\]\n]{1,500})\]:[ \t]*+(?:\n[ \t]*+)?+"
    r"(?P<dest><[^<>\n]{0,1000}>|\S{1,1000}+)"
)
#: A text in TOML or JSON. One that is not closed ends with its line.
_QUOTED = re.compile(r"\"(?:[^\"\\\n]++|\\.)*+\"?+|'[^'\n]*+'?+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,30}:")

#: Links of Hugo, Jekyll, MyST, and in elements: `{{< relref "a.md" >}}`, `{% link a.md %}`,
#: `{% post_url a %}`, `]({{ site.baseurl }}/a)`, `{{ '/a' | relative_url }}`, `{doc}`a``, `<a href="/a/">`.
#: What stands for the root or a base of a site. Other variables stand for other sites, or for anything.
_BASE = r"(?i:[^{}\n]{0,60}?(?:base|root|prefix|site\.url|home|lang|locale)[^{}\n]{0,60}+)"
_ROOTED = re.compile(rf"(?:\{{\{{{_BASE}\}}\}}|\$\{{{_BASE}\}})/")
#: A table in TOML, as in settings of Hugo: `[[menus.main]]` above `name = "a"`.
_TABLE = re.compile(r"\[\[[\w.\"-]{1,200}+\]\][ \t]*+\n[ \t]*+[\w.\"-]{1,200}+[ \t]*+=")
_SITE = re.compile(
    r"\{\{[<%]-?[ \t]*+(?:rel)?ref[ \t]++(?:path=)?[\"'`]?([^\"'`\s>%}]{1,500}+)"
    r"|\{%-?[ \t]*+(?:link|post_url)[ \t]++([^%{}\n]{1,500}+)%\}"
    rf"|\]\([ \t]{{0,9}}+\{{\{{{_BASE}\}}\}}(/[^()\s]{{1,500}}+)\)"
    r"|\{\{-?[ \t]*+[\"'](/[^\"'\n]{1,500}+)[\"'][ \t]*+\|[ \t]*+(?:rel|abs)\w{0,12}+"
    r"|\{doc\}`(?:[^`<>\n]{0,200}+<)?([^`<>\n]{1,500}+)>?`"
    r"|<(?:a|[A-Z][\w.]{0,60}+)[ \n](?:[^<>]{0,500}?[ \n])?(?:href|to|link)=[\"']"
    r"((?:[/.]|[^\"'\n:{}#]{1,300}?\.(?:mdx?|markdown|html?)\b)[^\"'\n]{0,500}+)[\"']"
)


class Inline(Struct, frozen=True):
    """The links and tags of a text, in order, and the omissions."""

    links: tuple[Link, ...]
    tags: tuple[str, ...]
    omitted: tuple[str, ...] = ()


def tag_name(match: re.Match[str]) -> str:
    """Return the name of a tag that `TAG` matches; "" for numbers and mere punctuation."""
    name = match[1].strip("/")
    return "" if name.isdigit() or not name.strip("/_-") else name


def find(text: str, start: int = 0) -> Inline:
    """Return the links and tags of a text.

    Args:
        text: The whole text. Its front matter may contain wikilinks.
        start: The start of its body.
    """
    # Most texts have none. Single characters are found much faster than longer marks.
    has_link = text.find("]", start) >= 0 or text.find("[[", 0, start) >= 0 or "://" in text
    if not has_link and not TAG.search(text, start) and not _SITE.search(text, start):
        return Inline((), ())
    line, counted = 1, 0
    definitions = _definitions(text)
    links: list[Link] = []
    tags: dict[str, None] = {}
    omitted: list[str] = []
    closings, fenced = Closings(text), fences(text, start)
    code = IndentedCode(text, start, fenced)
    for low, high in _spans(text, start, fenced):
        for match, marked in _tokens(text, low, high, closings, code):
            if match.re is _START:
                if low >= start and (tag := tag_name(match)):
                    tags.setdefault(tag)
                continue
            if low < start and match.re is not WIKI:
                continue
            line += text.count("\n", counted, match.start())
            counted = match.start()
            links.extend(_links(match, marked, line, definitions))
        if len(links) > MAX_LINKS or len(tags) > MAX_TAGS:
            break
    if ("{" in text or "=" in text) and (of_site := [*_of_site(text, start, fenced)]):
        links = sorted((*links, *of_site), key=_line)
    if len(links) > MAX_LINKS:
        omitted.append(f"links after the first {MAX_LINKS:,}")
    if len(tags) > MAX_TAGS:
        omitted.append(f"inline tags after the first {MAX_TAGS:,}")
    return Inline(tuple(links[:MAX_LINKS]), tuple(tags)[:MAX_TAGS], tuple(omitted))


def _of_site(text: str, start: int, fenced: Sequence[tuple[int, int]]) -> Iterator[Link]:
    """Yield the links that generators of sites make of their own marks, outside fenced code."""
    spans, line, counted = iter((*fenced, (len(text), len(text)))), 1, 0
    low, high = next(spans)
    for match in _SITE.finditer(text, start):
        while high <= match.start():
            low, high = next(spans)
        target = next(filter(None, match.groups())).strip()
        before = text.count("`", text.rfind("\n", 0, match.start()) + 1, match.start())
        if low <= match.start() or before % 2 or not target:  # in code
            continue
        line += text.count("\n", counted, match.start())
        counted = match.start()
        yield _markdown(target, "", line, False)


def _line(link: Link) -> int:
    return link.line


def _spans(text: str, start: int, code: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text outside code; the front matter, or each text in it, is one of its own."""
    if text.find("[[", 0, start) >= 0:
        if text.startswith("---"):
            yield 0, start
        else:  # brackets are lists and tables outside of texts
            yield from (match.span() for match in _QUOTED.finditer(text, 0, start))
    at = start
    for low, high in code:
        if low > at:
            yield at, low
        at = high
    if at < len(text):
        yield at, len(text)


def _tokens(
    text: str, low: int, high: int, closings: Closings, code: IndentedCode
) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield links and tags of a span, outside code, comments and HTML, and whether `!` is before them.

    The pattern of the match tells its kind; that of a tag is `_START`.
    """
    at = low
    search = _START.search
    while start := search(text, at, high):
        first, before = start.start(), at
        at = start.end()
        # Inline code ends with its line or paragraph, so it need not be told from indented code.
        if text[first] != "`" and (end := code.end(first)) > first:
            at = end
            continue
        match: re.Match[str] | None
        match text[first]:
            case "#":
                yield start, False
                continue
            case "`":
                if first > before and text[first - 1] == "\\":
                    at = first + 1
                elif text[first:at].strip("`") == "":
                    at = closings.of_code(at - first, at, high)
                continue
            case "%":
                at = closings.after("%%", at, high)
                continue
            case "{":
                mark = next(mark for mark in COMMENTS if text.startswith(mark, first))
                at = closings.after(COMMENTS[mark], at, high)
                continue
            case "<":
                if text.startswith("<!--", first):
                    at = closings.after("-->", at, high)
                    continue
                if tag := HTML_TAG.match(text, first, high):
                    at = tag.end()
                    continue
                match = _AUTO.match(text, first, high)
            case ":":
                scheme = first - (5 if text.endswith("https", low, first) else 4)
                match = URL.match(text, scheme, high) if scheme >= low else None
            case _:
                if first > low and text[first - 1] == "\\":
                    continue
                is_wiki = text.startswith("[[", first) and not _TABLE.match(text, first, high)
                match = WIKI.match(text, first, high) if is_wiki else None
                match = match or _BRACKETS.match(text, first, high)
        if match is not None:
            at = match.end()
            yield match, first > low and text[first - 1] == "!"


def _links(match: re.Match[str], marked: bool, line: int, definitions: dict[str, str]) -> Iterator[Link]:
    """Yield the links of one match. The text of a link may contain an image."""
    if match.re is URL:
        yield Link(match[0].rstrip(AFTER_URL), "", line, "url")
    elif match.re is _AUTO:
        yield Link(match[1], "", line, "url")
    elif match.re is WIKI:
        target = match[1].removesuffix("\\").strip()
        if target:
            shown = target if match[2] is None else match[2].strip()
            yield Link(target, shown, line, "embed" if marked else "wikilink")
    else:
        text, dest, ref = match.groups()
        if "](" in text and not marked:
            for inner, is_image in _tokens(text, 0, len(text), Closings(text), IndentedCode("", 0, ())):
                if inner.re is not _START:
                    yield from _links(inner, is_image, line, definitions)
        if dest is not None:
            target = dest.strip("<>")
        elif ref is None and match.string.startswith(":", match.end()):
            return  # a definition
        else:
            target = definitions.get(_label(ref or text), "") if definitions else ""
        if target:
            yield _markdown(target, " ".join(text.split())[:_MAX_LENGTH], line, marked)


def _markdown(target: str, shown: str, line: int, is_image: bool) -> Link:
    is_variable = target.startswith(("{{", "{%", "${")) and not _ROOTED.match(target)
    if is_variable or _SCHEME.match(target) or target.startswith("//"):
        return Link(target, shown, line, "url")
    kind: LinkKind = "embed" if is_image else "markdown"
    if "%" in target:
        # Imported on use: it takes as long as all the rest of a scan without a change.
        from urllib.parse import unquote

        target = unquote(target)
    return Link(target, shown, line, kind)


def _definitions(text: str) -> dict[str, str]:
    if "]:" not in text:
        return {}
    found: dict[str, str] = {}
    # The line feed that definitions start with lets `re` skip from line to line.
    first = text.lstrip(" ").startswith("[")
    for match in _DEFINITION.finditer(f"\n{text}" if first else text):
        found.setdefault(_label(match["label"]), match["dest"].strip("<>"))
    return found


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()

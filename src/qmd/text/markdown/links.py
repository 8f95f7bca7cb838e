"""The links and inline tags of a Markdown text, outside code, comments and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from qmd.text.regex import lazy
from qmd.text.spans import Closed
from qmd.text.tokens import MARKS
from qmd.types import Link, LinkKind
from qmd.types.structure import Span

#: More links or tags of one document are left out.
MAX_LINKS = 10_000
MAX_TAGS = 1_000
_MAX_LENGTH = 1_000
_TAG_CHARACTERS = rf"\w/\-\ufe0f\u2600-\u27bf\U0001f000-\U0001faff{MARKS}"
#: A likely tag, after white space or an opening character; `tag_name` tells whether it is one.
TAG = lazy(rf"#(?<![^\s(（：、，。；]#)([{_TAG_CHARACTERS}]{{1,200}}+)")
#: A tag of HTML: `/` if it ends an element, its name and its attributes. No empty line is inside.
HTML_TAG = lazy(r"<(/?)([A-Za-z][A-Za-z0-9-]{0,50}+)((?:(?=[ \t\n])(?:[^<>\n]++|\n(?![ \t]*+\n))*+)?+)/?>")
#: A picture, sound or film that HTML names.
_FILE = lazy(
    r"<(?i:img|audio|video|source)(?=\s)(?:[^<>]{0,1000}?\s)(?i:src)="
    r"(?:\"([^\"<>]{1,1000}+)\"|'([^'<>]{1,1000}+)'|([^\s\"'<>]{1,1000}+))"
)
URL = lazy(r"\bhttps?://[^\s<>\"'`\]|]{1,1000}")
#: Characters that end a sentence or emphasis after an address, and are no part of it.
AFTER_URL = ".,;:!?)*_~"
WIKI = lazy(r"\[\[([^\[\]\n|]{1,1000}+)(?:\|([^\[\]\n]{0,1000}+))?\]\]")
#: A text in TOML or JSON. One that is not closed ends with its line.
_QUOTED = lazy(r"\"(?:[^\"\\\n]++|\\.)*+\"?+|'[^'\n]*+'?+")
#: The scheme of an address.
SCHEME = lazy(r"[A-Za-z][A-Za-z0-9+.\-]{1,30}:")
#: What stands for the root or a base of a site. Other variables stand for other sites, or for anything.
_BASE = r"(?i:[^{}\n]{0,60}?(?:base|root|prefix|site\.url|home|lang|locale)[^{}\n]{0,60}+)"
_ROOTED = lazy(rf"(?:\{{\{{{_BASE}\}}\}}|\$\{{{_BASE}\}})/")
#: A table in TOML, as in settings of Hugo: `[[menus.main]]` above `name = "a"`.
_TABLE = lazy(r"\[\[[\w.\"-]{1,200}+\]\][ \t]*+\n[ \t]*+[\w.\"-]{1,200}+[ \t]*+=")
#: Links of Hugo, Jekyll, MyST, and in elements: `{{< relref "a.md" >}}`, `{% link a.md %}`,
#: `{% post_url a %}`, `]({{ site.baseurl }}/a)`, `{{ '/a' | relative_url }}`, `{doc}`a``, `<a href="/a/">`.
_SITE = lazy(
    r"[{\]<](?:(?<=\{)(?:\{[<%]-?[ \t]*+(?:rel)?ref[ \t]++(?:path=)?[\"'`]?([^\"'`\s>%}]{1,500}+)"
    r"|%-?[ \t]*+(?:link|post_url)[ \t]++([^%{}\n]{1,500}+)%\}"
    r"|\{-?[ \t]*+[\"'](/[^\"'\n]{1,500}+)[\"'][ \t]*+\|[ \t]*+(?:rel|abs)\w{0,12}+"
    r"|doc\}`(?:[^`<>\n]{0,200}+<)?([^`<>\n]{1,500}+)>?`)"
    rf"|(?<=\])\([ \t]{{0,9}}+\{{\{{{_BASE}\}}\}}(/[^()\s]{{1,500}}+)\)"
    r"|(?<=<)(?:a|[A-Z][\w.]{0,60}+)[ \n](?:[^<>]{0,500}?[ \n])?(?:href|to|link)=[\"']"
    r"((?:[/.]|[^\"'\n:{}#]{1,300}?\.(?:mdx?|markdown|html?)\b)[^\"'\n]{0,500}+)[\"'])"
)


#: The end of a link, its start, its target, what is shown of it, and its kind if that is sure.
_Entry: TypeAlias = tuple[int, int, str, str, LinkKind | None]


class FoundLink(NamedTuple):
    """A link or an image of the parser.

    Attributes:
        start: Its place.
        end: Its end.
        label: [start, end) of what is shown of it.
        target: Where it leads.
        is_image: Whether it is an image or embeds its target.
        is_wiki: Whether it is written as in wikis.
        is_auto: Whether it is an address in `<>`.
    """

    start: int
    end: int
    label: Span
    target: str
    is_image: bool = False
    is_wiki: bool = False
    is_auto: bool = False


def tag_name(match: re.Match[str]) -> str:
    """Return the name of a tag that `TAG` matches; "" for numbers and mere punctuation."""
    name = match[1].strip("/")
    return "" if name.isdigit() or not name.strip("/_-") else name


def collect(
    text: str,
    body: int,
    found: Sequence[FoundLink],
    closed: Iterable[Span],
    verbatim: Sequence[Span],
    code: Sequence[Span],
) -> tuple[tuple[Link, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the links and the inline tags of a text, in order, and what was left out.

    Args:
        text: The whole text. Its front matter may contain wikilinks.
        body: The start of its body.
        found: The links of the parser.
        closed: What has neither links nor tags: code, comments and HTML.
        verbatim: The fences among it.
        code: The other code among it.
    """
    tagged, braced, assigned, addressed = (sign in text for sign in ("#", "{", "=", "://"))
    if not (found or tagged or braced or assigned or addressed or text.find("[[", 0, body) >= 0):
        return (), (), ()
    every = [*_in_front_matter(text, body), *_of_parser(text, found)]
    tags: list[str] = []
    if tagged or addressed:
        outside = Closed([*closed, *((each.start, each.end) for each in found)])
        if addressed:
            every += _addresses(text, body, outside)
        addresses = Closed((at, at + len(target)) for _, at, target, _, kind in every if kind == "url")
        tags = _tags(text, body, outside, addresses)
    in_tags = assigned and "<" in text
    if braced or in_tags:
        every += _of_sites(text, body, verbatim)
    if in_tags:
        for match in Closed([*verbatim, *code]).matches(_FILE, text, body):
            every.append((match.end(), match.start(), match[match.lastindex or 0].strip(), "", "embed"))
    every.sort(key=itemgetter(0))
    limits = (("links", len(every), MAX_LINKS), ("inline tags", len(tags), MAX_TAGS))
    omitted = [f"{name} after the first {most:,}" for name, number, most in limits if number > most]
    return tuple(_links(text, every)), tuple(tags[:MAX_TAGS]), tuple(omitted)


def _tags(text: str, body: int, outside: Closed, addresses: Closed) -> list[str]:
    """Return the inline tags, each once, and at most one more than are kept."""
    tags: dict[str, None] = {}
    for match in outside.matches(TAG, text, body):
        if addresses.end(match.start()) == match.start() and (name := tag_name(match)):
            tags.setdefault(name)
            if len(tags) > MAX_TAGS:
                break
    return [*tags]


def _in_front_matter(text: str, body: int) -> Iterator[_Entry]:
    if text.find("[[", 0, body) < 0:
        return
    # In TOML and JSON, brackets are lists and tables outside of texts.
    parts = (
        [(0, body)] if text.startswith("---") else [each.span() for each in _QUOTED.finditer(text, 0, body)]
    )
    for part in parts:
        for match in WIKI.finditer(text, *part):
            if target := match[1].removesuffix("\\").strip():
                shown = target if match[2] is None else match[2].strip()
                embeds = text[match.start() - 1 : match.start()] == "!"
                yield match.end(), match.start(), target, shown, "embed" if embeds else "wikilink"


def _addresses(text: str, start: int, outside: Closed) -> Iterator[_Entry]:
    """Yield the addresses that stand in a text as they are."""
    done = start
    while (at := text.find("://", start)) >= 0:
        start = at + 3
        scheme = at - (5 if text.endswith("https", 0, at) else 4)
        if scheme >= done and outside.end(scheme) == scheme and (match := URL.match(text, scheme)):
            done = start = match.end()
            yield done, scheme, match[0].rstrip(AFTER_URL), "", "url"


def _of_parser(text: str, found: Iterable[FoundLink]) -> Iterator[_Entry]:
    """Yield the links of the parser, without the names of tables in TOML."""
    for each in found:
        start, end = each.start, each.end
        kind: LinkKind | None = "embed" if each.is_image else None
        if each.is_auto:
            yield end, start, each.target, "", "url"
        elif not each.is_wiki:
            yield end, start, each.target, " ".join(text[slice(*each.label)].split())[:_MAX_LENGTH], kind
        elif not _TABLE.match(text, start):
            name, bar, shown = text[start + 2 + each.is_image : end - 2].partition("|")
            target = name.removesuffix("\\").strip()
            yield end, start, target, shown.strip() if bar else target, kind or "wikilink"


def _of_sites(text: str, body: int, verbatim: Sequence[Span]) -> Iterator[_Entry]:
    """Yield the links that generators of sites make of their own marks, outside fenced code."""
    for match in Closed(verbatim).matches(_SITE, text, body):
        target = next(filter(None, match.groups())).strip()
        before = text.count("`", text.rfind("\n", 0, match.start()) + 1, match.start())
        if before % 2 == 0 and target:  # not in code
            yield match.end(), match.start(), target, "", None


def _links(text: str, every: Iterable[_Entry]) -> Iterator[Link]:
    """Yield the first `MAX_LINKS` links, with their lines."""
    line, counted = 1, 0
    for _, (_, at, target, shown, kind) in zip(range(MAX_LINKS), every, strict=False):
        line += text.count("\n", counted, at)
        counted = at
        if not target or target.startswith("#tab/"):  # a tab of DocFX
            continue
        if kind in ("wikilink", "url"):
            yield Link(target, shown, line, kind)
            continue
        is_variable = target.startswith(("{{", "{%", "${")) and not _ROOTED.match(target)
        if is_variable or SCHEME.match(target) or target.startswith("//"):
            yield Link(target, shown, line, "url")
            continue
        if "%" in target and not (kind == "embed" and text.startswith("![[", at)):
            # Imported on use: it takes as long as all the rest of a scan without a change.
            from urllib.parse import unquote

            target = unquote(target)
        yield Link(target, shown, line, kind or "markdown")

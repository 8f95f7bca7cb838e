"""The markup of a Markdown text: fence lines, HTML tags, link definitions, imports; and data in it.

Data are pictures that a text holds itself, as `data:` addresses: one of 60 kB is 80,000 characters in a line.
They stay in the text, and `get` prints them. But no word of them is indexed or embedded, and where passages
are shown they are named by their size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from qmd.text.blocks import COMMENTS, Closings, fences, front_matter_end
from qmd.text.letters import UNSEEN
from qmd.text.regex import lazy
from qmd.text.wording import human_size

_HTML = (
    "a|article|aside|b|blockquote|br|center|code|details|div|em|figure|figcaption|font|footer|h[1-6]|header|hr|i|"
    "iframe|img|kbd|li|main|nav|ol|p|path|picture|pre|section|small|source|span|strong|sub|summary|sup|svg|"
    "table|tbody|td|th|thead|tr|u|ul|video|wbr"
)
_TAG = rf"</?(?i:{_HTML})(?=[\s/>])[^<>]{{0,1000}}>"
#: Braces in braces, as deep as attributes of components have them.
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,500}+\}){0,500}+\}){0,1000}+\}"
_ATTRIBUTE = rf"""(?:[\w:@.-]{{1,80}}+(?:=(?:"[^"]{{0,1000}}+"|'[^']{{0,1000}}+'|{_BRACES}))?+|{_BRACES})"""
#: A component of MDX: with attributes, which may have lines of their own, closed, or alone in its line.
_COMPONENT = (
    rf"<[A-Z][\w.]{{0,80}}+(?=[^<>]{{0,1000}}?[={{/])(?:\s++{_ATTRIBUTE}){{0,50}}+\s*+/?>|</[A-Z][\w.]{{0,80}}+>"
    r"|<(?P<name>[A-Z][\w.]{0,80}+)>(?=[^\n]{0,300}?</(?P=name)>)"
    r"|(?m:^[ \t]*</?[A-Z][\w.]{0,80}(?:\s[^<>\n]{0,1000})?/?>[ \t]*$)"
)
#: A picture of a number or a state, as projects show them.
_BADGE = (
    r"(?P<linked>\[)?!\[[^\[\]\n]{0,200}\]\([^()\n]{0,300}?"
    r"(?:shields\.io|badge|badgen\.net|codecov|travis-ci)[^()\n]{0,1000}\)"
    r"(?(linked)\]\([^()\n]{0,1000}\))"
)
#: Tags that divide no words.
_IN_WORDS = r"</?(?i:b|em|i|kbd|mark|s|small|span|strong|u|wbr)(?:\s[^<>]{0,200}+)?/?>"
_SCRIPTS = r"</?(?i:sub|sup)(?:\s[^<>]{0,200}+)?>"
_QUOTED = r"""['"][^'"\n]{1,300}['"]"""
_NAMES = r"[^\n{}'\"]{0,300}+\{[^{}]{0,3000}+\}"
#: Inline code is text, whatever stands in it; the mark of a comment is looked at below. Then tags of HTML,
#: components, addresses of links, imports and exports of MDX; tags of Hugo and Jekyll, attributes of Kramdown
#: and anchors; lines that begin and end a container, but for their title; a table of contents.
_MARKUP = lazy(
    r"(?P<code>(?<!`)(?P<ticks>`++)(?:[^\n]{0,500}?[^`\n])??(?P=ticks)(?!`))"
    r"|(?P<comment><!--|\{/\*|\{\{/\*|\{% comment %\}|(?m:^%%))"
    rf"|(?P<tags>(?:{_IN_WORDS}|{_SCRIPTS}){{1,10}}+)|{_TAG}|{_COMPONENT}|{_BADGE}"
    r"|(?m:^ {0,3}\[(?!\^)[^\[\]\n]{1,300}\]:[ \t]*\S[^\n]*$)"
    rf"|(?m:^import[ \t]++(?:(?:{_NAMES}[ \t]*+|[^\n]{{1,300}}?)from[ \t]*+)?+{_QUOTED};?[ \t]*$)"
    r"|(?P<export>(?m:^export[ \t]+(?:const|let|default|function|async|class|\{|\*)[^\n]*$))"
    r"|\{\{[<%][^{}\n]{0,500}+\}\}|\{%[^{}\n%]{0,500}+%\}|\{:[^{}\n]{0,500}+\}"
    r"|\{\#[\w.:-]{1,100}+\}"
    r"|(?m:^[ \t>]*:{3,}+[ \t]*(?:\{[^{}\n]{0,500}+\}|[\w-]{0,80}+(?:\[|\{[^{}\n]{0,500}+\}[ \t]*$)?+))"
    r"|(?m:^(?:\[\[_?(?i:toc)_?\]\]|\[(?i:toc)\])[ \t]*$)"
)
#: Where it can begin, or the end of the line before it, which are found in a fraction of the time; and inline
#: code, also several in a line.
_SIGN = lazy(
    r"[`<{\[!\n](?:(?<=`)(?:(?<!``)"
    r"(?P<code>[^`\n]{1,500}+`(?!`)(?:[^`<{\[!\n]*+`(?!`)[^`\n]{1,500}+`(?!`))*+))?"
    r"|(?<=<)[/!A-Za-z]|(?<=\{)[{%:#/]|(?<=!)\[|(?<=\[)!|(?<=\n)(?:[ \t>]*+[:<\[]|%%|import|export))"
)
_MAY_HAVE = lazy(
    r"```|~~~|</?[A-Za-z]|<!--|\]:|!\[|\{[{%:/\#]|:::|%%|\[_?(?i:toc)_?\]|(?m:^(?:import|export)[ \t])"
)
#: Brackets and texts of JavaScript, and the most characters of an export.
_SCRIPT = lazy(
    r"[(\[{]|[)\]}]|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|`(?:[^`\\]|\\.){0,5000}+`?|//[^\n]*"
)
_MAX_EXPORT = 10_000
_FENCE = lazy(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}|~{3,})[^\n]*")


@lru_cache(maxsize=8)
def only_text(text: str) -> str:
    """Return a text with blanks in place of its markup and data, so that all positions stay the same.

    Code in fences is text, but not the lines that begin and end a fence. Front matter stays.
    """
    return blanked(text, markup_spans(text))


#: What only the generator of a site reads: imports, components, containers, tags of templates, attributes.
_OF_SITES = lazy(r"(?:import|export)\b|</?[A-Z]\w*[a-z]|[ \t>]*+:::|\{[%:#/{]")


def without_site_markup(text: str) -> str:
    """Return a text without what only the generator of a site reads, such as `<Tabs>` and `:::note`.

    The numbers of lines stay; the title of a container is a paragraph.
    """
    parts, at = list[str](), 0
    for start, end in markup_spans(text):
        if _OF_SITES.match(text, start):
            parts += [text[at:start], "\n" * text.count("\n", start, end)]
            at = end
            if text[end - 1] == "[":  # of a container: its title ends with the line
                line_end = text.find("]\n", end)
                parts.append(text[end:line_end] if line_end >= 0 else text[end:])
                at = line_end + 1 if line_end >= 0 else len(text)
    return "".join([*parts, text[at:]])


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with blanks in place of some spans of it, which are in order and apart."""
    parts, at = list[str](), 0
    for start, end in spans:
        parts += [text[at:start], _blanks(text[start:end])]
        at = end
    return "".join([*parts, text[at:]]) if at else text


def markup_spans(text: str, code: Sequence[tuple[int, int]] | None = None) -> list[tuple[int, int]]:
    """Return the spans of the markup and data of a text, in order and apart.

    `code` are the spans of its fences and verbatim HTML, if they are known.
    """
    data = [(start, end) for start, end, _ in data_spans(text)]
    text = blanked(text, data)
    if not _MAY_HAVE.search(text):
        return data
    body = front_matter_end(text)
    code = fences(text, body) if code is None else code
    spans = [*data, *_spans(text, body, code)]
    for start, end in code:
        line = text.rfind("\n", 0, start) + 1
        opening = _FENCE.match(text, line)
        if opening is None:
            continue  # verbatim HTML
        spans.append(opening.span())
        last = text.rfind("\n", opening.end(), len(text[:end].rstrip("\n"))) + 1
        if last and (closing := _FENCE.match(text, last, end)):
            spans.append(closing.span())
    apart, at = list[tuple[int, int]](), 0
    for start, end in sorted(spans):
        if start >= at:
            apart.append((start, end))
            at = end
    return apart


def _spans(text: str, at: int, code: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of markup outside code."""
    closings, unclosed = Closings(text), 0
    for start, after in [*code, (len(text), len(text))]:
        while at < start and (match := _next(text, at, start)):
            end = match.end()
            if (mark := match["comment"]) is not None:
                closing = COMMENTS[mark]
                closed = closings.find(closing, end)
                if closed < len(text):
                    end = closed + len(closing)
                    yield match.start(), end
            elif match["export"] is not None:
                if end > unclosed:
                    end, unclosed = _export_end(text, match.start(), end)
                yield match.start(), end
            elif match["code"] is None and not (match["tags"] and _is_inside(text, *match.span())):
                yield match.span()
            at = max(end, at + 1)
        at = max(at, after)


def _next(text: str, at: int, end: int) -> re.Match[str] | None:
    """Return the next markup or inline code in a part of a text."""
    if (at == 0 or text[at - 1] == "\n") and (match := _MARKUP.match(text, at, end)):
        return match
    while sign := _SIGN.search(text, at, end):
        start = sign.start()
        at = sign.end() if sign["code"] else start + 1
        if not sign["code"] and (match := _MARKUP.match(text, start + (text[start] == "\n"), end)):
            return match
    return None


def _export_end(text: str, start: int, line_end: int) -> tuple[int, int]:
    """Return the end of the line in which the brackets of an export are closed, and of the text read in vain.

    If they are not closed, the export ends with its first line.
    """
    depth = 0
    for match in _SCRIPT.finditer(text, start, start + _MAX_EXPORT):
        if match.start() >= line_end and depth <= 0:
            break
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match.start() >= line_end and depth <= 0:
            feed = text.find("\n", match.end())
            return (feed if feed >= 0 else len(text)), 0
    return line_end, (start + _MAX_EXPORT if depth > 0 else 0)


#: Markup in lines of text: emphasis inside a word, and a hyphen at the end of a line; entities; tags; the
#: address and title of a link or picture, or the name of its definition, as Markdown, wikis, Org,
#: reStructuredText and AsciiDoc write them; footnotes, comments, tags and attributes of sites.
_INLINE = lazy(
    r"(?P<mark>(?<=[^\W\d_])(?:\*{1,3}|~~|==)(?=[^\W\d_]))|(?P<hyphen>(?<=[^\W\d_])-\n[ \t>]*+(?=[^\W\d_]))"
    r"|(?P<entity>&(?:\#\d{1,7}|\#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,30});)"
    rf"|(?P<script>{_SCRIPTS})|(?P<tags>{_IN_WORDS}(?:{_IN_WORDS}){{0,9}}+|(?<=\w)\]\](?=[^\W\d_]))"
    rf"|(?P<markup>{_TAG}|{_COMPONENT}|<!--(?:(?!-->)[^\n]){{0,300}}+-->"
    r"|(?<=\])\((?:<[^<>\n]{0,1000}+>|(?:[^\s()<>]|\([^\s()<>]{0,300}+\)){1,1000}+)"
    r"(?:\s{1,3}+(?:\"[^\"]{0,300}+\"|'[^']{0,300}+'|\([^()]{0,300}+\)))?+\s?\)"
    r"|(?<=\])\[[^\[\]\n]{0,300}+\](?!\])|\[\^[^\[\]\s]{1,100}+\](?!:)"
    r"|\[\[[^\[\]|\n]{1,1000}+(?:\||\](?=\[))"
    r"|<[^<>\s]{1,1000}+>(?=`_)"
    r"|\{\{[<%][^{}\n]{0,500}+\}\}|\{%[^{}\n%]{0,500}+%\}|\{(?::[ \t]?|[.\#])[^{}\s][^{}\n]{0,200}+\}"
    r"|(?<=[)\]`])\{[^{}\n]{1,200}+\})"
)
#: The first characters of it, or the `]` before them, which are found much faster.
_SIGNS_IN_LINES = (
    r"[*~=<&\[\]{%s](?:(?<=[^\W\d_][*~=])(?=[*~=]{0,2}[^\W\d_])|(?<=<)[/!.A-Za-z]|(?<=&)[#A-Za-z]"
    r"|(?<=\])[(\[]|(?<=\[)[\[^]|(?<=\{)(?:\{[<%%]|[%%:#.])|(?<=[)\]`]\{)|(?<=\w\])\]"
    r"|(?<=[\w/\])#]\[)(?=[^\[\]^\n])%s)"
)
_STARTS = lazy(_SIGNS_IN_LINES % ("", ""))
#: There are many hyphens, and few at the end of a line.
_STARTS_AND_HYPHENS = lazy(_SIGNS_IN_LINES % ("-", r"|(?<=[^\W\d_]-)\n"))
#: The address before the text of a link in AsciiDoc.
_ADDRESS = lazy(r"(?:https?|mailto|link|xref|image):[^\s\[\]<>()]{1,1000}+(?=\[[^\[\]\n]{1,300}+\](?!\())")
#: The most characters of a word, and between two marks of emphasis.
_WORD, _EMPHASIZED = 128, 200
_HIDDEN = "\u00ad"
_UNSEEN = lazy(f"[{UNSEEN}]")


@lru_cache(maxsize=8)
def as_seen(text: str) -> tuple[str, str]:
    """Return a text as it is read in lines, and what is not seen there; "" if it is the text itself.

    Both are as long as the text. In the first, words that markup divides are whole, with signs that are not
    seen (soft hyphens) in place of the markup, and words beside it are next to each other, with blanks
    between them. The second has the markup, the pieces of divided words, and words that may be one: those
    with a hyphen at the end of a line, and with raised or lowered parts.
    """
    seen, other, at = list[str](), list[str](), 0
    spans: list[tuple[int, int]] = []
    for match in _inline(text):
        start, end = match.span()
        if start < at:
            continue
        raw, kind = match[0], match.lastgroup
        if raw[0] in "([" and text[start - 1 : start] == "]" and _is_inside(text, start - 1, end):
            start, kind = start - 1, "tags"  # letters after a link belong to its last word
            raw = text[start:end]
        shown = blank = _blanks(raw)
        joined = raw
        inside = _is_inside(text, start, end)
        if kind == "entity":
            shown = _character(raw, inside=inside)
            inside = shown != blank
        elif kind == "hyphen":
            shown, joined = raw, _HIDDEN * len(raw)
        elif kind == "script" and inside:
            joined = _HIDDEN * len(raw)
        elif kind == "mark" and not _is_paired(text, start, end):
            continue
        elif kind in ("mark", "tags") and inside:
            shown = _HIDDEN * len(raw)
        seen += [text[at:start], shown]
        other += [text[at:start], joined]
        at = end
        spans.append(_word_around(text, start, end) if inside else (start, end))
    if not spans:
        return text, ""
    rest, before, whole = list[str](), 0, "".join([*other, text[at:]])
    for start, end in spans:
        start = max(start, before)
        rest += [_blanks(whole[before:start]), whole[start:end]]
        before = max(before, end)
    rest.append(_blanks(whole[before:]))
    return "".join([*seen, text[at:]]), "".join(rest)


def _inline(text: str) -> Iterator[re.Match[str]]:
    """Yield the markup in lines of a text."""
    at, starts = 0, _STARTS_AND_HYPHENS if "-\n" in text else _STARTS
    while first := starts.search(text, at):
        start = first.start()
        if first[0] in ("](", "]["):
            start += 1
        at = start + 1
        match = _INLINE.match(text, start)
        if match is None and text[start] == "[":
            before = max(0, start - _WORD * 8)
            before = max(text.rfind(sign, before, start) for sign in " \n\t(") + 1
            match = _ADDRESS.match(text, before) if text.find(":", before, start) >= 0 else None
        if match is not None:
            at = max(at, match.end())
            yield match


def _blanks(text: str) -> str:
    """Return blanks for a text, with its ends of lines."""
    if "\n" not in text:
        return " " * len(text)
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _character(entity: str, *, inside: bool) -> str:
    """Return the character of an entity, as long as it; blanks if it is no letter and not in a word."""
    from html import unescape  # most searches start without it

    character = unescape(entity)
    if character.isalnum() or _UNSEEN.fullmatch(character):
        return character[: len(entity)].ljust(len(entity), _HIDDEN)
    if inside and character in ("'", "’"):
        return character.rjust(len(entity), _HIDDEN)
    return (character if len(character) == 1 and not character.isspace() else " ").ljust(len(entity))


def _is_paired(text: str, start: int, end: int) -> bool:
    """Return whether there is another mark of the same emphasis in the line."""
    mark = text[start:end]
    low, high = max(text.rfind("\n", 0, start), start - _EMPHASIZED, 0), text.find("\n", end)
    high = min(len(text) if high < 0 else high, end + _EMPHASIZED)
    return mark in text[low:start] or mark in text[end:high]


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a span to the letters and digits around it."""
    low, high = max(0, start - _WORD), end + _WORD
    while start > low and text[start - 1].isalnum():
        start -= 1
    while end < high and text[end : end + 1].isalnum():
        end += 1
    return start, end


def _is_inside(text: str, start: int, end: int) -> bool:
    """Return whether a part of a text is between two letters or digits."""
    return start > 0 and text[start - 1].isalnum() and text[end : end + 1].isalnum()


#: An address with at least 40 characters of data, in base64, also on several lines, or in percent signs; with
#: the brackets around it. Quantifiers are possessive or bounded, so that matching takes linear time.
_DATA = lazy(
    r"(?=[(dD])(?:(?<=\])\(<?)?\b(?P<type>(?i:data):[\w.+-]{1,80}+/[\w.+-]{1,80}+)"
    r"(?:;[\w.+-]{1,80}+(?:=[\w.+\"-]{0,80}+)?+){0,5}+,"
    r"(?P<data>[^\s\"'<>()\\]{40,}+(?:\n[ \t]{0,20}+[A-Za-z0-9+/]{60,}+)*+"
    r"(?:\n[ \t]{0,20}+[A-Za-z0-9+/]{1,76}+={0,2}(?=[\"'>)]))?+)(?:>?\))?"
)


@lru_cache(maxsize=8)
def data_spans(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return [start, end) of each address of a text, and its name: `(data:image/png 60 kB)`."""
    if not any(scheme in text for scheme in ("data:", "Data:", "DATA:")):
        return ()
    found = _DATA.finditer(text)
    return tuple((match.start(), match.end(), _name(*match.group(0, "type", "data"))) for match in found)


def _name(whole: str, kind: str, data: str) -> str:
    """Return the name of an address, in the brackets around it, on as many lines."""
    opening, _, rest = whole.partition(kind)
    closing = rest.rpartition(data)[2]
    bytes_of_it = len(data) * 3 // 4 if ";base64," in rest[:500] else len(data)
    return f"{opening}{kind} {human_size(bytes_of_it)}{closing}" + "\n" * whole.count("\n")


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

"""The markup of a Markdown text: what is not read, and what is read otherwise than it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from qmd.text.regex import lazy
from qmd.text.spans import Closed, is_inside_word
from qmd.types.structure import Edit, Span

_HTML = (
    "a|article|aside|b|blockquote|br|center|code|details|div|em|figure|figcaption|font|footer|h[1-6]|header|hr|i|"
    "iframe|img|kbd|li|main|nav|ol|p|path|picture|pre|section|small|source|span|strong|sub|summary|sup|svg|"
    "table|tbody|td|th|thead|tr|u|ul|video|wbr"
)
_TAG = rf"</?(?i:{_HTML})(?=[\s/>])[^<>]{{0,1000}}>"
#: Any tag of HTML.
ANY_TAG = lazy(r"</?[A-Za-z][A-Za-z0-9.-]{0,50}(?:[ \t\n][^<>]{0,1000})?/?>")
#: Braces in braces, as deep as attributes of components have them.
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,500}+\}){0,500}+\}){0,1000}+\}"
_ATTRIBUTE = rf"""(?:[\w:@.-]{{1,80}}+(?:=(?:"[^"]{{0,1000}}+"|'[^']{{0,1000}}+'|{_BRACES}))?+|{_BRACES})"""
#: A component of MDX: with attributes, which may have lines of their own, closed, or alone in its line.
_COMPONENT = (
    rf"<[A-Z][\w.]{{0,80}}+(?=[^<>]{{0,1000}}?[={{/])(?:\s++{_ATTRIBUTE}){{0,50}}+\s*+/?>|</[A-Z][\w.]{{0,80}}+>"
    r"|<(?P<name>[A-Z][\w.]{0,80}+)>(?=[^\n]{0,300}?</(?P=name)>)"
)
#: Tags that divide no words.
_IN_WORDS = r"</?(?i:b|em|i|kbd|mark|s|small|span|strong|u|wbr)(?:\s[^<>]{0,200}+)?/?>"
_SCRIPTS = r"</?(?i:sub|sup)(?:\s[^<>]{0,200}+)?>"
#: What of HTML is markup: tags inside words, others that are known, and comments.
_MARKUP = lazy(
    rf"(?P<script>{_SCRIPTS})|(?P<tags>(?:{_IN_WORDS}){{1,10}}+)|(?P<tag>{_TAG})|(?P<comment><!--.*?(?:-->|\Z))",
    re.DOTALL,
)
_COMPONENTS = lazy(_COMPONENT)
_ALONE = lazy(r"</?[A-Z][\w.]{0,80}(?:\s[^<>\n]{0,1000})?/?>[ \t]*$", re.MULTILINE)
_CAPITAL = lazy(r"</?[A-Z]")
#: The addresses of pictures of a number or a state, as projects show them.
_BADGES = ("shields.io", "badge", "badgen.net", "codecov", "travis-ci")
_DEFINITION = lazy(r" {0,3}\[(?!\^)[^\[\]\n]{1,300}\]:[ \t]*\S[^\n]*")
_QUOTED = r"""['"][^'"\n]{1,300}['"]"""
_NAMES = r"[^\n{}'\"]{0,300}+\{[^{}]{0,3000}+\}"
_IMPORT = lazy(
    rf"import[ \t]++(?:(?:{_NAMES}[ \t]*+|[^\n]{{1,300}}?)from[ \t]*+)?+{_QUOTED};?[ \t]*(?m:$)"
    r"|(?P<export>export[ \t]+(?:const|let|default|function|async|class|\{|\*)[^\n]*)"
)
#: Tags of Hugo and Jekyll, attributes of Kramdown, and anchors.
_BRACED = lazy(r"\{(?:\{[<%][^{}\n]{0,500}+\}\}|%[^{}\n%]{0,500}+%\}|:[^{}\n]{0,500}+\}|\#[\w.:-]{1,100}+\})")
#: Attributes behind a word or a link, as they are read in lines.
_ATTRIBUTES = lazy(
    r"\{(?:\{[<%][^{}\n]{0,500}+\}\}|%[^{}\n%]{0,500}+%\}|(?::[ \t]?|[.\#])[^{}\s][^{}\n]{0,200}+\}"
    r"|(?<=[)\]`]\{)[^{}\n]{1,200}+\})"
)
#: Lines that begin and end a container, but for its title.
_CONTAINER = lazy(
    r"^[ \t>]*:{3,}+[ \t]*(?:\{[^{}\n]{0,500}+\}|[\w-]{0,80}+(?:\[|\{[^{}\n]{0,500}+\}[ \t]*$)?+)",
    re.MULTILINE,
)
_CONTENTS = lazy(r"\[(?<![^\n]\[)(?i:\[_?toc_?\]|toc)\][ \t]*(?m:$)")
#: Brackets and texts of JavaScript, and the most characters of an export.
_SCRIPT = lazy(
    r"[(\[{]|[)\]}]|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|`(?:[^`\\]|\\.){0,5000}+`?|//[^\n]*"
)
_MAX_EXPORT = 10_000
_FENCE = lazy(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}|~{3,})[^\n]*")
_ENTITY = lazy(r"&(?:\#\d{1,7}|\#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,30});")
_HYPHEN = lazy(r"-\n(?<=[^\W\d_]-\n)[ \t>]*+(?=[^\W\d_])")
_HIGHLIGHT = lazy(r"==(?<=[^\W\d_]==)(?=[^\W\d_])")
_FOOTNOTE = lazy(r"\[\^[^\[\]\s]{1,100}+\](?!:)")
#: The most characters between two marks of emphasis.
_EMPHASIZED = 200


def is_badge(address: str) -> bool:
    """Return whether the address of a picture is that of a badge."""
    return any(sign in address for sign in _BADGES)


def components(text: str, body: int, closed: Closed) -> list[Span]:
    """Return the [start, end) of components of MDX outside of closed spans."""
    found, at = list[Span](), 0
    for match in closed.matches(_CAPITAL, text, body) if "<" in text else ():
        start = match.start()
        if start < at:
            continue
        component = _COMPONENTS.match(text, start)
        if component is None and not text[text.rfind("\n", 0, start) + 1 : start].strip(" \t"):
            component = _ALONE.match(text, start)
        if component is not None:
            found.append(component.span())
            at = component.end()
    return found


def unread(
    text: str, body: int, html: Sequence[Span], closed: Closed, verbatim: Sequence[Span]
) -> Iterator[Span]:
    """Yield the spans of markup outside of closed spans, and the lines around code, in no order."""
    for start, end in html:
        for match in _MARKUP.finditer(text, start, end):
            inside = match.lastgroup in ("tags", "script") and is_inside_word(text, *match.span())
            if not inside and closed.end(match.start()) == match.start():
                yield match.span()
    for line in _lines_with(text, "]:", body):
        definition = _DEFINITION.match(text, line)
        if definition and closed.end(line) == line:
            yield definition.span()
    yield from _statements(text, body, closed)
    for sign, pattern in (("{", _BRACED), (":::", _CONTAINER), ("[", _CONTENTS)):
        if sign in text:
            yield from (match.span() for match in closed.matches(pattern, text, body))
    yield from _fences(text, verbatim)


def _statements(text: str, body: int, closed: Closed) -> Iterator[Span]:
    """Yield the imports and exports of MDX."""
    unclosed = 0
    for line in sorted([*_lines_with(text, "import ", body), *_lines_with(text, "export ", body)]):
        statement = _IMPORT.match(text, line)
        if statement and closed.end(line) == line:
            end = statement.end()
            if statement["export"] is not None and end > unclosed:
                end, unclosed = _export_end(text, line, end)
            yield line, end


def _fences(text: str, verbatim: Sequence[Span]) -> Iterator[Span]:
    """Yield the lines around code."""
    for start, end in verbatim:
        line = text.rfind("\n", 0, start) + 1
        opening = _FENCE.match(text, line)
        if opening is None:
            continue  # verbatim HTML
        yield opening.span()
        tail = end
        while tail > start and text[tail - 1] == "\n":
            tail -= 1
        last = text.rfind("\n", opening.end(), tail) + 1
        if last and (closing := _FENCE.match(text, last, end)):
            yield closing.span()


def _lines_with(text: str, sign: str, start: int) -> Iterator[int]:
    """Yield the starts of lines that have a sign, which few texts have."""
    while (at := text.find(sign, start)) >= 0:
        yield text.rfind("\n", 0, at) + 1
        feed = text.find("\n", at)
        start = feed if feed >= 0 else len(text)


def edits(text: str, body: int, found: Iterable[Edit], html: Sequence[Span], closed: Closed) -> list[Edit]:
    """Return what is read otherwise than it is written, with what the parser has `found`, in order."""
    every = [*found]
    for start, end in _joined(html):
        for match in _MARKUP.finditer(text, start, end):
            kind = match.lastgroup
            if closed.end(match.start()) > match.start():
                continue
            inside = is_inside_word(text, *match.span())
            if kind == "script":
                every.append(Edit(*match.span(), "script"))
            else:
                every.append(Edit(*match.span(), "joined" if kind == "tags" and inside else "markup"))
    if "&" in text:
        every += [Edit(*match.span(), "entity") for match in closed.matches(_ENTITY, text, body)]
    if "-\n" in text:
        every += [Edit(*match.span(), "hyphen") for match in closed.matches(_HYPHEN, text, body)]
    if "==" in text:
        marks = (match.span() for match in closed.matches(_HIGHLIGHT, text, body))
        every += [Edit(*span, "joined") for span in marks if _is_paired(text, *span)]
    if "{" in text:
        every += [Edit(*match.span(), "markup") for match in closed.matches(_ATTRIBUTES, text, body)]
    if "[^" in text:
        every += [Edit(*match.span(), "markup") for match in closed.matches(_FOOTNOTE, text, body)]
    kept, at = list[Edit](), 0
    for edit in sorted(every):
        if edit.start >= at:
            kept.append(edit)
            at = edit.end
    return kept


def _joined(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield spans, with those that touch as one."""
    low = high = -1
    for start, end in spans:
        if start == high:
            high = end
            continue
        if high > low:
            yield low, high
        low, high = start, end
    if high > low:
        yield low, high


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


def _is_paired(text: str, start: int, end: int) -> bool:
    """Return whether there is another mark of the same emphasis in the line."""
    mark = text[start:end]
    low, high = max(text.rfind("\n", 0, start), start - _EMPHASIZED, 0), text.find("\n", end)
    high = min(len(text) if high < 0 else high, end + _EMPHASIZED)
    return mark in text[low:start] or mark in text[end:high]

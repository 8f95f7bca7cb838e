"""The markup of a Markdown text: fence lines, HTML tags, link definitions, imports."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from qmd.text.blocks import fences, front_matter_end
from qmd.text.regex import lazy

_HTML = (
    "a|article|aside|b|blockquote|br|center|code|details|div|em|figure|figcaption|font|footer|h[1-6]|header|hr|i|"
    "iframe|img|kbd|li|main|nav|ol|p|path|picture|pre|section|small|source|span|strong|sub|summary|sup|svg|"
    "table|tbody|td|th|thead|tr|u|ul|video"
)
_TAG = rf"</?(?i:{_HTML})(?=[\s/>])[^<>]{{0,1000}}>"
_COMPONENT = r"</?[A-Z][\w.]{0,80}(?:\s[^<>\n]{0,1000})?/?>"
#: A tag of HTML anywhere; and lines that are a component of MDX, the address of a link, or an import.
_MARKUP = lazy(
    rf"{_TAG}|(?m:^[ \t]*(?:{_COMPONENT})[ \t]*$)"
    r"|(?m:^ {0,3}\[(?!\^)[^\[\]\n]{1,300}\]:[ \t]*\S[^\n]*$)"
    r"|(?m:^import[ \t]+(?:[^\n]{1,300}?[ \t]from[ \t]+)?['\"][^'\"\n]{1,300}['\"];?[ \t]*$)"
    r"|(?m:^export[ \t]+(?:const|let|default|function)[ \t][^\n]*$)"
)
_MAY_HAVE = lazy(r"```|~~~|</?[A-Za-z]|\]:|(?m:^(?:import|export)[ \t])")
_FENCE = lazy(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}|~{3,})[^\n]*")
_BLANKS = lazy(r"[^\n]")


@lru_cache(maxsize=8)
def only_text(text: str) -> str:
    """Return a text with blanks in place of its markup, so that all positions stay the same.

    Code in fences is text, but not the lines that begin and end a fence. Front matter stays.
    """
    if not _MAY_HAVE.search(text):
        return text
    body = front_matter_end(text)
    code = fences(text, body)
    starts = [start for start, _ in code]
    spans = [
        match.span()
        for match in _MARKUP.finditer(text, body)
        if not ((at := bisect_right(starts, match.start())) and match.start() < code[at - 1][1])
    ]
    for start, end in code:
        line = text.rfind("\n", 0, start) + 1
        opening = _FENCE.match(text, line)
        if opening is None:
            continue  # verbatim HTML
        spans.append(opening.span())
        last = text.rfind("\n", opening.end(), len(text[:end].rstrip("\n"))) + 1
        if last and (closing := _FENCE.match(text, last, end)):
            spans.append(closing.span())
    parts, at = list[str](), 0
    for start, end in sorted(spans):
        if start >= at:
            parts += [text[at:start], _BLANKS.sub(" ", text[start:end])]
            at = end
    return "".join([*parts, text[at:]])

"""AsciiDoc: headings begin with `=`; the header has author, date and attributes. Nothing is included."""

from __future__ import annotations

import re

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.writing import first_title, with_headings
from qmd.text.markdown.links import AFTER_URL, MAX_LINKS
from qmd.types import Extracted, Link

name = "asciidoc"
version = 3
media_type = "text/markdown"

_HEADING = re.compile(r"(={1,6})[ \t]++(\S.*+)")
_ATTRIBUTE = re.compile(r":([A-Za-z][\w-]{0,40}):[ \t]+(\S.*)")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|/{4,}|\+{4,}|`{3,})\s*\Z")
_FENCE = "```"
_AUTHOR = re.compile(r"([^<:;]{2,80}?)[ \t]*<[^>]*>")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
#: `xref:a.adoc#b[text]`, `link:a.html[text]`, `<<a.adoc#b,text>>`, `include::a.adoc[]`, `https://a.b[text]`.
_LINK = re.compile(
    r"\b(?P<macro>xref|link|include|image)::?(?P<target>[^\s\[\]{}]{1,1000}+)\[(?P<text>[^\]\n]{0,500}+)\]"
    r"|<<(?P<page>[^\s<>,#{}]{1,500}\.\w{2,8}+(?:\#[^<>,\s]{0,300}+)?+)(?:,(?P<shown>[^<>\n]{0,500}+))?>>"
    r"|(?P<url>https?://[^\s\[\]<>\"']{1,1000}+)"
)
_NAMES = {"author": "author", "revdate": "date", "date": "date", "keywords": "tag", "tags": "tag"}


def extract(file: RawFile) -> Extracted:
    lines = file.text().split("\n")
    headings: dict[int, tuple[int, str]] = {}
    links: list[Link] = []
    closing: str | None = None  # of a block of code or a comment
    for at, line in enumerate(lines):
        delimiter = _DELIMITER.match(line)
        if closing is not None:
            if line.rstrip() == closing:
                lines[at] = _FENCE if closing[0] in "-." else line
                closing = None
        elif delimiter is not None:
            closing = delimiter[1]
            # A line of dashes below a text would be a heading.
            lines[at] = _FENCE if closing[0] in "-." else line
        elif heading := _HEADING.match(line):
            headings[at] = (len(heading[1]), _without_closing(heading[2].rstrip()))
        if closing is None:
            links.extend(filter(None, (_link(match, at + 1) for match in _LINK.finditer(line))))
    fields = _fields(lines)
    return Extracted(with_headings(lines, headings), first_title(headings), fields, tuple(links[:MAX_LINKS]))


def _link(match: re.Match[str], line: int) -> Link | None:
    """Return the link of a match; None if it leads to a place in the same file."""
    if match["url"]:
        return Link(match["url"].rstrip(AFTER_URL), "", line, "url")
    target, text = (match["target"] or match["page"]), (match["text"] or match["shown"] or "").strip()
    if "://" in target or target.startswith("mailto:"):
        return Link(target, text, line, "url")
    if match["macro"] == "xref" and not re.search(r"\.\w{2,8}(?:#|\Z)", target):
        return None
    *others, page = target.split(":")
    family, marked, name = page.partition("$")
    if marked or any(others):  # Antora: `component:module:partial$name`; the families are folders of modules
        module = others[-1].rpartition("@")[2] if others else ""
        page = f"/{module}/{family}s/{name}" if marked else f"/{module}/pages/{page}"
        page = page.replace("//", "/")
    return Link(page, text, line, "embed" if match["macro"] in ("include", "image") else "markdown")


def _without_closing(heading: str) -> str:
    """Return a heading without the `==` that may stand after it."""
    bare = heading.rstrip("=")
    return bare.rstrip() if bare[-1:] in (" ", "\t") else heading


def _fields(lines: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the fields of the header, which ends at the first empty line."""
    found: dict[str, tuple[str, ...]] = {}
    for line in lines[:40]:
        if not line.strip():
            break
        if match := _ATTRIBUTE.match(line):
            key = match[1].lower()
            found[_NAMES.get(key, key)] = (match[2].strip(),)
        elif (author := _AUTHOR.match(line)) and "author" not in found:
            found["author"] = (author[1].strip(),)
        elif (date := _DATE.search(line)) and "date" not in found and not line.startswith("="):
            found["date"] = (date[0],)
    return found

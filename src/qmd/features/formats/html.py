"""HTML by html-to-markdown: the whole text. Scripts do not run, and nothing is fetched."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import unquote

from qmd.sources.formats.base import RawFile
from qmd.text import extraction
from qmd.text.markdown.reading import read
from qmd.text.outline import first_heading, one_line
from qmd.text.properties import is_dated
from qmd.types import Extracted, Link

name = "html"
version = 3
media_type = "text/markdown"

#: Characters of the head of a page that are read, and bytes in which it may declare its charset.
_HEAD, _DECLARATION = 200_000, 16_000
_CHARSET = re.compile(r"(?:charset|encoding)\s*+=\s*+(?:[\"']\s*+)?([\w.:-]++)", re.I)
#: The names of `meta` elements whose contents are fields.
_META = {
    "author": "author",
    "article:author": "author",
    "dc.creator": "author",
    "date": "date",
    "dc.date": "date",
    "article:published_time": "date",
    "keywords": "keywords",
    "description": "description",
}
_IMAGE = re.compile(r"!\[([^\[\]\n]*+)\]\((?:[^()\n]|\([^()\n]*+\))*+\)")


def extract(file: RawFile) -> Extracted:
    source = file.text(declared_charset(file.data))
    head = Head()
    head.feed(source[:_HEAD])
    text = to_markdown(source)
    found = extraction.extract(text, file.path)
    links = tuple(
        Link(unquote(link.target), link.text, link.line, link.kind) if link.kind != "url" else link
        for link in found.links
    )
    structure = read(text).structure
    title = one_line("".join(head.title)) or first_heading(text, structure)
    return Extracted(text, title, head.fields, links, structure=structure)


def declared_charset(data: bytes) -> str:
    """Return the charset that a page or its XML declaration names; "" if there is none."""
    declaration = Head()
    declaration.feed(data[:_DECLARATION].decode("latin-1"))
    return declaration.charset


def to_markdown(source: str) -> str:
    """Return HTML as Markdown, with the descriptions of images in place of their addresses."""
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        extract_metadata=False,
        autolinks=False,
        preprocessing=PreprocessingOptions(remove_navigation=False, remove_forms=False),
        max_depth=500,
    )
    text = convert(source, options).content or ""
    return _IMAGE.sub(r"\1", text).strip("\n") + "\n"


class Head(HTMLParser):
    """Reads the title, the `meta` elements and the declared charset of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.charset = ""
        self.fields: dict[str, tuple[str | float | bool, ...]] = {}
        self._in_title = self._done = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "title":
            self._in_title = not self._done
        elif tag == "html" and values.get("lang"):
            self.fields.setdefault("language", (values["lang"] or "",))
        elif tag == "meta":
            self.charset = self.charset or (values.get("charset") or "")
            if (values.get("http-equiv") or "").lower() == "content-type":
                self._declare(values.get("content") or "")
            name = (values.get("name") or values.get("property") or values.get("itemprop") or "").lower()
            key = _META.get(name) or (name if is_dated(name) else None)
            content = one_line(values.get("content") or "")
            if key and content and key not in self.fields:
                self.fields[key] = tuple(content.split(",")) if key == "keywords" else (content,)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title" and self._in_title:
            self._in_title, self._done = False, True

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)

    def handle_pi(self, data: str) -> None:
        if data.startswith("xml "):
            self._declare(data)

    def _declare(self, text: str) -> None:
        match = _CHARSET.search(text)
        self.charset = self.charset or (match[1] if match else "")

"""HTML by lxml: the whole text. Scripts do not run, and nothing is fetched."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from qmd.features.formats.elements import Element, Role, write
from qmd.sources.formats.base import RawFile
from qmd.sources.formats.writing import Fields, Writer
from qmd.text.outline import first_heading, one_line
from qmd.text.properties import is_dated
from qmd.types import Extracted

name = "html"
version = 4
media_type = "text/plain"

#: Bytes in which a page may declare its charset.
_DECLARATION = 16_000
_CHARSET = re.compile(r"(?:charset|encoding)\s*+=\s*+(?:[\"']\s*+)?([\w.:-]++)", re.I)
#: An element of XML without content, which ends in HTML only if its kind never has any.
_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)"
    r"([A-Za-z][\w:.-]{0,50}+)(\s[^<>]{0,1000})?/>"
)
_IS_XML = re.compile(r"<\?xml\s|<html[^<>]{0,1000}\sxmlns=", re.I)
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
_ROLES: dict[str, Role] = {
    **dict.fromkeys(
        "address article aside body button caption center dd details dialog div dl fieldset figcaption "
        "figure footer form header hgroup html legend li main nav option optgroup p search section select "
        "summary table tbody textarea tfoot thead title".split(),
        "block",
    ),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
    **dict.fromkeys(("ul", "ol", "dl", "menu", "dir"), "list"),
    **dict.fromkeys(("li", "dt"), "item"),
    **dict.fromkeys(("pre", "listing", "xmp", "plaintext"), "code"),
    **dict.fromkeys(("td", "th"), "cell"),
    **dict.fromkeys(("head", "script", "style", "template", "noembed", "noframes", "iframe"), "hidden"),
    "blockquote": "quote",
    "tr": "row",
    "br": "break",
    "hr": "rule",
    "a": "link",
}
#: What is in a table that is there for the places of its parts, not for their sense.
_PARTS = ("table", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
#: A link beside a heading that leads to the heading.
_PERMALINKS = frozenset(("", "#", "¶", "§", "🔗"))


def extract(file: RawFile) -> Extracted:
    root = tree(file.text(declared_charset(file.data)))
    writer = Writer("part")
    write(root, writer, look)
    text, structure = writer.text, writer.structure
    title = one_line("".join("".join(each.itertext()) for each in islice(root.iter("title"), 1)))
    title = title or first_heading(text, structure)
    return Extracted(text, title, _fields(root), tuple(writer.links), structure=structure)


def tree(source: str) -> Any:
    """Return the tree of a page, or of a page in XML."""
    from lxml.etree import HTMLParser, fromstring

    if _IS_XML.search(source, 0, _DECLARATION):
        source = _CLOSED.sub(r"<\1\2></\1>", source)
    data = source.encode("utf-8", "replace")
    root = fromstring(data, HTMLParser(encoding="utf-8", huge_tree=True)) if source.strip() else None
    return root if root is not None else fromstring(b"<html/>")


def declared_charset(data: bytes) -> str:
    """Return the charset that a page or its XML declaration names; "" if there is none."""
    head = data[:_DECLARATION].decode("latin-1")
    stated = [head.partition("?>")[0]] if head.lstrip().startswith("<?xml") else []
    for meta in tree(head).iter("meta"):
        stated.append(f"charset={meta.get('charset', '')}")
        if meta.get("http-equiv", "").lower() == "content-type":
            stated.append(meta.get("content", ""))
    return next((match[1] for match in map(_CHARSET.search, stated) if match), "")


def look(node: Any) -> Element:
    """Return what an element of HTML is."""
    tag = node.tag
    role, value, text = _ROLES.get(tag, ""), "", ""
    match tag:
        case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
            value = tag[1]
        case "a":
            value = node.get("href", "")
            if value.startswith("#") and not len(node) and (node.text or "").strip() in _PERMALINKS:
                role = "hidden"
        case "img" | "area":
            text = node.get("alt", "")
        case "ol":
            start = node.get("start", "")
            value = start if start.isdecimal() and len(start) < 9 else "1"
        case "dt":
            value = "bare"
        case "table" if next(node.iterdescendants(*_PARTS), None) is not None:
            node.set("role", "presentation")
        case "tr" if next(node.iterancestors("table"), node).get("role") == "presentation":
            role = "block"
    return Element(role, value, text, node.get("id") or (node.get("name", "") if tag == "a" else ""))


def _fields(root: Any) -> Fields:
    """Return the fields that a page states in its `meta` elements."""
    fields: Fields = {}
    if language := root.get("lang"):
        fields["language"] = (language,)
    for meta in root.iter("meta"):
        key = (meta.get("name") or meta.get("property") or meta.get("itemprop") or "").lower()
        key = _META.get(key) or (key if is_dated(key) else "")
        content = one_line(meta.get("content", ""))
        if key and content and key not in fields:
            fields[key] = tuple(content.split(",")) if key == "keywords" else (content,)
    return fields

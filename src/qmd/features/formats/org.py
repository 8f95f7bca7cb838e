"""Org: headlines begin with stars. Keywords, properties, tags and planning dates are fields."""

from __future__ import annotations

import re

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.writing import with_headings
from qmd.text.markdown.links import MAX_LINKS
from qmd.text.outline import heading_text
from qmd.text.properties import is_dated
from qmd.types import Extracted, Link

name = "org"
version = 3
media_type = "text/markdown"

_HEADLINE = re.compile(r"(\*++)[ \t]++(\S.*+)")
_TAGS = re.compile(r":[\w@#%:]+:")
_STATE = re.compile(r"(TODO|DONE|NEXT|WAITING|CANCELLED)[ \t]+")
_PRIORITY = re.compile(r"\[#\w\][ \t]*")
_KEYWORD = re.compile(r"#\+(\w+):[ \t]*(\S.*)")
_PROPERTY = re.compile(r"[ \t]*:([\w-]{1,60}):[ \t]+(\S.*)")
_PLANNING = re.compile(r"\b(SCHEDULED|DEADLINE|CLOSED):[ \t]*[<\[](\d{4}-\d{2}-\d{2})")
_LINK = re.compile(r"\[\[([^\[\]]+)\](?:\[([^\[\]]*)\])?\]")
_BLOCK = re.compile(r"[ \t]*#\+(begin|end)_(\w+)[ \t]*([\w+-]*)", re.I)
_SCHEME = re.compile(r"(?!file:|id:)[A-Za-z][\w+.-]{1,30}:")


def extract(file: RawFile) -> Extracted:
    lines = file.text().split("\n")
    headings: dict[int, tuple[int, str]] = {}
    fields: dict[str, list[str]] = {}
    links: list[Link] = []
    title = first = ""
    block: str | None = None
    in_drawer = False
    for at, line in enumerate(lines):
        if mark := _BLOCK.match(line):
            kind = mark[2].lower()
            if mark[1].lower() == "begin" and block is None:
                block = kind
            elif mark[1].lower() == "end" and kind == block:
                block = None
            else:
                continue
            if kind in ("src", "example"):
                lines[at] = f"```{mark[3]}" if block else "```"
            continue
        if block is not None:
            continue
        if headline := _HEADLINE.match(line):
            heading = headline[2].rstrip()
            headings[at] = (len(headline[1]), heading)
            bare, *last = heading.rsplit(maxsplit=1)
            if last and _TAGS.fullmatch(last[0]):
                fields.setdefault("tag", []).extend(tag for tag in last[0].split(":") if tag)
                heading = bare
            if state := _STATE.match(heading):
                fields.setdefault("todo", []).append(state[1])
            first = first or heading_text(_PRIORITY.sub("", _STATE.sub("", heading, count=1), count=1))
        elif keyword := _KEYWORD.match(line):
            title = _keyword(keyword[1].lower(), keyword[2].strip(), fields) or title
        elif line.strip().upper() in (":PROPERTIES:", ":END:"):
            in_drawer = line.strip().upper() == ":PROPERTIES:"
        elif in_drawer and (found := _PROPERTY.match(line)):
            fields.setdefault(found[1].lower(), []).append(found[2].strip())
        else:
            for kind, date in _PLANNING.findall(line):
                fields.setdefault(kind.lower(), []).append(date)
        for target, text in _LINK.findall(line):
            links.append(_link(target, text, at + 1))
    return Extracted(
        with_headings(lines, headings),
        title or first,
        {name: tuple(values) for name, values in fields.items()},
        tuple(links[:MAX_LINKS]),
    )


def _link(target: str, text: str, line: int) -> Link:
    """Return a link to a file, to the note with an id, to a place in the same file, or to a URL."""
    if _SCHEME.match(target):
        return Link(target, text, line, "url")
    bare = target.removeprefix("file:").removeprefix("id:").partition("::")[0]
    if target == bare and not {"/", "."} & {*target} and not target.startswith("#"):
        bare = f"#{target.lstrip('*')}"
    return Link(bare, text, line, "wikilink")


def _keyword(name: str, value: str, fields: dict[str, list[str]]) -> str:
    """Add the field of a keyword such as `#+AUTHOR:`; return the value of `#+TITLE:`, otherwise ""."""
    match name:
        case "title":
            return heading_text(value)
        case _ if is_dated(name):
            fields.setdefault(name, []).append(value)
        case "filetags":
            fields.setdefault("tag", []).extend(tag for tag in value.split(":") if tag.strip())
        case "author" | "category" | "description" | "keywords" | "language":
            fields.setdefault("tag" if name == "keywords" else name, []).append(value)
    return ""

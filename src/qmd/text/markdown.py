"""Title, author and date in the content of a document."""

from __future__ import annotations

import re

from msgspec import Struct

from qmd.text import dates, front_matter
from qmd.text.blocks import blocks
from qmd.text.front_matter import FrontMatter
from qmd.text.outline import heading_text, one_line

_ORG_TITLE = re.compile(r"^#\+title:[ \t]*+(\S[^\n]*+)", re.I | re.M)
_ORG_HEADLINE = re.compile(r"^\*++[ \t]++(\S[^\n]*+)", re.M)
#: A comment, then empty lines, rules and lines of images, HTML and tags.
_ABOVE_TITLE = re.compile(
    r"\s*+(?:<!--(?:(?!-->)[\s\S])*+-->)?+[ \t]*+\n?(?:[ \t]*+(?:(?:<|!\[|\[!\[|---|#[^\s#])[^\n]*+)?\n)*+"
)

# Suffixes of languages whose comments look like headings.
_HASH_COMMENTS = frozenset(
    {"bash", "cfg", "conf", "ini", "jl", "pl", "ps1", "py", "r", "rb", "sh", "toml", "tf", "yaml", "yml"}
)


class Properties(Struct, frozen=True):
    """Title, author and date in the content of a document, or "". `date` is like `2024-03-07T00:00:00`."""

    title: str = ""
    author: str = ""
    date: str = ""


def properties(text: str, path: str, head: FrontMatter | None = None) -> Properties:
    """Return title, author and date of the document at `path`. Never raises an exception.

    The title is the `title` in the front matter, else a heading of the first level at the beginning, before
    which only images, HTML and tags may be, else the name of the file; a heading `Notes` is no title. In
    `.org` files it is `#+TITLE:`, else the first headline. It is one line of at most `MAX_TITLE` characters,
    without markup and control characters. Author and date are from the front matter; of several authors, the
    first.

    Args:
        text: The text.
        path: The path of the file.
        head: The front matter, if it has been read.
    """
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    suffix = suffix.lower() if stem else ""
    title = author = date = ""
    if suffix == "org":
        headline = _ORG_TITLE.search(text) or _ORG_HEADLINE.search(text)
        title = one_line(headline[1]) if headline else ""
    elif suffix not in _HASH_COMMENTS:
        head = head or front_matter.of(text)
        stated = head.stated
        title = one_line(stated.get("title", "")) or _heading_title(text, head.body)
        author = one_line(stated.get("author", ""))
        date = dates.read(stated.get("date", "")) or ""
    return Properties(title or file_title(path), author, date)


def file_title(path: str) -> str:
    """Return the name of a file without its suffix, in one line."""
    name = path.rpartition("/")[2]
    return one_line(name.rpartition(".")[0] or name) or one_line(name)


def _heading_title(text: str, start: int) -> str:
    """Return the heading of the first level at the beginning of a body; "" if there is none."""
    first = next((block for block in blocks(text, start) if block.kind != "rule"), None)
    if first is None or first.level != 1 or not _ABOVE_TITLE.fullmatch(text, start, first.start):
        return ""
    title = heading_text(first.content)
    return "" if title.removeprefix("📝").strip().lower() == "notes" else title

"""Title, author and date in the content of a document."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qmd.text import dates
from qmd.text.blocks import blocks, front_matter
from qmd.text.outline import heading_text, one_line

_TITLE_KEY, _AUTHOR_KEY, _DATE_KEY = (
    re.compile(rf"^[\"']?{word}[\"']?[ \t]*+:(?:[ \t]++|(?=\n))([^\n]*+)", re.M)
    for word in ("[Tt]itle", "[Aa]uthor", "[Dd]ate")
)
#: The first item of a list in brackets or with dashes, if it is simple enough to need no YAML parser.
_FIRST_ITEM = re.compile(
    r"(?:(\[)[ \t]*+|\n[ \t]*+-[ \t]++)(?:\"([^\"\\\n]*)\"|'([^'\n]*)'|(\w[\w .]*+))[ \t]*+(?(1)[,\]]|\n)"
)
_QUOTED = re.compile(r"\"([^\"\\]*)\"[ \t]*(?:#.*)?|'([^']*)'[ \t]*(?:#.*)?")
_COMMENT = re.compile(r"(?:\A|[ \t])#")
_NEXT_KEY = re.compile(r"\n(?=[^ \t\n#-]|-[^ \t\n])")
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


@dataclass(frozen=True, slots=True)
class Properties:
    """Title, author and date in the content of a document, or "". `date` is like `2024-03-07T00:00:00`."""

    title: str = ""
    author: str = ""
    date: str = ""


def properties(text: str, path: str) -> Properties:
    """Return title, author and date of the document at `path`. Never raises an exception.

    The title is the `title` in the front matter, else a heading of the first level at the beginning, before
    which only images, HTML and tags may be, else the name of the file; a heading `Notes` is no title. In
    `.org` files it is `#+TITLE:`, else the first headline. It is one line of at most `MAX_TITLE` characters,
    without markup and control characters. Author and date are from the front matter; of several authors, the
    first.
    """
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    suffix = suffix.lower() if stem else ""
    title = author = date = ""
    if suffix == "org":
        headline = _ORG_TITLE.search(text) or _ORG_HEADLINE.search(text)
        title = one_line(headline[1]) if headline else ""
    elif suffix not in _HASH_COMMENTS:
        end, start = front_matter(text)
        if end:
            title = _entry(text, end, _TITLE_KEY)
            author = _entry(text, end, _AUTHOR_KEY, listed=True)
            date = dates.read(_entry(text, end, _DATE_KEY)) or ""
        title = title or _heading_title(text, start)
    return Properties(title or file_title(path), author, date)


def file_title(path: str) -> str:
    """Return the name of a file without its suffix, in one line."""
    name = path.rpartition("/")[2]
    return one_line(name.rpartition(".")[0] or name) or one_line(name)


def _entry(text: str, end: int, key: re.Pattern[str], *, listed: bool = False) -> str:
    """Return an entry of the front matter in one line; "" if it is missing or not text.

    If `listed` is set, the entry may also be a list; return its first item.
    """
    match = key.search(text, 4, end)
    if match is None:
        return ""
    value = match[1].rstrip()
    if listed and value[:1] in ("", "["):
        item = _FIRST_ITEM.match(text, match.start(1), end)
        if item is None:
            return _yaml_entry(text, match.start(), end, listed)
        return _plain(item[4]) if item[4] else one_line(item[2] or item[3] or "")
    continued = text[match.end() + 1 : min(match.end() + 2, end)] in (" ", "\t")
    if value[:1] in ("'", '"'):
        quoted = _QUOTED.fullmatch(value)
        if quoted:
            return one_line(quoted[quoted.lastindex or 0])
    if value[:1] in ("|", ">", "'", '"') or continued:
        return _yaml_entry(text, match.start(), end, listed)
    # Lists, mappings, tags and aliases are not text; reserved characters are invalid YAML.
    if value[:1] in tuple("[]{},&*!%@`") or value[:2] in ("- ", "? ", ": "):
        return ""
    return _plain(value)


def _plain(value: str) -> str:
    """Return an unquoted YAML value without the comment after it."""
    comment = _COMMENT.search(value)
    plain = value[: comment.start()].rstrip() if comment else value
    return "" if plain.lower() in ("", "~", "null") else one_line(plain)


def _yaml_entry(text: str, start: int, end: int, listed: bool) -> str:
    """Parse a single entry with a YAML parser, so that errors in other entries do not matter."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    following = _NEXT_KEY.search(text, start, end)
    entry = text[start : min(following.start() if following else end, start + 10_000)] + "\n"
    try:
        loaded = YAML(typ="safe", pure=True).load(entry)
    except (YAMLError, ValueError, RecursionError):
        return ""
    value = next(iter(loaded.values()), None) if isinstance(loaded, dict) else None
    if listed and isinstance(value, list):
        value = next(iter(value), None)
    return one_line(value) if isinstance(value, str) else ""


def _heading_title(text: str, start: int) -> str:
    """Return the heading of the first level at the beginning of a body; "" if there is none."""
    first = next((block for block in blocks(text, start) if block.kind != "rule"), None)
    if first is None or first.level != 1 or not _ABOVE_TITLE.fullmatch(text, start, first.start):
        return ""
    title = heading_text(first.content)
    return "" if title.removeprefix("📝").strip().lower() == "notes" else title

"""Parse the parts of Markdown that indexing needs: front matter, headings, code fences and rules.

Lines must end in line feeds. Every function takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from qmd.text import dates

MAX_TITLE = 300  # characters; a longer heading is a paragraph without line breaks
_MAX_SETEXT = 1000  # the maximum length of a heading that is underlined with `===` or `---`, in characters

# All quantifiers are possessive, so that matching takes linear time.
_BLOCK = r"""
[ ]{0,3}+(?:
    (?P<marks>\#{1,6}+)(?![^ \t\n])[ \t]*+(?P<atx>[^\n]*+)
  | (?P<fence>`{3,}+(?=[^`\n]*+(?:\n|\Z))|~{3,}+)
  | (?P<under>=++|-++)[ \t]*+(?=\n|\Z)
  | (?P<rule>(?P<char>[-*_])[ \t]*+(?:(?P=char)[ \t]*+){2,}+(?=\n|\Z))
  | (?P<comment><!--)
)"""
_AT_LINE_START = re.compile(_BLOCK, re.X)
_NEXT_LINE = re.compile(r"\n" + _BLOCK, re.X)  # the leading literal lets `re` skip from line to line
_FENCE_END = {
    "`": re.compile(r"\n[ ]{0,3}+(`{3,}+)[ \t]*+(?=\n|\Z)"),
    "~": re.compile(r"\n[ ]{0,3}+(~{3,}+)[ \t]*+(?=\n|\Z)"),
}
_NOT_A_PARAGRAPH = re.compile(
    r"[ ]{0,3}(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)|[>|]|<[a-zA-Z/!?]|([-*_])[ \t]*+(?:\1[ \t]*+){2,}+\Z)"
)

_FRONT_MATTER = re.compile(r"---[ \t]*+\n")
_FRONT_MATTER_END = re.compile(r"\n(?:---|\.\.\.)[ \t]*+(?:\n|\Z)")
_FIRST_KEY = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\n)*+[\"']?\w[\w .\-/]{0,60}[\"']?:(?=[ \t\n])")
_BLANK_LINE = re.compile(r"(?:\A|\n)[ \t]*+\n")
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

# Control characters other than white space, direction overrides, byte-order marks, lone surrogates.
_CONTROLS = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+"
)
_MARKS = re.compile(r"[\\`*_~\[{]")
_IMAGE = re.compile(r"!\[\[[^\[\]]*\]\]|!\[([^\[\]]*)\]\([^()]*\)")
_LINK = re.compile(
    r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]"
    r"|\[([^\[\]]*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])"
)
_HEADING_ID = re.compile(r"[ \t]*\{[#.:][^{}]*\}\Z")
_INLINE = re.compile(
    r"(?<!`)(`++)(.+?)(?<!`)\1(?!`)"
    r"|\\([!-/:-@\[-`{-~])"
    r"|(\*\*\*?|~~)(?=\S)(.+?)(?<=\S)\4"
    r"|(?<!\w)(\*|_{1,3})(?=\S)(.+?)(?<=\S)\6(?!\w)"
)

# Suffixes of languages whose comments look like headings.
_HASH_COMMENTS = frozenset(
    {"bash", "cfg", "conf", "ini", "jl", "pl", "ps1", "py", "r", "rb", "sh", "toml", "tf", "yaml", "yml"}
)


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, code fence or rule: characters [start, end), from the start of a line.

    `level` is 1 to 6 for headings, otherwise 0. `content` is the raw text of a heading.
    """

    kind: Literal["heading", "fence", "rule"]
    start: int
    end: int
    level: int = 0
    content: str = ""


@dataclass(frozen=True, slots=True)
class Properties:
    """Title, author and date in the content of a document, or "". `date` is like `2024-03-07T00:00:00`."""

    title: str = ""
    author: str = ""
    date: str = ""


def front_matter_end(text: str) -> int:
    """Return the character offset after the front matter; 0 if there is none."""
    return _front_matter(text)[1]


def blocks(text: str, start: int = 0) -> Iterator[Block]:
    """Yield the headings (ATX and setext), code fences and rules of a text from the line at `start`.

    The rules are those of CommonMark for the top level. Blocks inside fences and HTML comments are ignored. A
    fence that is not closed extends to the end of the text. Empty headings are skipped.
    """
    floor = start  # the end of the previous block, which no paragraph crosses
    match = _AT_LINE_START.match(text, start) or _NEXT_LINE.search(text, start)
    while match is not None:
        line = match.start() + (text[match.start()] == "\n")
        end = match.end()
        match match.lastgroup:
            case "atx":
                if match["atx"]:
                    yield Block("heading", line, end, len(match["marks"]), match["atx"])
            case "fence":
                end = _fence_end(text, match["fence"], end)
                yield Block("fence", line, end)
                if end < len(text):
                    end -= 1  # the line feed that starts the next line
            case "under":
                mark = match["under"]
                above = _paragraph_start(text, floor, line)
                if above is not None:
                    yield Block("heading", above, end, 1 if mark[0] == "=" else 2, text[above:line])
                elif mark[0] == "-" and len(mark) > 2:
                    yield Block("rule", line, end)
            case "rule":
                yield Block("rule", line, end)
            case _:
                closed = text.find("-->", end)
                end = len(text) if closed < 0 else closed + 3
        floor = end
        match = _NEXT_LINE.search(text, end)


def properties(text: str, path: str) -> Properties:
    """Return title, author and date of the document at `path`. Never raises an exception.

    The title is the `title` in the front matter, else the first heading outside code (a heading `Notes` only
    if there is no other), else the file name without suffix. In `.org` files it is `#+TITLE:`, else the first
    headline. It is one line of at most `MAX_TITLE` characters, without markup and control characters. Author
    and date are from the front matter; of several authors, the first.
    """
    name = path.rpartition("/")[2]
    stem, _, suffix = name.rpartition(".")
    suffix = suffix.lower() if stem else ""
    title = author = date = ""
    if suffix == "org":
        headline = _ORG_TITLE.search(text) or _ORG_HEADLINE.search(text)
        title = _one_line(headline[1]) if headline else ""
    elif suffix not in _HASH_COMMENTS:
        end, body = _front_matter(text)
        if end:
            title = _entry(text, end, _TITLE_KEY)
            author = _entry(text, end, _AUTHOR_KEY, listed=True)
            date = dates.read(_entry(text, end, _DATE_KEY)) or ""
        title = title or _heading_title(text, body)
    return Properties(title or _one_line(stem or name) or _one_line(name), author, date)


def _front_matter(text: str) -> tuple[int, int]:
    """Return the start of the closing line and of the body; (0, 0) if there is no front matter.

    Front matter starts with `---` on the first line and ends with `---` or `...`. A text between two rules is
    no front matter if it has blank lines and does not start with a `key:`.
    """
    opening = _FRONT_MATTER.match(text)
    start = opening.end() if opening else 0
    closing = _FRONT_MATTER_END.search(text, start - 1) if opening else None
    if closing is None:
        return 0, 0
    end = closing.start() + 1
    if not _FIRST_KEY.match(text, start, end) and _BLANK_LINE.search(text[start:end]):
        return 0, 0
    return end, closing.end()


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
        return _plain(item[4]) if item[4] else _one_line(item[2] or item[3] or "")
    continued = text[match.end() + 1 : min(match.end() + 2, end)] in (" ", "\t")
    if value[:1] in ("'", '"'):
        quoted = _QUOTED.fullmatch(value)
        if quoted:
            return _one_line(quoted[quoted.lastindex or 0])
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
    return "" if plain.lower() in ("", "~", "null") else _one_line(plain)


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
    return _one_line(value) if isinstance(value, str) else ""


def _heading_title(text: str, start: int) -> str:
    fallback = ""
    for block in blocks(text, start):
        if block.kind != "heading":
            continue
        title = _heading_text(block.content)
        if title.removeprefix("📝").strip().lower() == "notes":
            fallback = fallback or title
        elif title:
            return title
    return fallback


def _heading_text(content: str) -> str:
    title = content[: 4 * MAX_TITLE].strip()
    bare = title.rstrip("#")
    if bare != title and (not bare or bare[-1] in " \t"):
        title = bare.rstrip()
    if _MARKS.search(title):
        title = _without_marks(title[: 2 * MAX_TITLE])
    return _one_line(title)


def _without_marks(title: str) -> str:
    title = _HEADING_ID.sub("", title)
    if "[" in title:
        without_images = _LINK.sub(_link_text, _IMAGE.sub("", title))
        title = without_images if without_images.strip() else _LINK.sub(_link_text, _IMAGE.sub(r"\1", title))
    return _INLINE.sub(_inner_text, title)


def _link_text(match: re.Match[str]) -> str:
    return match[match.lastindex or 0]


def _inner_text(match: re.Match[str]) -> str:
    code, escaped = match[2], match[3]
    if code is not None:
        return code.strip()
    return escaped or _INLINE.sub(_inner_text, match[5] or match[7])


def _one_line(text: str) -> str:
    if not text.isprintable():
        text = _CONTROLS.sub("", text[: 4 * MAX_TITLE])
    return " ".join(text[: 4 * MAX_TITLE].split())[:MAX_TITLE].rstrip()


def _fence_end(text: str, marker: str, position: int) -> int:
    """Return the end of the fence that `marker` opens, after the line feed of its closing line."""
    for match in _FENCE_END[marker[0]].finditer(text, position):
        if len(match[1]) >= len(marker):
            return min(match.end() + 1, len(text))
    return len(text)


def _paragraph_start(text: str, floor: int, underline: int) -> int | None:
    """Return the start of the paragraph directly above `underline`; None if there is none."""
    start = underline
    while start > floor:
        line = max(text.rfind("\n", floor, start - 1) + 1, floor)
        above = text[line : start - 1]
        if not above or above.isspace():
            break
        if underline - line > _MAX_SETEXT or _NOT_A_PARAGRAPH.match(above):
            return None
        start = line
    if start == underline or text.startswith(("    ", "\t"), start):
        return None
    return start

"""Extract title, fields and links from a Markdown document."""

from __future__ import annotations

import re
from collections.abc import Mapping

from qmd.text import body_properties, front_matter, properties
from qmd.text.link_targets import file_title
from qmd.text.markdown.reading import MarkdownReading, read
from qmd.text.outline import heading_text, one_line
from qmd.text.predicates import OF_FILE
from qmd.text.regex import lazy
from qmd.text.spans import Closed, apart, blanked
from qmd.text.tokens import index_form
from qmd.text.values import Value, key_of
from qmd.types import Extracted
from qmd.types.content import MARKDOWN

_ORG_TITLE = lazy(r"^#\+title:[ \t]*+(\S[^\n]*+)", re.I | re.M)
_ORG_HEADLINE = lazy(r"^\*++[ \t]++(\S[^\n]*+)", re.M)
#: A line that may be above the title: of HTML, JSX, images, links, tags, directives, or `key: value`.
_ITEM = lazy(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_NO_PROSE = lazy(
    r"[ \t]*+(?:\n|\Z|[<!#}]|:::|---|\{[{%/]|\[!\[|\[[^\[\]]{1,200}+\]:"
    r"|(?:\[[^\[\]\n]{1,200}+\]\([^()\n]{0,500}+\)[ \t|·•,/-]*+)++(?:\n|\Z)"
    r"|(?:[-*+][ \t]++)?+[*_]{0,2}+[^\W\d_][\w /.-]{0,40}+(?::[*_]{1,2}+|[*_]{1,2}+:|::?(?=\s|\Z)))"
)
_IMPORT = lazy(r"(?:import|export)\b(?:[^\n]*\n(?!\n)){0,40}?[^\n]*[\"';)}>][ \t]*(?:\n|\Z)")
#: No title is looked for below more characters than these.
_MAX_ABOVE = 20_000
#: Suffixes of languages whose comments look like headings.
_HASH_COMMENTS = frozenset(
    {"bash", "cfg", "conf", "ini", "jl", "pl", "ps1", "py", "r", "rb", "sh", "toml", "tf", "yaml", "yml"}
)


def extract(text: str, path: str) -> Extracted:
    """Return the content of a Markdown document. Never raises an exception.

    The title is the `title` in the front matter, else the first heading, else the name of the file. No prose
    may be above the heading, unless it is the only one of the first level; one of another level must be the
    highest and the only one of its level; and `Notes` is no title. In `.org` files the title is `#+TITLE:`,
    else the first headline. It is one line of at most `MAX_TITLE` characters, without markup and control
    characters.

    Args:
        text: The text, with line feeds as line ends.
        path: The path of the file, for its name and suffix.
    """
    head = front_matter.of(text)
    stated = one_line(head.stated.get("title", ""))
    fields = dict(head.fields)
    if not path.lower().endswith(".org"):
        text = body_properties.without_own_lines(text, head.body, _code)
    reading = read(text)
    if not path.lower().endswith(".org"):
        code = Closed(reading.structure.verbatim_spans())
        fields, named = body_properties.add_properties(fields, text, head.body, code)
        if named := one_line(named):  # the name of the page for links as well
            stated = stated or named
            fields["alias"] = (*fields.get("alias", ()), named)
    fields = properties.interpreted(fields, path)
    tags = dict.fromkeys((*map(str, fields.get("tag", ())), *reading.tags))
    if tags:
        fields["tag"] = tuple(tags)
    title = _title(text, path, reading, stated) or file_title(path)
    return Extracted(
        text,
        title,
        fields,
        reading.links,
        omitted=(*head.omitted, *properties.omissions(fields), *reading.omitted),
        structure=reading.structure,
    )


def _code(text: str) -> Closed:
    return Closed(read(text).structure.verbatim_spans())


def _title(text: str, path: str, reading: MarkdownReading, stated: str) -> str:
    """Return the title that a text states, as a property or as a heading; "" if there is none."""
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    suffix = suffix.lower() if stem else ""
    if suffix in _HASH_COMMENTS:
        return ""
    if suffix == "org":
        headline = _ORG_TITLE.search(text) or _ORG_HEADLINE.search(text)
        return one_line(headline[1]) if headline else ""
    if stated:
        return stated
    title = heading_text(_first_heading(text, reading))
    return "" if title.removeprefix("📝").strip().lower() == "notes" else title


def _first_heading(text: str, reading: MarkdownReading) -> str:
    """Return the first heading of a text if it is the heading of the whole; "" if it is not."""
    headings = [block for block in reading.blocks if block.level]
    if not headings:
        return ""
    first = next(block for block in reading.blocks if block.kind in ("heading", "fence"))
    skipped = [(each.start, each.end) for each in reading.blocks if each.kind in ("comment", "rule")]
    free = (
        first.level
        and not _ITEM.match(text, first.start)
        and _has_no_prose(text, first.start, reading, skipped)
    )
    if free and first.level == 1:
        return first.content
    # A heading in a list is one of its item, as outliners write them.
    title = next((block for block in headings if not _ITEM.match(text, block.start)), None)
    if title is None:
        return ""
    others = [block.level for block in headings if block is not title]
    is_title = title.level < min(others, default=7) and (free or title.level == 1)
    return title.content if is_title else ""


def _has_no_prose(text: str, end: int, reading: MarkdownReading, skipped: list[tuple[int, int]]) -> bool:
    """Return whether nothing is above a title but imports, images, links, directives and `key: value`.

    Comments and rules, which are `skipped`, are no prose.
    """
    start = reading.structure.body
    if end - start > _MAX_ABOVE:
        return False
    spans = [*reading.structure.unread_spans(), *skipped]
    above, at = blanked(text, apart(spans))[start:end], 0
    while at < len(above):
        line = _IMPORT.match(above, at) or _NO_PROSE.match(above, at)
        if line is None:
            return False
        feed = above.find("\n", max(at, line.end() - 1))
        at = feed + 1 if feed >= 0 else len(above)
    return True


def _unique(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the first of values that are equal when they are compared, so that each document counts once.

    Integers become floats.
    """
    if len(values) == 1 and values[0].__class__ is not int:
        return values
    first: dict[object, Value] = {}
    for value in values:
        first.setdefault(key_of(value), float(value) if value.__class__ is int else value)
    return tuple(first.values())


def stored_fields(
    fields: Mapping[str, tuple[Value, ...]], path: str, author: str
) -> dict[str, tuple[Value, ...]]:
    """Return the fields that a store keeps of a document, beside those of the file, without repetitions.

    Args:
        fields: The fields of its content.
        path: Its path, for the suffix.
        author: Its author, if a folder says so and the content does not.
    """
    stored = {name: _unique(values) for name, values in fields.items() if name not in OF_FILE}
    if author:
        stored.setdefault("author", (author,))
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    suffix = suffix.partition("#")[0]  # a key follows if the file contains several documents
    if stem and dot and suffix:
        stored["ext"] = (suffix,)
    stored.setdefault("format", (MARKDOWN,))
    return stored


def searched_title(title: str, fields: Mapping[str, tuple[Value, ...]], path: str) -> str:
    """Return the title, the aliases and the name of the file, a line each, as they are searched."""
    # The store keeps the first of aliases that differ in case alone, and searches follow from it.
    aliases = _unique(fields.get("alias", ()))
    names = [title, *sorted(alias for alias in aliases if isinstance(alias, str) and alias != title)]
    file = file_title(path)
    if index_form(file) not in map(index_form, names):
        names.append(file)
    return "\n".join(names)

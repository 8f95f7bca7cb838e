"""Extract fields, links and sections from a Markdown document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from qmd.text import front_matter, links
from qmd.text.markdown import Block, blocks, front_matter_end, heading_text, properties
from qmd.text.predicates import Value, fold
from qmd.types import Extracted, Section

_SLUG = re.compile(r"[^\w]+")
_LAST_LINE = re.compile(r"\n[^\n]*\n?\Z")


def extract(text: str, path: str) -> Extracted:
    """Return the content of a Markdown document. Never raises an exception.

    Args:
        text: The text, with line feeds as line ends.
        path: The path of the file, for its name and suffix.
    """
    start = front_matter_end(text)
    parsed = front_matter.FrontMatter()
    if start:
        parsed = front_matter.read(_LAST_LINE.sub("\n", text[:start]).partition("\n")[2])
    body = [*blocks(text, start)]
    inline = links.find(text, start, [(block.start, block.end) for block in body if block.kind == "fence"])
    found = properties(text, path)
    fields: dict[str, tuple[Value, ...]] = dict(parsed.fields)
    # These are read one by one, so that an error in another entry does not matter.
    if found.author:
        fields.setdefault("author", (found.author,))
    if found.date:
        fields["date"] = (found.date,)
    tags = dict.fromkeys((*map(str, fields.get("tag", ())), *inline.tags))
    if tags:
        fields["tag"] = tuple(tags)
    return Extracted(
        text,
        found.title,
        fields,
        inline.links,
        sections(text, body),
        omitted=(*parsed.omitted, *inline.omitted),
    )


def sections(text: str, body: list[Block]) -> tuple[Section, ...]:
    """Return the sections of a text from its headings, in order."""
    headings: list[tuple[int, int, str]] = []
    line, at = 1, 0
    for block in body:
        if block.kind != "heading":
            continue
        line += text.count("\n", at, block.start)
        at = block.start
        headings.append((line, block.level, heading_text(block.content)))
    total = line + text.count("\n", at) + (not text.endswith("\n"))
    last = max(total - 1, line) if headings else 0
    found: list[Section] = []
    # From the last to the first: a section ends before the next heading of its level or above.
    ends: dict[int, int] = {}
    for first, level, heading in reversed(headings):
        end = min((start - 1 for other, start in ends.items() if other <= level), default=last)
        found.append(Section(heading, level, first, end))
        ends = {other: start for other, start in ends.items() if other < level} | {level: first}
    return tuple(reversed(found))


def stored_fields(
    fields: Mapping[str, tuple[Value, ...]], path: str, author: str
) -> dict[str, tuple[Value, ...]]:
    """Return the fields that a store keeps of a document, beside those of the file itself.

    Args:
        fields: The fields of its content.
        path: Its path, for the suffix.
        author: Its author, if a folder says so and the content does not.
    """
    stored = {name: values for name, values in fields.items() if name not in ("title", "date")}
    if author:
        stored.setdefault("author", (author,))
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    if stem and dot and suffix:
        stored["ext"] = (suffix,)
    stored.setdefault("format", ("markdown",))
    return stored


def searched_title(title: str, fields: Mapping[str, tuple[Value, ...]]) -> str:
    """Return the title with the aliases, a line each, as they are searched."""
    return "\n".join((title, *sorted(alias for alias in fields.get("alias", ()) if isinstance(alias, str))))


def section_path(text: str, line: int) -> str:
    """Return the headings above a line, from the highest level down: `Operations > Backups`; "" if none."""
    above: list[tuple[int, str]] = []
    current, at = 1, 0
    for block in blocks(text, front_matter_end(text)):
        current += text.count("\n", at, block.start)
        at = block.start
        if current > line:
            break
        if block.kind == "heading":
            above = [entry for entry in above if entry[0] < block.level]
            above.append((block.level, heading_text(block.content)))
    return " > ".join(heading for _, heading in above)


def find_section(sections: Sequence[Section], address: str) -> Section | None:
    """Return the first section at an address: a heading, or headings from above, as `a/b` or `a#b`.

    Headings are compared without regard to case, also in the form that web pages use for anchors.
    """
    whole = _first(sections, [address.strip("#").strip()])
    if whole is not None:
        return whole
    for separator in "#/":
        headings = [heading.strip() for heading in address.split(separator) if heading.strip()]
        if len(headings) > 1 and (found := _first(sections, headings)) is not None:
            return found
    return None


def _first(sections: Sequence[Section], headings: Sequence[str]) -> Section | None:
    above: list[Section] = []
    for section in sections:
        above = [other for other in above if other.level < section.level]
        *parents, last = headings
        if _is_called(section, last):
            chain = iter(above)
            if all(any(_is_called(other, parent) for other in chain) for parent in parents):
                return section
        above.append(section)
    return None


def _is_called(section: Section, heading: str) -> bool:
    return fold(heading) in (fold(section.heading), _SLUG.sub("-", fold(section.heading)).strip("-"))

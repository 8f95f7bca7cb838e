"""A text that is not Markdown as HTML: its headings, paragraphs, code, tables and links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import count

from qmd.features.page.markdown import RenderContext, slug
from qmd.features.page.rendered import LINES, PageHeading, Rendered
from qmd.types import ResolvedLink, Section

#: Addresses that a link may have.
_SAFE = ("https://", "http://", "mailto:")


def render(
    text: str,
    sections: Sequence[Section],
    fences: Sequence[tuple[int, int]],
    links: Sequence[ResolvedLink],
    context: RenderContext,
) -> Rendered:
    """Return a text as HTML. Everything of it is escaped.

    Args:
        text: The text.
        sections: Its sections.
        fences: The [start, end) of code in it.
        links: Its links.
        context: Its surroundings.
    """
    lines = text.split("\n")
    by_line: dict[int, list[ResolvedLink]] = {}
    for link in links:
        by_line.setdefault(link.line, []).append(link)
    headings = {section.first_line: section for section in sections}
    code = _code_lines(text, fences)
    html, taken = list[str](), set[str]()
    for kind, first, end in _blocks(lines, headings, code):
        part = lines[first - 1 : end - 1]
        where = f'{LINES}="{first} {end}"'
        if kind == "heading":
            section = headings[first]
            names = (slug(section.heading) + (f"-{number}" if number else "") for number in count())
            anchor = next(name for name in names if name not in taken)
            taken.add(anchor)
            context.headings.append(PageHeading(section.heading, section.level, anchor))
            tag = f"h{section.level}"
            html.append(f'<{tag} id="{escape(anchor)}" {where}>{escape(section.heading)}</{tag}>\n')
        elif kind == "code":
            html.append(f'<pre class="source" {where}><code>{escape(chr(10).join(part))}</code></pre>\n')
        elif all(map(_is_row, part)):
            cells = [
                [_linked(each, by_line.get(first + at, ()), context) for each in _cells(line)]
                for at, line in enumerate(part)
            ]
            html.append(
                f'<div class="table" tabindex="0" role="group" {where}>{_table(cells, first)}</div>\n'
            )
        else:
            shown = (_linked(line, by_line.get(first + at, ()), context) for at, line in enumerate(part))
            html.append(f'<p class="lines" {where}>{chr(10).join(shown)}</p>\n')
    return Rendered.of("".join(html), context.headings)


def _code_lines(text: str, fences: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return the first lines of code, with the lines after them."""
    found, line, at = dict[int, int](), 1, 0
    for start, end in fences:
        line += text.count("\n", at, start)
        last = line + text[start:end].rstrip("\n").count("\n")
        found[line] = last + 1
        line += text.count("\n", start, end)
        at = end
    return found


def _blocks(
    lines: Sequence[str], headings: Mapping[int, Section], code: Mapping[int, int]
) -> Iterator[tuple[str, int, int]]:
    """Yield the kind of each heading, paragraph and block of code, its first line, and that after it."""
    at = 1
    while at <= len(lines):
        end = at + 1
        if at in headings:
            yield "heading", at, end
            if at not in code and _is_drawn("".join(lines[at:end])):
                end += 1
        if at in code:  # functions are headings with their code
            end = code[at]
            yield "code", at, end
        elif at not in headings and lines[at - 1].strip():
            while end <= len(lines) and lines[end - 1].strip() and end not in headings and end not in code:
                end += 1
            if not (end in headings and end == at + 1 and _is_drawn(lines[at - 1])):
                yield "paragraph", at, end
        at = end


def _is_drawn(line: str) -> bool:
    """Return whether a line is a sign that repeats, above or below a title."""
    bare = line.strip()
    return bool(bare) and not bare[0].isalnum() and bare == bare[0] * len(bare)


def _is_row(line: str) -> bool:
    """Return whether a line is a row of a table, as readers and authors write them."""
    bare = line.strip()
    return len(bare) > 2 and bare[0] == bare[-1] == "|"


def _cells(line: str) -> list[str]:
    """Return the cells of a row; none of a line between rows."""
    inner = line.strip()[1:-1]
    if set(inner) <= {*"-+|=: "} and "-" in inner:
        return []
    return [cell.strip() for cell in inner.split(" | " if " | " in inner else "|")]


def _table(rows: Sequence[Sequence[str]], first: int) -> str:
    """Return a table of cells in HTML, whose first row is its head."""
    html = list[str]()
    for at, cells in enumerate(rows, first):
        tag = "td" if html else "th"
        shown = "".join(f"<{tag}>{cell}</{tag}>" for cell in cells)
        html += [f'<tr {LINES}="{at} {at + 1}">{shown}</tr>'] if cells else []
    return f"<table><thead>{html[0]}</thead><tbody>{''.join(html[1:])}</tbody></table>" if html else ""


def _linked(line: str, links: Sequence[ResolvedLink], context: RenderContext) -> str:
    """Return a line with its links."""
    parts, at = list[str](), 0
    for link in links:
        address = link.target if link.target.startswith(_SAFE) else context.link(link.target)
        start = line.find(link.target, at)
        if address is not None and start >= 0:
            parts.append(escape(line[at:start]))
            parts.append(f'<a href="{escape(address)}" rel="noopener noreferrer">{escape(link.target)}</a>')
            at = start + len(link.target)
    return "".join([*parts, escape(line[at:])])

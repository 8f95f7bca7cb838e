"""For people: results with matches highlighted, documents under a heading."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.cli.render.view import View, skipped_because
from qmd.cli.terminal import BOLD, CYAN, DIM, GREEN, YELLOW, clean, clean_name, link, one_line, styled

if TYPE_CHECKING:
    from qmd.engine.documents import Page, Skipped
    from qmd.types import Document, Hit

_NO_RESULTS = "No results found.\n"
#: Above these percentages a score is green, or yellow.
_GOOD, _FAIR = 70, 40


def hits(found: Sequence[Hit], view: View) -> str:
    return "\n".join(_hit(hit, view) for hit in found) if found else _NO_RESULTS


def pages(items: Sequence[Page | Skipped], view: View) -> str:
    return "\n".join(_item(item, view) for item in items)


def heading(document: Document, context: str | None, view: View) -> str:
    """What stands above a document on a terminal."""
    lines = [
        f"{_style(clean_name(view.file(document)), view, BOLD, CYAN)}  {_style(document.docid, view, DIM)}"
    ]
    lines += _context(context)
    return "\n".join(lines) + "\n\n"


def percent(score: float) -> int:
    """A score of 0..1 in percent, rounded half up."""
    return math.floor(score * 100 + 0.5 + 1e-9)


def _hit(hit: Hit, view: View) -> str:
    place = _style(clean_name(view.file(hit)), view, BOLD, CYAN) + _style(f":{hit.line}", view, DIM)
    if view.editor is not None:
        place = link(place, view.editor(hit))
    value = percent(hit.score)
    colour = GREEN if value > _GOOD else YELLOW if value > _FAIR else DIM
    lines = [
        f"{place} {_style(hit.docid, view, DIM)}",
        f"Title: {_style(one_line(hit.title), view, BOLD)}",
        *_context(hit.context),
        f"Score: {_style(f'{value}%', view, colour)}",
    ]
    if view.explain and hit.explain is not None:
        from qmd.cli.render.explain import breakdown

        lines += [_style(line, view, DIM) for line in breakdown(hit.explain)]
    return "\n".join([*lines, "", _text(hit, view), ""])


def _context(context: str | None) -> list[str]:
    if not context:
        return []
    # General to specific, a line each.
    first, *more = [one_line(line) for line in context.split("\n") if line.strip()]
    return [f"Context: {first}", *(f"         {line}" for line in more)]


def _text(hit: Hit, view: View) -> str:
    full = view.full and hit.body is not None
    text = hit.body.removesuffix("\n") if full and hit.body is not None else hit.snippet.text
    marked = _highlighted(clean(text), view)
    if not view.line_numbers:
        return marked
    first = 1 if full else hit.snippet.first_line
    return "\n".join(
        f"{_style(f'{number}:', view, DIM)} {line}" for number, line in enumerate(marked.split("\n"), first)
    )


def _highlighted(text: str, view: View) -> str:
    if view.highlights is None:
        return text
    parts, at = [], 0
    for start, end in view.highlights(text):
        parts.append(text[at:start])
        # Line by line: what begins a line, such as its number, is none of the match.
        parts.append("\n".join(styled(line, BOLD, YELLOW) for line in text[start:end].split("\n")))
        at = end
    return "".join([*parts, text[at:]])


def _item(item: Page | Skipped, view: View) -> str:
    from qmd.engine.documents import Skipped

    rule = "=" * min(60, view.width)
    name = _style(clean_name(view.file(item.document)), view, BOLD, CYAN)
    top = f"{rule}\nFile: {name} {_style(item.document.docid, view, DIM)}\n{rule}\n\n"
    if isinstance(item, Skipped):
        return f"{top}[SKIPPED: {skipped_because(item)}]\n"
    context = "\n".join(_context(item.context))
    text = view.page(item).rstrip("\n")
    return top + (f"{context}\n\n" if context else "") + (clean(text) if view.terminal else text) + "\n"


def _style(text: str, view: View, *codes: str) -> str:
    return styled(text, *codes) if view.colours else text

"""The format for people: results with highlighted matches, documents under a heading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from qmd.cli.render.passage import labelled, passage
from qmd.cli.render.rows import Listing, Writer
from qmd.cli.render.view import PASSAGE_GAP, View, skipped_because
from qmd.cli.terminal import (
    BOLD,
    DIM,
    GREEN,
    MAGENTA,
    YELLOW,
    clean_name,
    columns,
    cut,
    link,
    one_line,
    width_of,
)

if TYPE_CHECKING:
    from qmd.engine.documents.pages import Page, Skipped
    from qmd.types import Anchor, Document, Hit
    from qmd.types.notes import Note

#: Percentages above which a score is green or yellow.
_GOOD, _FAIR = 70, 40
_CONTEXT = "Context: "
#: On a terminal of at most so many lines, a result has at most `_LINES` of them. The prompt and notes have
#: `_AROUND` beside the results.
_LOW, _LINES, _AROUND = 30, 3, 4
_INDENT = "  "
#: The part of a line that stands before the first word that is marked, if that is far from the line's start.
_BEFORE = 4


def _listing(found: Listing, view: View) -> str:
    """Return an aligned table, or a block of lines for each row if the table is wider than the terminal."""
    if not found.rows:
        return found.nothing + "\n"
    fields = [column for column in found.columns if column.for_people]
    texts = [[one_line(column.text(row[column.name])) for column in fields] for row in found.rows]
    cells = [tuple(clean_name(text) for text in row) for row in texts]
    headings = tuple(column.heading for column in fields)
    right = frozenset(at for at, column in enumerate(fields) if column.right)
    first, *lines = columns([headings, *cells], right=right)
    if view.terminal and max(map(width_of, lines)) > view.width:
        blocks = [
            columns([(f"{name}:", cell) for name, cell in zip(headings, row, strict=True) if cell])
            for row in cells
        ]
        return "\n".join("\n".join(block) + "\n" for block in blocks)
    return "\n".join([view.styled(first, BOLD), *lines]) + "\n"


def heading(page: Page, view: View) -> str:
    """Return the lines above a document on a terminal: its path and context."""
    place = _location(page.document, view, line=page.first_line, gap="  ", anchor=page.anchor)
    return "\n".join([place, *_about(page, view)]) + "\n\n"


def _hits(hits: Sequence[Hit], view: View) -> str:
    """Return results; on a low terminal in as few lines each as show all, so that the best stays visible."""
    if hits and 0 < view.height <= _LOW:
        lines = min(max((view.height - _AROUND) // len(hits), 1), _LINES)
        return _joined(["\n".join([*_brief(hit, view)][:lines]) + "\n" for hit in hits], view, gap="")
    return _joined((_hit(hit, view) for hit in hits), view) or "No results found.\n"


def _brief(hit: Hit, view: View) -> Iterator[str]:
    """Yield the place of a hit, its line, and its title and section."""
    place = _location(hit, view, line=hit.line, show_line=True, anchor=hit.anchor)
    yield f"{place}  {_score(hit, view)}"
    text = " ".join(hit.snippet.text.split("\n")[max(hit.line - hit.snippet.first_line, 0) :])
    text = view.shown(" ".join(text.split()))
    width = view.width - len(_INDENT)
    marks = view.highlights(text) if view.highlights is not None else []
    if marks and width_of(text[: marks[0][1]]) > width:
        before = marks[0][0] - width // _BEFORE
        text = text[text.find(" ", before, marks[0][0]) + 1 or before :]
    yield _INDENT + passage(cut(text, width), 1, view)
    title = view.shown(one_line(" > ".join(filter(None, (hit.title, _below(hit)))), terminal=False))
    yield _INDENT + view.styled(cut(title, width), DIM)


def _score(hit: Hit, view: View) -> str:
    remarks = "".join(f", {note.remark}" for note in hit.notes if note.remark)
    colour = GREEN if hit.percent > _GOOD else YELLOW if hit.percent > _FAIR else DIM
    return view.styled(f"{hit.percent}%", colour) + remarks


def _hit(hit: Hit, view: View) -> str:
    lines = [
        _location(hit, view, line=hit.line, show_line=True, anchor=hit.anchor),
        *labelled("Title: ", view.shown(one_line(hit.title, terminal=False)), view, BOLD),
        *_section(hit, view),
        *_context(hit.context, view),
        *_notes(hit.notes, view),
        f"Score: {_score(hit, view)}",
    ]
    if view.explain and hit.traces:
        from qmd.cli.render.explain import breakdown

        for line in breakdown(hit.traces, view.width - 2 if view.terminal else 80):
            lines += labelled("  ", line, view, DIM)
    gap = view.styled(PASSAGE_GAP, DIM)
    passages = gap.join(passage(text, first_line, view) for text, first_line in view.passages(hit))
    return "\n".join([*lines, "", passages, ""])


def _section(hit: Hit, view: View) -> list[str]:
    section = _below(hit)
    return labelled("Section: ", view.shown(one_line(section, terminal=False)), view, DIM) if section else []


def _below(hit: Hit) -> str:
    """Return the headings above the passage, without the title of the document if they begin with it."""
    below = hit.section.removeprefix(hit.title)
    return below.removeprefix(" > ") if not below or below.startswith(" > ") else hit.section


def _context(context: str | None, view: View) -> list[str]:
    # From general to specific, one per line.
    lines = (line for line in (context or "").split("\n") if line.strip())
    texts = [view.shown(one_line(line, terminal=False)) for line in lines]
    return [
        line
        for at, text in enumerate(texts)
        for line in labelled(" " * len(_CONTEXT) if at else _CONTEXT, text, view)
    ]


def _about(page: Page, view: View) -> list[str]:
    """Return the lines about a document: its context, and its notes."""
    return [*_context(page.context, view), *_notes(page.notes, view)]


def _notes(notes: Sequence[Note], view: View) -> list[str]:
    """Return the lines of notes. A command is a line of its own, to be copied."""
    from qmd.types.notes import shown  # help does without it

    lines: list[str] = []
    for heading, text, form in (row for note in shown(notes, "people") for row in note.rows):
        if form == "command":
            lines.append(f"{heading}: {clean_name(text)}")
        elif form == "name":
            lines += labelled(f"{heading}: ", clean_name(text), view)
        else:
            codes = (DIM,) if form == "aside" else ()
            lines += labelled(f"{heading}: ", view.shown(one_line(text, terminal=False)), view, *codes)
    return lines


def _location(
    item: Hit | Document,
    view: View,
    *,
    line: int,
    gap: str = " ",
    show_line: bool = False,
    anchor: Anchor | None = None,
) -> str:
    """Return a path that links to an editor at `line`, with the line if `show_line` is set, and the docid.

    If there is an anchor, it takes the place of the line.
    """
    place = view.styled(clean_name(view.file(item)), BOLD, MAGENTA)
    number = anchor.address if anchor else line
    place = linked(place + view.styled(f":{number}", DIM) if show_line else place, item, line, view, anchor)
    docid = view.docid(item)
    return place if docid is None else f"{place}{gap}{view.styled(docid, DIM)}"


def linked(text: str, item: Hit | Document, line: int, view: View, anchor: Anchor | None = None) -> str:
    """Return the text as a link to the document in an editor, if the terminal understands links."""
    return text if view.editor is None else link(text, view.editor(item, line, anchor))


def _item(item: Page | Skipped, view: View) -> str:
    from qmd.engine.documents.pages import Skipped

    rule = "=" * min(60, view.width)
    line, anchor = (1, None) if isinstance(item, Skipped) else (item.first_line, item.anchor)
    heading = f"{rule}\nFile: {_location(item.document, view, line=line, anchor=anchor)}\n{rule}\n\n"
    if isinstance(item, Skipped):
        return f"{heading}[SKIPPED: {skipped_because(item)}]\n"
    context = "\n".join(_about(item, view))
    text = view.page(item).rstrip("\n")
    return heading + (f"{context}\n\n" if context else "") + view.shown(text) + "\n"


def _joined(parts: Iterable[str], view: View, gap: str = "\n") -> str:
    """Join the parts of an answer, and the note of the view, by default with blank lines between them."""
    return gap.join([*parts, *([f"[{view.note}]\n"] if view.note else [])])


WRITER = Writer(
    _hits,
    lambda items, view: _joined((_item(item, view) for item in items), view),
    _listing,
)

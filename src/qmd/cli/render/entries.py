"""Hits and documents in the formats for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from qmd.cli.render.view import View, address, skipped_because

if TYPE_CHECKING:
    from qmd.engine.documents.pages import Page, Skipped
    from qmd.types import Anchor, Hit, Snippet
    from qmd.types.notes import Note


class Entry(Struct, frozen=True):
    """A hit, a page, a skipped document or a note about what was left out.

    `content` says what `text` is; `reason`: why it was skipped.
    """

    docid: str | None
    file: str
    title: str
    content: Literal["snippet", "body", "reason", "note"]
    text: str
    context: str | None = None
    line: int | None = None
    anchor: Anchor | None = None
    total_lines: int | None = None
    score: float = 0.0
    section: str | None = None
    passages: tuple[Snippet, ...] = ()
    explain: Mapping[str, Any] | None = None
    notes: tuple[Note, ...] = ()

    @property
    def skipped(self) -> bool:
        return self.content == "reason"


def hit_entry(hit: Hit, view: View) -> Entry:
    return Entry(
        view.docid(hit),
        view.address(hit),
        view.shown(hit.title),
        "body" if view.full else "snippet",
        view.shown(view.text(hit)),
        hit.context,
        hit.line,
        hit.anchor,
        score=hit.score,
        section=hit.section or None,
        passages=hit.passages if len(hit.passages) > 1 and not view.full else (),
        explain=hit.explain if view.explain else None,
        notes=tuple(note.addressed(address) for note in hit.notes),
    )


def page_entry(item: Page | Skipped, view: View) -> Entry:
    from qmd.engine.documents.pages import Skipped

    names = view.docid(item.document), view.address(item.document), view.shown(item.document.title)
    if isinstance(item, Skipped):
        return Entry(*names, "reason", skipped_because(item))
    return Entry(
        *names,
        "body",
        view.shown(view.page(item)),
        item.context,
        item.first_line,
        item.anchor,
        item.total_lines,
        notes=item.notes,
    )


def with_note(entries: list[Entry], view: View) -> list[Entry]:
    """Return entries with the note of the view, if it has one, as the last."""
    return [*entries, Entry(None, "", "", "note", view.note)] if view.note else entries

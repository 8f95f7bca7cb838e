"""What the formats for programs say of a hit or a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from qmd.cli.render.view import View, address, skipped_because

if TYPE_CHECKING:
    from qmd.engine.documents.pages import Page, Skipped
    from qmd.types import Anchor, Hit, Snippet
    from qmd.types.sessions import AgentSession
    from qmd.types.states import DocumentState


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
    pinned: bool = False
    state: DocumentState | None = None
    also: tuple[str, ...] = ()
    passages: tuple[Snippet, ...] = ()
    similar_to: Snippet | None = None
    explain: Mapping[str, Any] | None = None
    session: AgentSession | None = None

    @property
    def state_line(self) -> str | None:
        return None if self.state is None else self.state.line

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
        pinned=hit.pinned,
        state=_state(hit.state),
        also=tuple(map(address, hit.also)),
        passages=hit.passages if len(hit.passages) > 1 and not view.full else (),
        similar_to=hit.similar_to,
        explain=hit.explain if view.explain else None,
        session=hit.session,
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
        state=_state(item.state),
        session=item.session,
    )


def _state(state: DocumentState) -> DocumentState | None:
    return None if state.is_current else state


def with_note(entries: list[Entry], view: View) -> list[Entry]:
    """Return entries with the note of the view, if it has one, as the last."""
    return [*entries, Entry(None, "", "", "note", view.note)] if view.note else entries

"""`models`: which model each role uses, and whether it is here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from qmd.cli.command import Command
from qmd.cli.options import FORMATS, chosen_format, format_options
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import human_size
from qmd.cli.terminal import one_line, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.engine.models import ModelUse

_IN_WORDS = {
    "ready": "ready",
    "remote": "on a server",
    "unprepared": "here, prepared at its first use",
    "damaged": "damaged",
    "missing": "not here",
    "unsupported": "cannot be used",
    "unknown": "not known",
    "none": "no model set",
}


@click.command(cls=Command)
@format_options(*FORMATS)
@pass_session
def models(session: Session) -> None:
    """Show which model each role uses, where it comes from, and whether it is here.

    Roles: embed makes vectors, rerank judges the best candidates of a query, expand rewrites queries.

    \b
    Examples:
      qmd models
      qmd models --json
    """
    from qmd.cli.render.rows import Column, Listing
    from qmd.cli.show import show_listing

    found = session.index.models()
    shown = (
        Column("role"),
        Column("name", "Model", lambda name: name or "-"),
        Column("condition", "State", _IN_WORDS.__getitem__),
        Column("size", shown=lambda size: human_size(size) if size else "", right=True),
        Column("license", "Licence"),
        Column("source"),
        *(
            Column(name, for_people=False)
            for name in ("setting", "languages", "dimension", "window", "files", "reason", "hint")
        ),
    )
    show_listing(Listing("models", "model", shown, [_row(each) for each in found], names=("role", "name")))
    if chosen_format() == "cli":
        for line in _explained(found):
            say(line)


def _row(use: ModelUse) -> dict[str, Any]:
    card, here = use.card, use.installation
    return {
        "role": use.role,
        "name": use.name,
        "condition": use.condition,
        "size": here.size if here else 0,
        "license": card.license if card else None,
        "source": card.source if card else None,
        "setting": use.setting,
        "languages": card.languages if card else None,
        "dimension": (card.dimension or None) if card else None,
        "window": card.window if card else None,
        "files": list(here.files) if here else [],
        "reason": here.reason if here else None,
        "hint": here.hint if here else None,
    }


def _explained(found: Sequence[ModelUse]) -> list[str]:
    """What the table leaves open: files that two roles share, and what is not as it should be."""
    lines: dict[str, str] = {}
    owners: dict[tuple[str, ...], str] = {}
    for use in found:
        here = use.installation
        if here is None:
            continue
        owner = owners.setdefault(here.files, use.role)
        shared = here.files and owner != use.role
        if here.reason and here.condition != "unprepared" and not (shared and here.condition == "ready"):
            hint = f" ({one_line(here.hint)})" if here.hint else ""
            lines[use.role] = f"{use.role}: {one_line(here.reason)}{hint}"
        elif shared:
            lines[use.role] = f"{use.role} uses the files of {owner}: they are on the disk once."
    return ["", *lines.values()] if lines else []

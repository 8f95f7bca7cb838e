"""`status`: what is indexed, where it lies, and which models it uses."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from qmd.cli.command import Command
from qmd.cli.options import json_option
from qmd.cli.session import Session, pass_session
from qmd.cli.show import show_json
from qmd.cli.sizes import human_size, local_time
from qmd.cli.terminal import BOLD, clean_name, columns, has_colours, one_line, say, styled
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.engine.upkeep.status import CollectionStatus, Status, VectorsStatus


@click.command(cls=Command)
@json_option
@pass_session
def status(session: Session, as_json: bool) -> None:
    """Show what is indexed and when, what is not embedded yet, and which models are used.

    \b
    Examples:
      qmd status
      qmd status --json
    """
    found = session.index.status()
    if as_json:
        show_json(_as_json(found))
        return
    told = session.index.notes
    notes = [("Note:", one_line(note)) for note in found.notes if note not in told]
    rows = [*_summary(found), *notes]
    for line in columns([(label, session.addressed(text)) for label, text in rows]):
        say(line)
    colours = has_colours(sys.stdout)
    say()
    say(f"Collections ({len(found.collections)}):" if found.collections else "No collections yet.")
    if not found.collections:
        say(session.addressed("Add one with: qmd collection add PATH"))
    for each in found.collections:
        name = clean_name(each.name)
        note = "" if each.include_by_default else "  [searched only when named]"
        say(f"\n  {styled(name, BOLD) if colours else name}  qmd://{name}/{note}")
        for line in columns(_collection(each)):
            say(f"    {line}")


def _summary(found: Status) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = [
        ("Index:", _place(found)),
        ("Config:", clean_name(found.config)),
        ("Documents:", f"{found.total_documents:,}"),
        ("Updated:", local_time(found.last_updated) if found.last_updated else "never"),
    ]
    vectors = [_vectors(each) for each in found.vectors]
    if not any(each.current for each in found.vectors):
        vectors.insert(0, "none")
    rows += [("Vectors:" if at == 0 else "", line) for at, line in enumerate(vectors)]
    if found.needs_embedding:
        pending = plural(found.needs_embedding, "text")
        others = any(each.current and not each.configured for each in found.vectors)
        lacking = "vectors by the model that is set" if others else "vectors"
        rows.append(("Pending:", f"{pending} without {lacking}: run 'qmd embed'"))
    for at, (role, name) in enumerate(found.models):
        rows.append(("Models:" if at == 0 else "", f"{role}: {clean_name(name)}"))
    rows.append(("Ranking:", found.ranking))
    return rows


def _vectors(each: VectorsStatus) -> str:
    made = f"{plural(each.chunks, 'chunk')} by {clean_name(each.model)}"
    if each.current and each.configured:
        return made
    if each.current:
        return f"{made}, used until 'qmd embed' has made all by the model that is set"
    if each.configured:
        return f"{made}, not used yet: {int(100 * each.share)}% of the texts"
    return f"{made}, made for other settings: not used"


def _collection(each: CollectionStatus) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("Path:", clean_name(each.path)),
        ("Pattern:", clean_name(each.pattern)),
        ("Files:", f"{each.documents:,} ({human_size(each.bytes)})"),
        ("Updated:", local_time(each.last_updated) if each.last_updated else "never"),
    ]
    if each.contexts:
        rows.append(("Contexts:", str(each.contexts)))
    return rows


def _as_json(found: Status) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(found) | {"models": dict(found.models)}


def _place(found: Status) -> str:
    """The index, with its size where that is known: a server's disk is its own."""
    if not found.size and "://" in found.index:
        return clean_name(found.index)
    return f"{clean_name(found.index)} ({human_size(found.size) if found.size else 'not made yet'})"

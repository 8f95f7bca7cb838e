"""`status`: the state of the index and its models."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from qmd.cli.command import command
from qmd.cli.options import json_option
from qmd.cli.session import Session
from qmd.cli.show import show_json
from qmd.cli.sizes import human_size, local_time
from qmd.cli.terminal import BOLD, clean_name, columns, one_line, painted, say
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.engine.upkeep.status import CollectionStatus, Status, VectorsStatus


@command()
@json_option
def status(session: Session, as_json: bool) -> None:
    """Show the size and age of the index, texts without vectors, and the models in use.

    \b
    Examples:
      qmd status
      qmd status --json
    """
    status = session.index.status()
    if as_json:
        show_json(asdict(status) | {"models": dict(status.models)})
        return
    shown = session.index.notes
    notes = [("Note:", one_line(note)) for note in status.notes if note not in shown]
    rows = [*_summary(status), *notes]
    say(*columns([(label, session.addressed(text)) for label, text in rows]), "")
    if status.collections:
        say(f"Collections ({len(status.collections)}):")
    else:
        say("No collections yet.", session.addressed("Add one with: qmd collection add PATH"))
    for each in status.collections:
        name = clean_name(each.name)
        note = "" if each.include_by_default else "  [searched only when named]"
        lines = (f"    {line}" for line in columns(_collection(each)))
        say("", f"  {painted(name, BOLD)}  qmd://{name}/{note}", *lines)


def _summary(status: Status) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = [
        ("Index:", _place(status)),
        ("Config:", clean_name(status.config)),
        ("Documents:", f"{status.total_documents:,}"),
        ("Updated:", local_time(status.last_updated) if status.last_updated else "never"),
    ]
    vectors = [_vectors(each) for each in status.vectors]
    if not any(each.current for each in status.vectors):
        vectors.insert(0, "none")
    rows += [("Vectors:" if at == 0 else "", line) for at, line in enumerate(vectors)]
    if status.needs_embedding:
        pending = plural(status.needs_embedding, "text")
        others = any(each.current and not each.configured for each in status.vectors)
        missing = "vectors by the configured model" if others else "vectors"
        rows.append(("Pending:", f"{pending} without {missing}: run 'qmd embed'"))
    for at, (role, name) in enumerate(status.models):
        rows.append(("Models:" if at == 0 else "", f"{role}: {clean_name(name)}"))
    rows.append(("Ranking:", status.ranking))
    return rows


def _vectors(vectors: VectorsStatus) -> str:
    made = f"{plural(vectors.chunks, 'chunk')} by {clean_name(vectors.model)}"
    if vectors.current and vectors.configured:
        return made
    if vectors.current:
        return f"{made}, used until 'qmd embed' has made all vectors by the configured model"
    if vectors.configured:
        return f"{made}, not used yet: {int(100 * vectors.share)}% of the texts"
    return f"{made}, made for other settings: not used"


def _collection(collection: CollectionStatus) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("Path:", clean_name(collection.path)),
        ("Pattern:", clean_name(collection.pattern)),
        ("Files:", f"{collection.documents:,} ({human_size(collection.bytes)})"),
        ("Updated:", local_time(collection.last_updated) if collection.last_updated else "never"),
    ]
    if collection.contexts:
        rows.append(("Contexts:", str(collection.contexts)))
    return rows


def _place(status: Status) -> str:
    """Return the location of the index, with its size unless it is on a server."""
    if not status.size and "://" in status.index:
        return clean_name(status.index)
    return f"{clean_name(status.index)} ({human_size(status.size) if status.size else 'not created yet'})"

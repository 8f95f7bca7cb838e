"""`models`: which model each role uses, and whether it is here; `export` and `import` carry them about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from qmd.cli.command import Group, fail
from qmd.cli.errors import Interrupted
from qmd.cli.options import all_formats, chosen_format
from qmd.cli.progress import Bar
from qmd.cli.render.rows import Column, Listing
from qmd.cli.session import Session, pass_session
from qmd.cli.show import show_listing
from qmd.cli.sizes import human_size
from qmd.cli.terminal import clean_name, one_line, say
from qmd.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.engine.models.usage import ModelUse
    from qmd.models.bundle import BundledModel
    from qmd.models.downloads import OnBytes

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


@click.group("models", cls=Group, subcommand_metavar="[COMMAND ...]")
@all_formats
@click.pass_context
def models(ctx: click.Context) -> None:
    """Show which model each role uses, where it comes from, and whether it is here.

    ModelProvider: embed makes vectors, rerank judges the best candidates of a query, expand rewrites queries.

    \b
    Examples:
      qmd models
      qmd models --json
      qmd models export models.tar
    """
    if ctx.invoked_subcommand is None:
        _show(ctx.ensure_object(Session))
    elif chosen_format() != "cli":
        fail(f"a format stands for 'qmd models' alone, not for '{ctx.invoked_subcommand}'")


@models.command("export")
@click.argument("file", metavar="FILE")
@click.argument("names", nargs=-1, metavar="[ROLE|MODEL]...")
@pass_session
def export(session: Session, file: str, names: tuple[str, ...]) -> None:
    """Put models that were fetched into one FILE, to take to a machine without a network.

    Without a name, those that the configuration names. FILE is a plain tar archive with the models as they
    lie in the cache, and a list of their sizes, checksums and licences.

    \b
    Examples:
      qmd models export models.tar
      qmd models export models.tar embed rerank
      qmd models export models.tar embeddinggemma-300M-Q8_0
    """
    opened = session.index
    with Bar("Exporting", quiet=session.quiet) as bar:
        entries = opened.export_models(file, names, on_bytes=_shown(bar))
    for entry in entries:
        say(f"{clean_name(entry.name)} ({human_size(entry.size)}, SHA-256 {entry.sha256[:12]})")
        _note_licence(session, entry)
    say(f"Exported {plural(len(entries), 'model')} to {clean_name(file)}")


@models.command("import")
@click.argument("file", metavar="FILE")
@pass_session
def import_(session: Session, file: str) -> None:
    """Take models from a FILE that 'qmd models export' made, as if they had been fetched.

    Each one is proven by its checksum before it counts. Those that are here already are left as they are, so
    an interrupted import goes on where it was.

    \b
    Examples:
      qmd models import models.tar
    """
    opened = session.index
    try:
        with Bar("Importing", quiet=session.quiet) as bar:
            found = opened.import_models(file, on_bytes=_shown(bar))
    except KeyboardInterrupt as error:
        raise Interrupted("Interrupted. Whole models are kept; run the command again to go on.") from error
    for each in found:
        name, where = clean_name(each.entry.name), clean_name(str(each.path))
        if not each.fresh:
            say(f"{name} is here already: {where}")
            continue
        proof = f"SHA-256 {each.entry.sha256[:12]}"
        say(f"Imported {name} ({human_size(each.entry.size)}, {proof}): {where}")
        _note_licence(session, each.entry)


def _shown(bar: Bar) -> OnBytes:
    def on_bytes(done: int, total: int | None) -> None:
        bar.update(done, total, f"{human_size(done)} of {human_size(total or 0)}")

    return on_bytes


def _note_licence(session: Session, entry: BundledModel) -> None:
    if entry.license:
        session.note(f"{clean_name(entry.name)}: licence {one_line(entry.license)}")


def _show(session: Session) -> None:

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

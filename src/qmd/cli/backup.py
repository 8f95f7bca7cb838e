"""`backup` and `restore`: an index and its configuration in one file, and back from there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from qmd.cli.command import Command
from qmd.cli.progress import Bar
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import counted, human_size, local_time
from qmd.cli.terminal import one_line, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from qmd.engine.upkeep.backup import Backup

#: Copying that takes no longer is not worth a bar, in seconds.
_PATIENCE = 1.0


@click.command(cls=Command)
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@click.option("-f", "--force", is_flag=True, help="Replace the file where there is one.")
@pass_session
def backup(session: Session, file: str | None, force: bool) -> None:
    """Copy the index and its index.yml to one file, while others go on using them.

    Without FILE, or where that is a folder, the file is called qmd-NAME-DATE-TIME.sqlite. It is checked
    before it gets its name. The text of your notes is in it, so only you may read it.

    \b
    Examples:
      qmd backup
      qmd backup /mnt/backups/
      qmd backup --force notes.sqlite
    """
    session.folder()
    with Bar("Copying", quiet=session.quiet) as bar:
        made = session.index.backup(file, force=force, on_pages=_shown(bar))
    say(f"{one_line(made.path)}: {_held(made)}, {human_size(made.size)}.")


@click.command(cls=Command)
@click.argument("file", type=click.Path(), metavar="FILE")
@click.option("--config", is_flag=True, help="Restore index.yml too where there is one.")
@click.option("-f", "--force", is_flag=True, help="Replace a file that cannot be told for an index.")
@pass_session
def restore(session: Session, file: str, config: bool, force: bool) -> None:
    """Make the index what a backup holds.

    The file is checked before anything changes. The index as it was is kept beside the restored one, and can
    be restored itself. index.yml is restored where it is missing, or with --config.

    \b
    Examples:
      qmd restore qmd-index-20261122-081500.sqlite
      qmd restore --config notes.sqlite
      qmd --index work restore work.sqlite
    """
    from qmd.engine.upkeep.backup import restore

    session.folder()
    with Bar("Restoring", quiet=session.quiet) as bar:
        done = restore(
            session.index_name, file, store=session.store, config=config, force=force, on_pages=_shown(bar)
        )
    since = f", as of {local_time(done.backup.created)}" if done.backup.created else ""
    say(f"Restored {one_line(done.index)}: {_held(done.backup)}{since}.")
    if done.config:
        say(f"Restored {one_line(done.config)}.")
    for path in done.replaced:
        session.note(f"what was there is kept as {path}")
    for note in done.notes:
        session.note(note)
    session.note("'qmd update' finds what has changed in your files since")


def _shown(bar: Bar) -> Callable[[int, int], None]:
    """Draws how far the copying is, once it takes long."""
    began = time.monotonic()

    def on_pages(done: int, total: int) -> None:
        if time.monotonic() - began >= _PATIENCE:
            bar.update(done, total, "pages")

    return on_pages


def _held(made: Backup) -> str:
    parts = [counted(made.documents, "document"), f"{made.vectors:,} vectors"]
    return ", ".join([*parts, "index.yml"] if made.config else parts)

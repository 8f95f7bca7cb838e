"""`backup` and `restore`: the index and its configuration in one file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from qmd.cli.command import Command
from qmd.cli.progress import Bar
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import human_size, local_time
from qmd.cli.terminal import one_line, say
from qmd.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from qmd.engine.upkeep.backup import Backup

#: Seconds before a progress bar is shown.
_BAR_DELAY = 1.0


@click.command(cls=Command)
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@click.option("-f", "--force", is_flag=True, help="Replace an existing file.")
@pass_session
def backup(session: Session, file: str | None, force: bool) -> None:
    """Copy the index and its index.yml to one file. The index can be used meanwhile.

    If FILE is missing or a folder, the file is named qmd-NAME-DATE-TIME.sqlite. The copy is checked before it
    gets its name. Only you can read it, because it contains the text of your documents.

    \b
    Examples:
      qmd backup
      qmd backup /mnt/backups/
      qmd backup --force notes.sqlite
    """
    session.folder()
    with Bar("Copying", quiet=session.quiet) as bar:
        made = session.index.backup(file, force=force, on_pages=_drawing(bar))
    say(f"{one_line(made.path)}: {_contents(made)}, {human_size(made.size)}.")


@click.command(cls=Command)
@click.argument("file", type=click.Path(), metavar="FILE")
@click.option("--config", is_flag=True, help="Also replace an existing index.yml.")
@click.option("-f", "--force", is_flag=True, help="Replace a file that is not recognised as an index.")
@pass_session
def restore(session: Session, file: str, config: bool, force: bool) -> None:
    """Replace the index with a backup.

    The backup is checked first. The old index stays next to the restored one, and can be restored too.
    index.yml is restored if it is missing, or with --config.

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
            session.index_name, file, store=session.store, config=config, force=force, on_pages=_drawing(bar)
        )
    since = f", as of {local_time(done.backup.created)}" if done.backup.created else ""
    say(f"Restored {one_line(done.index)}: {_contents(done.backup)}{since}.")
    if done.config:
        say(f"Restored {one_line(done.config)}.")
    for path in done.replaced:
        session.note(f"the old file is now {path}")
    for note in done.notes:
        session.note(note)
    session.note("run 'qmd update' to find files that have changed since")


def _drawing(bar: Bar) -> Callable[[int, int], None]:
    """Return a callback that draws the progress of copying if it takes long."""
    start = time.monotonic()

    def on_pages(done: int, total: int) -> None:
        if time.monotonic() - start >= _BAR_DELAY:
            bar.update(done, total, "pages")

    return on_pages


def _contents(made: Backup) -> str:
    parts = [plural(made.documents, "document"), f"{made.vectors:,} vectors"]
    return ", ".join([*parts, "index.yml"] if made.config else parts)

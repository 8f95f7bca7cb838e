"""`index`, `update` and `embed`: bring the index up to date."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from qmd.cli.command import Command
from qmd.cli.errors import Interrupted, show_error
from qmd.cli.options import collection_option
from qmd.cli.progress import Bar
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import duration, time_left
from qmd.cli.terminal import clean_name, is_terminal, one_line, say, write
from qmd.errors import AlreadyRunningError, QmdError
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.engine.embedding.batches import EmbedProgress
    from qmd.engine.indexing.scan import ScanReport

#: The most problems shown for a collection; the rest is only counted.
_PROBLEMS = 10


@click.command(cls=Command)
@collection_option("Scan only this collection (may be repeated).")
@pass_session
def index(session: Session, collections: tuple[str, ...]) -> None:
    """Scan all collections for new, changed and deleted files.

    \b
    Examples:
      qmd index
      qmd index -c notes
    """
    _scan(session, collections, pull=False, commands=False)


@click.command(cls=Command)
@click.option("--pull", is_flag=True, help="First run 'git pull --ff-only' in folders under git.")
@click.option("--allow-empty", is_flag=True, help="Remove documents even if a mistake may explain it.")
@collection_option("Update only this collection (may be repeated).")
@pass_session
def update(session: Session, pull: bool, allow_empty: bool, collections: tuple[str, ...]) -> None:
    """Run the collections' update commands, then scan for new, changed and deleted files.

    Documents are not removed if a folder is suddenly empty or was replaced by another one (a drive that is
    not mounted), or if index.yml names no collections or belongs to another index. To remove them
    nevertheless, add --allow-empty.

    \b
    Examples:
      qmd update
      qmd update --pull
      qmd update -c notes --allow-empty
    """
    _scan(session, collections, pull=pull, commands=True, allow_empty=allow_empty)


@click.command(cls=Command)
@click.option("-f", "--force", is_flag=True, help="Make all vectors again.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Use N processes.",
)
@collection_option("Embed only this collection (may be repeated).")
@pass_session
def embed(session: Session, force: bool, workers: int, collections: tuple[str, ...]) -> None:
    """Make the vectors that vsearch and query need, for texts without vectors.

    You can interrupt it: the next run continues from there. After a change of model, searches use the old
    vectors until every text has new ones.

    \b
    Examples:
      qmd embed
      qmd embed -c notes
      qmd embed --force
    """
    try:
        index = session.index  # it may ask for approval: open it before the bar is drawn
        with Bar("Embedding", quiet=session.quiet) as bar:
            bar.update(0, None)

            def on_progress(progress: EmbedProgress) -> None:
                bar.update(progress.chunks_done, progress.chunks_total, time_left(progress.seconds_left))

            report = index.embed(collections, force=force, workers=workers, on_progress=on_progress)
    except AlreadyRunningError as error:
        # Not a failure, because the other process does the work.
        session.note(f"{error.message}: it does the work, so this command ends")
        return
    except KeyboardInterrupt as error:
        raise Interrupted("Interrupted. Finished vectors are saved; run 'qmd embed' to continue.") from error
    if report.texts:
        say(
            f"Embedded {plural(report.texts, 'text')} ({plural(report.chunks, 'chunk')}) "
            f"in {duration(report.seconds)} with {report.model}."
        )
    elif not report.left or collections:
        say("Nothing to embed: every text has its vectors.")
    if report.left and report.still is None and not collections:
        session.note(
            f"{plural(report.left, 'text')} not embedded yet: other workers have them, or they are new"
        )
    if report.lost:
        session.note(f"{plural(report.lost, 'worker')} died; other workers did their work")
    if report.replaced:
        old = clean_name(", ".join(report.replaced))
        say(f"Searches use the new vectors from now on; the vectors by {old} were deleted.")
    if report.still is not None:
        pending = f"{plural(report.left, 'text')} of other collections"
        say(f"Searches still use vectors by {clean_name(report.still)}: {pending} have no new vectors yet.")


def report_lines(report: ScanReport) -> list[str]:
    """Return what a scan did as lines: its notices, then the numbers of files."""
    counts = [
        f"{number:,} {word}"
        for number, word in (
            (report.added, "new"),
            (report.updated, "updated"),
            (report.unchanged, "unchanged"),
            (report.removed, "removed"),
        )
        if number
    ]
    name = clean_name(report.collection)
    lines = [f"{name}: {one_line(notice)}" for notice in report.notices]
    if not (report.error and not counts):
        lines.append(f"{name}: {', '.join(counts) if counts else 'no files'}")
    return lines


def problem_lines(report: ScanReport) -> list[str]:
    """Return the problems of a scan as lines: the first ten, then the number of the others."""
    name = clean_name(report.collection)
    lines = []
    for path, reason in report.problems[:_PROBLEMS]:
        file, text = clean_name(path), one_line(reason)
        lines.append(f"{name}: {text if file in text else f'{file}: {text}'}")
    more = len(report.problems) - _PROBLEMS
    if more > 0:
        lines.append(f"{name}: ... and {more:,} more that could not be read")
    return lines


def _scan(
    session: Session,
    collections: tuple[str, ...],
    *,
    pull: bool,
    commands: bool,
    allow_empty: bool = False,
) -> None:
    failed = changed = False
    if commands:
        session.uses |= {"update"}
    if pull:
        session.uses |= {"pull"}
    index = session.index  # it may ask for approval: open it before the bar is drawn
    with Bar("Scanning", quiet=session.quiet) as bar:

        def on_progress(name: str, done: int, total: int) -> None:
            if done < total:
                bar.update(done, total, label=name)

        def on_report(report: ScanReport) -> None:
            nonlocal failed, changed
            bar.close()
            changed = changed or bool(report.added or report.updated)
            for line in report_lines(report):
                say(line)
            for line in problem_lines(report):
                write(line + "\n", sys.stderr)
            if report.error is not None:
                failed = True
                show_error(report.error, session)

        reports = index.update(
            collections,
            pull=pull,
            commands=commands,
            allow_empty=allow_empty,
            on_progress=on_progress,
            on_report=on_report,
        )
    if not reports:
        say(session.addressed("No collections yet. Add one with: qmd collection add PATH"))
    if changed:
        hint_to_embed(session)
    if failed:
        raise click.exceptions.Exit(1)


def hint_to_embed(session: Session) -> None:
    """Tell a person that new texts have no vectors yet."""
    if session.quiet or not is_terminal(sys.stderr):
        return
    try:
        waiting = session.index.status().needs_embedding
    except QmdError:
        return
    if waiting:
        session.note(f"{plural(waiting, 'text')} without vectors, not found by vsearch yet: run 'qmd embed'")

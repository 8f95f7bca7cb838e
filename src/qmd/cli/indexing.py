"""`index`, `update` and `embed`: bring the index up to date."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from qmd.cli.command import command
from qmd.cli.options import (
    all_formats,
    chosen_format,
    collection_option,
    collections_argument,
    flag,
    json_option,
    option,
    whole,
)
from qmd.cli.progress import Bar
from qmd.cli.session import NO_COLLECTIONS, Session
from qmd.cli.show import show_json, show_listing
from qmd.cli.terminal import clean_name, is_terminal, one_line, say, shell_words, write
from qmd.cli.usage import Exit
from qmd.errors import AlreadyRunningError, CollectionNotFoundError, ModelError, QmdError
from qmd.sources.paths import is_inside
from qmd.text.wording import duration, plural

if TYPE_CHECKING:
    from qmd.engine.embedding.batches import EmbedReport
    from qmd.engine.indexing.scan import ScanReport

#: The most problems shown for a collection without `--failed`; the rest is only counted.
_PROBLEMS = 10


#: What Ctrl-C says while files are read.
INTERRUPTED = "Interrupted. What was read is indexed; run 'qmd update' to continue."
#: The result of a scan in the formats for programs.
_REPORT = (
    *("collection", "added", "updated", "unchanged", "removed", "not_read", "error", "notices"),
    *("problems", "waiting", "seconds"),
)


@command("index")
@collections_argument
@collection_option("Scan only this collection (may be repeated).")
@all_formats
def index(session: Session, names: tuple[str, ...], collections: tuple[str, ...]) -> None:
    """Scan all collections for new, changed and deleted files.

    Examples:
      qmd index
      qmd index notes
    """
    scan(session, (*names, *collections), commands=False)


@command("update")
@collections_argument
@flag("--pull", help="First run 'git pull --ff-only' in folders under git.")
@flag("--allow-empty", help="Remove documents even if a mistake may explain it.")
@flag("--failed", help="Read files again that could not be read, and list all of them, not only ten.")
@flag("--no-embed", help="Do not make vectors.")
@collection_option("Update only this collection (may be repeated).")
@all_formats
def update(
    session: Session,
    names: tuple[str, ...],
    pull: bool,
    allow_empty: bool,
    failed: bool,
    no_embed: bool,
    collections: tuple[str, ...],
) -> None:
    """Run the collections' update commands, scan for new, changed and deleted files, and make vectors.

    Vectors are made for all texts without them, except in collections with 'embed: manual' in index.yml, or
    whose texts would be sent to another machine unless it says 'embed: auto'. You can interrupt that. If no
    model can make them, the rest is done nevertheless.

    Documents are not removed if a folder is suddenly empty or was replaced by another one (a drive that is
    not mounted), or if index.yml names no collections or belongs to another index. To remove them
    nevertheless, add --allow-empty.

    What was indexed of a file that cannot be read any more stays. A file that could not be read is read
    again once it changes, and with --failed; with --debug faults of readers are shown.

    Examples:
      qmd update
      qmd update --pull
      qmd update notes --allow-empty
      qmd update --failed
      qmd update --no-embed
      qmd update --json
    """
    options = {"failed": failed, "pull": pull, "allow_empty": allow_empty, "embed": not no_embed}
    scan(session, (*names, *collections), commands=True, **options)


@command("embed")
@collections_argument
@flag("-f", "--force", help="Make all vectors again.")
@option("--workers N", whole(1, 64), "Use N processes.  [default: 1]", default=1)
@collection_option("Embed only this collection (may be repeated).")
@json_option
def embed(
    session: Session, names: tuple[str, ...], force: bool, workers: int, collections: tuple[str, ...]
) -> None:
    """Make the vectors that vsearch and query need, for texts without vectors.

    You can interrupt it: the next run continues from there. After a change of model, searches use the old
    vectors until every text has new ones.

    Examples:
      qmd embed
      qmd embed notes
      qmd embed --force
    """
    make_vectors(session, (*names, *collections), force=force, workers=workers)


def make_vectors(
    session: Session,
    collections: tuple[str, ...],
    *,
    force: bool = False,
    workers: int = 1,
    asked: bool = True,
) -> None:
    """Embed collections with a progress bar, and show the result.

    If it was not `asked` for by itself, nothing is said if there was nothing to do.
    """
    index = session.index  # it may ask for approval: open it before the bar is drawn
    collections = _existing(session, collections)
    interrupted = "Interrupted. Finished vectors are saved; run 'qmd embed' to continue."
    try:
        with Bar("Embedding", session, interrupted) as bar:
            bar.update(0, None)
            report = index.embed(collections, force=force, workers=workers, on_progress=bar.texts)
    except AlreadyRunningError as error:
        if force or (asked and chosen_format() == "json"):
            raise
        session.note(error.in_one_line())  # not a failure, because the other process was asked
    else:
        if not asked:
            if chosen_format() == "cli" and (report.texts or report.replaced):
                _report_vectors(session, report, True)
        elif chosen_format() == "json":
            show_json(report)
        else:
            _report_vectors(session, report, bool(collections))


def _report_vectors(session: Session, report: EmbedReport, partly: bool) -> None:
    """Show the numbers of embedded texts; `partly` if only some collections were."""
    if report.texts:
        say(
            f"Embedded {plural(report.texts, 'text')} ({plural(report.chunks, 'chunk')}) "
            f"in {duration(report.seconds)} with {report.model}."
        )
    elif not report.left or partly:
        say("Nothing to embed: every text has its vectors.")
    if report.left and report.still is None and not partly:
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


def show_report(report: ScanReport, most: int | None = _PROBLEMS) -> None:
    """Show the result of a scan: its notices, the numbers of files, and up to `most` problems on stderr.

    A terminal also shows how long it took.
    """
    name = clean_name(report.collection)
    numbers = {
        "new": report.added,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "not read": len(report.problems),
    }
    counts = [f"{number:,} {word}" for word, number in numbers.items() if number]
    say(*(f"{name}: {one_line(notice)}" for notice in report.notices))
    if counts or not report.error:
        took = f" in {duration(report.seconds)}" if is_terminal(sys.stdout) else ""
        say(f"{name}: {', '.join(counts) or 'no files'}{took}")
    for line in report.waits():
        write(f"{name}: {line}\n", sys.stderr)
    lines = [problem_line(each) for each in report.problems[:most]]
    if more := len(report.problems) - len(lines):
        lines.append(f"... and {more:,} more that could not be read: 'qmd update --failed' lists all")
    write("".join(f"{name}: {line}\n" for line in lines), sys.stderr)


def problem_line(problem: tuple[str, str], place: str = "") -> str:
    """Return why a file could not be read, in a line that begins with `place` and its path."""
    path, reason = problem
    file, text = clean_name(path), one_line(reason)
    return text if file in text else f"{place}{file}: {text}"


def scan(
    session: Session,
    collections: tuple[str, ...],
    *,
    failed: bool = False,
    embed: bool = False,
    **options: bool,
) -> list[ScanReport]:
    """Update collections with these options of the index, and `embed` them.

    All problems are shown if `failed` is set.
    """
    session.uses |= {"update"} if options["commands"] else set()
    session.uses |= {"pull"} if options.get("pull") else set()
    index = session.index  # it may ask for approval: open it before the bar is drawn
    collections, people = _existing(session, collections), chosen_format() == "cli"
    names = [name for name in index.config.collections if not collections or name in collections]
    with Bar("Scanning", session, INTERRUPTED) as bar:

        def on_report(report: ScanReport) -> None:
            bar.close()
            if people:
                show_report(report, None if failed else _PROBLEMS)
            if session.debug:
                write("".join(report.traces.values()), sys.stderr)
            if report.error is not None:
                from qmd.cli.errors import show_error

                show_error(report.error, session)

        reports = index.update(
            collections, failed=failed, on_progress=bar.files_of(names), on_report=on_report, **options
        )
    if not reports or not people:
        rows = [*map(_row, reports)]
        show_listing("updates", "update", _REPORT, rows, session.addressed(NO_COLLECTIONS))
    if embed:
        make_missing(session, collections)
    elif any(report.added or report.updated for report in reports):
        hint_to_embed(session)
    if any(report.error is not None for report in reports):
        raise Exit(1)
    return reports


def make_missing(session: Session, collections: tuple[str, ...]) -> None:
    """Make the vectors that collections lack; only say so if no model can."""
    try:
        if lacking := session.index.lacking_vectors(collections):
            make_vectors(session, lacking, asked=False)
    except ModelError as error:
        told = error.in_one_line().rstrip(".")
        session.note(f"no vectors were made: {told}; 'qmd update --no-embed' does not try")


def _row(report: ScanReport) -> dict[str, object]:
    """Return the result of a scan as a row for programs."""
    values = {name: getattr(report, name, None) for name in _REPORT}
    return values | {
        "not_read": len(report.problems),
        "problems": [{"path": path, "reason": reason} for path, reason in report.problems],
        "error": None if report.error is None else report.error.in_one_line(),
    }


def _existing(session: Session, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of collections, of which each may be named by its folder too.

    Raises `CollectionNotFoundError` for another folder.
    """
    from qmd.config.validate import nfc

    collections = session.index.config.collections
    return tuple(each if (each := nfc(name)) in collections else _of_folder(session, name) for name in names)


def _of_folder(session: Session, name: str) -> str:
    if found := collections_at(session, name):
        return found[0]
    if not os.path.isdir(_real(session, name)):
        return name
    raise CollectionNotFoundError(
        f"Collection not found: {name}", f"to index this folder: qmd add {shell_words(name)}"
    )


def collections_at(session: Session, folder: str) -> list[str]:
    """Return the names of the collections of a folder."""
    real = _real(session, folder)
    collections = session.index.config.collections.values()
    return [each.name for each in collections if os.path.realpath(each.path) == real]


def collections_above(session: Session, folder: str) -> list[str]:
    """Return the names of the collections whose folders contain a folder."""
    real = _real(session, folder)
    above = ((each.name, os.path.realpath(each.path)) for each in session.index.config.collections.values())
    return [name for name, path in above if path != real and is_inside(real, path)]


def collections_inside(session: Session, folder: str) -> list[str]:
    """Return the names of the collections whose folders are inside a folder."""
    real = _real(session, folder)
    below = ((each.name, os.path.realpath(each.path)) for each in session.index.config.collections.values())
    return [name for name, path in below if path != real and is_inside(path, real)]


def _real(session: Session, folder: str) -> str:
    return os.path.realpath(os.path.join(session.folder(), os.path.expanduser(folder)))


def hint_to_embed(session: Session) -> None:
    """Tell a person that new texts have no vectors yet."""
    if session.quiet or not is_terminal(sys.stderr):
        return
    try:
        waiting = session.index.status().needs_embedding
    except QmdError:
        return
    if waiting:
        todo = "they are being made" if session.is_embedding() else "run 'qmd embed'"
        session.note(f"{plural(waiting, 'text')} without vectors, not found by vsearch yet: {todo}")

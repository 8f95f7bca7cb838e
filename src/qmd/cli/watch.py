"""`watch` and `add`: an index that follows its files."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from qmd.cli import approval
from qmd.cli.collections import adding_options, change, given, index_folder, index_sessions
from qmd.cli.command import command
from qmd.cli.errors import INTERRUPTED
from qmd.cli.indexing import collections_at, make_vectors, problem_line, scan
from qmd.cli.options import flag
from qmd.cli.session import NO_COLLECTIONS, Session
from qmd.cli.terminal import can_ask, clean_name, say, shell_words
from qmd.cli.usage import Exit, fail
from qmd.errors import ConflictError, QmdError
from qmd.processes import python
from qmd.system import lower_priority
from qmd.text.digest import sha256
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.engine.indexing.scan import ScanReport

#: The priority of `qmd watch`, which works in the background.
_NICE = 10


@command()
@flag("--install", help="Run it whenever you are logged in: as a systemd user unit or a launchd agent.")
@flag("--uninstall", help="Stop and remove that service.")
@flag("--dry-run", help="With --install or --uninstall, show what would be done, and change nothing.")
def watch(session: Session, install: bool, uninstall: bool, dry_run: bool) -> None:
    """Keep the index as the files are: index and embed what changes, until you press Ctrl-C.

    Each change is printed as a line. Servers ('qmd server', 'qmd mcp') watch by themselves; of several
    processes one watches, and another takes over when it ends. A collection with 'watch: false' in index.yml
    is left out, one with 'embed: manual' is not embedded.

    Examples:
      qmd watch
      qmd watch --install
      qmd watch --install --dry-run
      qmd watch --uninstall
    """
    if install and uninstall:
        fail("--install and --uninstall at once")
    if dry_run and not (install or uninstall):
        fail("--dry-run needs --install or --uninstall")
    if install or uninstall:
        _change_service(session, install=install, dry_run=dry_run)
    else:
        _watch(session)


_dry_run = flag("--dry-run", help="Show what would be done, and change nothing.")


@command()
@_dry_run
def install(session: Session, dry_run: bool) -> None:
    """Keep the index as the files are whenever you are logged in: by a systemd user unit or a launchd agent.

    The service runs 'qmd watch' for this index.

    Examples:
      qmd server install
      qmd server install --dry-run
    """
    _change_service(session, install=True, dry_run=dry_run)


@command()
@_dry_run
def uninstall(session: Session, dry_run: bool) -> None:
    """Stop and remove the service of 'qmd server install'.

    Example:
      qmd server uninstall
    """
    _change_service(session, install=False, dry_run=dry_run)


@command()
@adding_options
@flag("--no-embed", help="Do not make vectors.")
def add(
    session: Session, /, path: str | None, name: str | None, yes: bool, no_embed: bool, **options: Any
) -> None:
    """Add a folder as a collection, index it and make its vectors: then every search works.

    A running server, or 'qmd watch', keeps it up to date; on a terminal you are asked whether to install the
    latter as a service. A folder that is a collection already is updated; with other options it is changed,
    after you have been asked. Without PATH, the current folder is added, if you say yes.

    Examples:
      qmd add ~/notes
      qmd add ~/code/app --name app --mask '**/*.{md,txt}'
      qmd add ~/notes --formats all --yes
      qmd add --sessions
    """
    if options.pop("sessions"):
        reports = index_sessions(session, path, name, options)
    else:
        reports = _of_folder(session, path, name, options, yes=yes)
    names = tuple(
        report.collection for report in reports if report.added or report.updated or report.unchanged
    )
    if not names:
        return
    if not no_embed:
        make_vectors(session, names)
    _offer_to_watch(session)


def _of_folder(
    session: Session, path: str | None, name: str | None, options: dict[str, Any], *, yes: bool
) -> list[ScanReport]:
    """Add the collection of a folder, change it, or update it if it is there with these options."""
    folder = "." if path is None else path
    present = [each for each in collections_at(session, folder) if name in (None, each)]
    if not present:
        report = index_folder(session, path, name, options, yes=yes)
    elif not given(options):
        for each in present:
            say(f"{clean_name(folder)} is the collection '{clean_name(each)}' already: it is updated.")
        return scan(session, tuple(present), commands=False)
    elif len(present) > 1:
        others = ", ".join(map(clean_name, present))
        raise ConflictError(
            f"{folder} is the folder of several collections: {others}", "name one of them with --name"
        )
    else:
        report = change(session, present[0], None, options, ask=not yes)
    return [] if report is None else [report]


def _offer_to_watch(session: Session) -> None:
    """Offer to install the service, unless the index is watched already."""
    watcher = session.watcher()
    if watcher is not None:
        say(f"{watcher.command} (process {watcher.pid}) keeps it up to date.")
        return
    if can_ask() and not session.quiet:
        question = session.addressed("Keep it up to date in the background ('qmd watch --install')?")
        if approval.confirm(question):
            try:
                _change_service(session, install=True)
            except QmdError as error:
                session.note(error.in_one_line())
            return
    session.note(
        "to keep it up to date, run 'qmd watch', or 'qmd watch --install' to do so in the background"
    )


def _watch(session: Session) -> None:
    from qmd.engine.index_work import IndexWork
    from qmd.engine.watching.watcher import Listener, Watcher

    class Printer(Listener):
        """Prints a line for each change."""

        def changed(self, collection: str, path: str, kind: str) -> None:
            _say_now(f"{kind:<8} {clean_name(collection)}/{clean_name(path)}")

        def scanned(self, report: Any) -> None:
            session.note(*(problem_line(each, f"{report.collection}/") for each in report.problems))

        def embedded(self, report: Any) -> None:
            _say_now(f"embedded {plural(report.texts, 'text')} ({plural(report.chunks, 'chunk')})")

        def noted(self, message: str) -> None:
            session.note(message)

        failed = noted

    index = session.index
    if not index.config.collections:
        session.note(session.addressed(NO_COLLECTIONS))
    lower_priority(_NICE)
    stopped = threading.Event()
    watcher = Watcher(IndexWork(index, stopped.is_set), "qmd watch", Printer())

    interrupted = False

    def stop(number: int, _: object) -> None:
        nonlocal interrupted
        interrupted = number == signal.SIGINT
        stopped.set()
        watcher.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    failures: list[QmdError] = []

    def watch() -> None:
        try:
            watcher.run()
        except QmdError as error:
            failures.append(error)

    thread = threading.Thread(target=watch, name="qmd-watch")
    thread.start()
    session.note("watching; stop with Ctrl-C")
    thread.join()
    if failures:
        raise failures[0]  # a service is started again, with the version that is installed now
    if interrupted:
        raise Exit(INTERRUPTED)


def _say_now(text: str) -> None:
    say(text)
    sys.stdout.flush()


def _change_service(session: Session, *, install: bool, dry_run: bool = False) -> None:
    """Install or remove the service that runs `qmd watch` for this index, or show what would be done."""
    from qmd.server import user_service

    name, label = "qmd-watch", session.label
    if label is not None:
        plain = "".join(
            char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in label
        )
        name += f"-{plain}" if plain == label else f"-{plain}-{sha256(label.encode())[:8]}"
    words = python("qmd", *session.options(), "watch")
    item = user_service.service(name, words, session.project, os.environ)
    file = clean_name(item.file)
    if dry_run:
        heading = file if install else f"would be removed: {file}"
        content = item.content.decode().splitlines() if install else []
        commands = (f"$ {shell_words(*words)}" for words in (item.start if install else item.stop))
        say(f"# {heading}", *content, "", *commands)
    elif install:
        changed = user_service.install(item)
        say(f"{'Installed' if changed else 'Already installed:'} {item.name} ({file}).")
        session.note("it runs while you are logged in; remove it with 'qmd watch --uninstall'")
    else:
        removed = user_service.uninstall(item)
        say(f"Removed {item.name} ({file})." if removed else f"{item.name} is not installed.")

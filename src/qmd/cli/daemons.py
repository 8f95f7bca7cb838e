"""Servers in the background: start and stop them, and name their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from qmd.cli.options import Decorated, flag
from qmd.cli.session import Session
from qmd.cli.terminal import say
from qmd.processes import python

if TYPE_CHECKING:
    from qmd.server.daemon import Daemon


def daemon_option(name: str) -> Callable[[Decorated], Decorated]:
    return flag("--daemon", help=f"Serve in the background; stop it with 'qmd {name} stop'.")


def start_daemon(session: Session, name: str, arguments: Sequence[str]) -> None:
    """Start the command `name` in the background, with `arguments` and the global options of this run.

    With `--replace`, a daemon of the same index is stopped first.
    """
    command = python("qmd", name, *arguments, *session.options())
    daemon = _daemon(session, name)
    if "--replace" in arguments:
        daemon.stop()
    say(f"{daemon.start(command)} (in the background, process {daemon.running()})")
    session.note(f"stop it with 'qmd {name} stop'; its log is {daemon.log}")


def stop_daemon(session: Session, name: str, title: str) -> None:
    """Stop the daemon that the command `name` started. `title` is what messages call it."""
    pid = _daemon(session, name).stop()
    nothing = f"No {title} is running in the background."
    say(nothing if pid is None else f"Stopped the {title} (process {pid}).")


def _daemon(session: Session, name: str) -> Daemon:
    from qmd.server.daemon import Daemon

    path = state_path(session, name)
    return Daemon(f"{path}.pid", f"{path}.log")


def state_path(session: Session, name: str) -> str:
    """Return the path, without its extension, of the cache files that a server of this index keeps."""
    from qmd.config.paths import cache_dir

    label = session.label
    return os.path.join(cache_dir(os.environ), name if label is None else f"{name}-{label}")

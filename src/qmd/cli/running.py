"""Run a command in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from qmd.cli.app import app, command_of
from qmd.cli.command import Command, Group
from qmd.cli.commands import WITH_INDEX_FILE
from qmd.cli.help import show_help
from qmd.cli.late_modules import import_msgspec
from qmd.cli.little_memory import Guard
from qmd.cli.reading import read
from qmd.cli.session import Session
from qmd.cli.terminal import finish
from qmd.cli.usage import Exit, MisuseError
from qmd.errors import TimedOutError


def run(session: Session, act: Callable[[], None]) -> int:
    """Run one command, show its error if it fails, and return its exit code."""
    try:
        act()
        finish()
        return 0
    except Exit as done:
        return done.exit_code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost handler
        from qmd.cli.errors import show

        if isinstance(error, KeyboardInterrupt | TimedOutError):
            session.abandoned = True
        return show(error, session)
    finally:
        session.close()
        with suppress(OSError):
            finish()


def run_here(words: list[str], refusal: str, began: float) -> int:
    """Run the command that the words name, because no server did, for the reason `refusal`.

    `began` is the time when the program was started.
    """
    session = Session()
    session.refusal, session.began = refusal, began
    if Guard not in sys.meta_path:
        sys.meta_path.insert(0, Guard)
    return run(session, partial(act, words, session))


def act(words: list[str], session: Session, top: Group = app) -> None:
    """Run the command that the words name, of those below `top`."""
    # An error in the words is found before anything is done.
    call = understood(words, session, top)
    import_msgspec()
    call()


def understood(words: Sequence[str], session: Session, top: Group = app) -> Callable[[], None]:
    """Return the call of the command that the words name, and put its global options into the session.

    Raises:
        MisuseError: If the words are wrong.
        Exit: If they ask for the help, which was shown.
    """
    found: Any = top
    path, left = "qmd", [*words]
    while isinstance(found, Group):
        given = left
        values, left = read(found, path, left, session)
        if found.acts_alone and (found is not top or not left):
            _require_permitted(found, path, session)
        if found.acts_alone and not found.runs:
            values["subcommand"] = left[0] if left else None
        if not left:
            return (
                partial(found.run, session, **values) if found.acts_alone else partial(show_help, found, path)
            )
        if found.otherwise is not None and found.find(found.divided(left)[0]) is None:
            found, left = found.otherwise, given
            break
        below, path, left = command_of(found, path, left)
        if found.acts_alone and not found.runs:
            found.run(session, **values)
        found = below
    if not isinstance(found, Command):
        from qmd.cli.foreign import run_foreign

        session.path = path
        _require_permitted(found, path, session)
        return partial(run_foreign, found, path, left, session)
    values, left = read(found, path, left, session)
    if left:
        told = f"got unexpected extra argument{'s' * (len(left) > 1)} ({' '.join(left)})"
        raise MisuseError(told, cause="surplus")
    _require_permitted(found, path, session)
    return partial(found.run, session, **values)


def _require_permitted(found: Any, path: str, session: Session) -> None:
    """Raise `MisuseError` if a command is not for agents, or not for the index file that is named."""
    if session.for_agent and not getattr(found, "agents", False):
        raise MisuseError("agents may not run this command: ask the user", path="")
    if session.portable_file is None:
        return
    if session.index_name is not None or session.store is not None:
        raise MisuseError("--index-file goes without --index and --store")
    name = path.removeprefix("qmd ")
    if name not in WITH_INDEX_FILE:
        raise MisuseError(f"'{name}' cannot be used with --index-file: the file is only read")

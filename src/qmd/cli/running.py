"""Run a command in this process: the small parser reads its words, or click if they are not for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

from qmd.cli import parser
from qmd.cli.commands import LOADABLE, WITH_INDEX_FILE, WITHIN
from qmd.cli.definition import Definition
from qmd.cli.options import choose_format
from qmd.cli.parameters import GLOBAL
from qmd.cli.session import Called, Session
from qmd.cli.terminal import finish
from qmd.cli.usage import Exit, MisuseError
from qmd.errors import TimedOutError

if TYPE_CHECKING:
    from types import ModuleType


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
    return run(session, partial(act, words, session))


def act(words: list[str], session: Session) -> None:
    """Run the command that the words name."""
    # An error in the arguments is found before anything is done. click finds it again, and explains it.
    with suppress(parser.UnclearError, MisuseError):
        call = understood(words, session)
        _import_msgspec()
        call()
        return
    app = import_module("qmd.cli.app")
    app.act(app.app, words, session)


def _import_msgspec() -> None:
    """Import msgspec without typing_extensions, which takes half of the time of that.

    msgspec uses it if it is installed. In every Python that runs this program, `typing` has all that it uses.
    """
    if sys.modules.keys().isdisjoint({"msgspec", "typing_extensions"}):
        sys.modules["typing_extensions"] = cast("ModuleType", None)  # importing it fails
        try:
            import msgspec  # noqa: F401
        finally:
            del sys.modules["typing_extensions"]


def understood(words: Sequence[str], session: Session) -> Callable[[], None]:
    """Return the call of the command that the words name, and put its global options into the session.

    Raises `UnclearError` if click must read the words, and `MisuseError` for a wrong value.
    """
    before, others = parser.read(GLOBAL, words, before_command=True)
    name, *rest = others or [""]
    if rest and f"{name} {rest[0]}" in WITHIN:
        name, *rest = f"{name} {rest[0]}", *rest[1:]
    command = LOADABLE.load(name) if name in LOADABLE.builtin else None
    if not isinstance(command, Definition):
        raise parser.UnclearError(name)
    found, others = parser.read((*GLOBAL, *command.parameters), rest)
    arguments = parser.arguments_of(command.parameters, found, others)
    session.called = Called(f"qmd {name}", tuple(rest), command.if_unknown)
    for given in (before, found):
        # Of an option that is repeated, the last value counts, also if that is empty.
        last = {option.to: value for option, value in given if option.goes == "session"}
        for to, value in last.items():
            session.take(to, value)
    for option, value in found:
        if option.goes == "format":
            choose_format(option.to, value)
    named = session.index_name is not None or session.store is not None
    if session.portable_file is not None and (named or name not in WITH_INDEX_FILE):
        raise parser.UnclearError(name)
    return partial(command.function, session, **arguments)

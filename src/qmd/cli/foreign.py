"""Commands of other packages that are those of click: they read their words themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.cli.command import Command
from qmd.cli.usage import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.cli.session import Session

#: The classes of commands that packages may have.
KINDS: tuple[type, ...] = (Command,)
try:
    from click import Command as ClickCommand
except ImportError:
    pass
else:
    KINDS += (ClickCommand,)


def run_foreign(command: Any, path: str, words: Sequence[str], session: Session) -> None:
    """Run a command of click. It gets the session as its object."""
    from click.exceptions import Exit as Done

    try:
        with command.make_context(path, [*words], obj=session) as context:
            command.invoke(context)
    except Done as done:
        raise Exit(done.exit_code) from None

"""The row of `pick`, and what `qmd` alone shows on a terminal."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from qmd.cli import options
from qmd.cli.command import command
from qmd.cli.session import Session
from qmd.cli.terminal import can_ask, takes_escapes


@command("pick", runs="qmd.features.picker.picking:pick")
@options.argument("text", "[QUERY...]", "typed")
@options.collection_option("Search only this collection (may be repeated).")
def pick() -> None:
    """Search while you type, look at the passages, and open one.

    Tab changes what is searched: words, meaning, or both. Up and Down choose a result, whose passage is shown
    beside it, and Page Up and Page Down move in its text. Right takes the filter that is offered, such as
    tag:work. Enter opens the document at the passage: in $VISUAL or $EDITOR, or else as editor_uri says.
    Ctrl-Y copies the address, Ctrl-O opens the web page, Esc ends. If the output is a pipe, Enter prints the
    address there instead. Without a query, the documents that changed last are listed.

    Examples:
      qmd pick
      qmd pick rollback tag:work
      qmd get $(qmd pick)
    """


def home(session: Session) -> bool:
    """Show the picker in place of a list, if its packages are installed and somebody can type."""
    if (
        session.for_agent
        or not (can_ask() and takes_escapes(sys.stdout))
        or find_spec("prompt_toolkit") is None
    ):
        return False
    pick.run(session, text=(), collections=())
    return True

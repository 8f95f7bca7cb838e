"""`qmd` alone: on a terminal, what a feature has for that, or the notes that changed last; else the help."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime, timedelta

from qmd.cli.app import app
from qmd.cli.help import show_help
from qmd.cli.session import Session
from qmd.cli.terminal import BOLD, DIM, clean_name, columns, cut, is_terminal, one_line, painted, say
from qmd.plugins import Table

#: The number of notes, and the most columns of a title.
_NOTES, _TITLE = 8, 44
#: Functions that may show something better, and return whether they have.
_HOMES = Table("qmd.home", {}, Callable)


def show(session: Session) -> None:
    """Show the notes that changed last, or how to begin."""
    if not is_terminal(sys.stdout):
        show_help(app, "qmd")
        return
    documents = session.index.recent(_NOTES) if os.path.exists(session.index_file()) else []
    if not documents:
        say(
            session.addressed("Nothing is indexed yet. To index a folder of notes, run 'qmd add ~/notes'."),
            session.addressed(
                "Then search it: 'qmd query \"how do I deploy\"'. 'qmd --help' lists all commands."
            ),
        )
        return
    if any(home(session) for home in _HOMES.parts()):
        return
    today = datetime.now().astimezone()
    rows = [
        (
            cut(one_line(each.title), _TITLE),
            clean_name(each.collection),
            _when(datetime.fromtimestamp(each.modified_ns / 1e9).astimezone(), today),
        )
        for each in documents
    ]
    say(painted("Changed last", BOLD), *(f"  {line}" for line in columns(rows)), "")
    for command, purpose in (
        ('qmd query "how do I deploy"', "search by words and meaning"),
        ("qmd search deploy", "search by words"),
        ("qmd open", "search and read in the browser"),
        ("qmd --help", "list the commands"),
    ):
        say(f"  {session.addressed(command):<32}{painted(purpose, DIM)}")


def _when(time: datetime, now: datetime) -> str:
    """Return a time as people say it: today 14:02."""
    days = (now.date() - time.date()) // timedelta(days=1)
    day = {0: "today", 1: "yesterday"}.get(days, f"{time:%Y-%m-%d}")
    return f"{day} {time:%H:%M}"

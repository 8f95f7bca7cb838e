"""The small parser of often used commands reads words as click does, or leaves them to it."""

from __future__ import annotations

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.cli.app import app
from qmd.cli.commands import LOADABLE
from qmd.cli.console import Console, current, use
from qmd.cli.definition import Definition
from qmd.cli.parameters import GLOBAL
from qmd.cli.parser import UnclearError
from qmd.cli.running import understood
from qmd.cli.session import Session
from qmd.cli.usage import MisuseError

DEFINED = {name: found for name in LOADABLE.builtin if isinstance(found := LOADABLE.load(name), Definition)}
#: Values that some options take, and words that look like options or are none.
VALUES = ("5", "0", "1.5", "30d", "json", "csv", "date", "tuned", "local", "a b", "a=1", "2024-06", "")
ODD = ("--", "-", "---", "-x", "--no", "--help", "-h", "--json=1", "-qn5", "-n=5", "-5", "--lim", "--index")


def words_of(command: Definition) -> st.SearchStrategy[list[str]]:
    names = [name for each in (*GLOBAL, *command.parameters) for name in (*each.names, *each.off)]
    name, value = st.sampled_from(names), st.sampled_from(VALUES)
    joined = st.builds(lambda name, value: f"{name}={value}", name, value)
    attached = st.builds(lambda name, value: name[:2] + value, name, value)
    return st.lists(name | value | joined | attached | st.sampled_from(ODD), max_size=6)


def seen(session: Session) -> dict[str, Any]:
    own = ("index_name", "store", "portable_file", "quiet", "debug")
    values = {name: getattr(session, name) for name in own}
    return {"format": current().format, **values, **vars(session.called)}


def read_by_click(words: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of a command's function and the session, without calling it."""
    use(Console())
    session = Session()
    with app.make_context("qmd", list(words), obj=session) as root:
        name, command, rest = app.resolve_command(root, [*root._protected_args, *root.args])
        assert command is not None
        with command.make_context(name, rest, parent=root) as context:
            return context.params, seen(session)


@pytest.mark.parametrize("name", DEFINED)
@given(data=st.data())
def test_small_parser_agrees_with_click(name: str, data: st.DataObject) -> None:
    command = DEFINED[name]
    before = data.draw(st.sampled_from([[], ["-q"], ["--index", "work"], ["--index=a", "--debug"]]))
    words = [*before, name, *data.draw(words_of(command))]
    use(Console())
    session = Session()
    try:
        call: Any = understood(words, session)
    except (UnclearError, MisuseError):
        return
    mine = call.keywords, seen(session)
    try:
        assert mine == read_by_click(words)
    except click.UsageError as error:
        pytest.fail(f"click refuses {words}: {error.format_message()}")


def test_empty_value_of_a_repeated_option_counts() -> None:
    words = ["update", "--index", "work", "--index="]
    use(Console())
    session = Session()
    understood(words, session)
    assert seen(session) == read_by_click(words)[1]


def test_commands_that_agents_call_most_are_read_without_click() -> None:
    assert {"search", "vsearch", "query", "get", "multi-get", "update"} <= set(DEFINED)

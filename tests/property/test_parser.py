"""The words of a command give the same values however they are written, and wrong ones a clear error."""

from __future__ import annotations

import argparse
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from qmd.cli.command import Command
from qmd.cli.console import Console, current, use
from qmd.cli.parameters import Parameter
from qmd.cli.running import understood
from qmd.cli.session import Session
from qmd.cli.usage import Exit, MisuseError
from tests.edge.cli.test_help import ALL

#: All commands that do not have others below them, by their words.
COMMANDS: dict[tuple[str, ...], Command] = {path: each for path, each in ALL if type(each) is Command}
#: Values that some options take, and words that look like options or are none.
VALUES = ("5", "0", "1.5", "30d", "json", "csv", "date", "tuned", "local", "a b", "a=1", "2024-06", "")
ODD = ("--", "-", "---", "-x", "--no", "--help", "-h", "--json=1", "-qn5", "-n=5", "-5", "--lim", "--index")
BEFORE = ([], ["-q"], ["--index", "work"], ["--index=a", "--debug"])


def words_of(command: Command) -> st.SearchStrategy[list[str]]:
    names = [name for each in (*command.shared, *command.parameters) for name in (*each.names, *each.off)]
    name, value = st.sampled_from(names), st.sampled_from(VALUES)
    joined = st.builds(lambda name, value: f"{name}={value}", name, value)
    attached = st.builds(lambda name, value: name[:2] + value, name, value)
    return st.lists(name | value | joined | attached | st.sampled_from(ODD), max_size=6)


def read(words: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of a command's function, and what the session and the console take."""
    use(Console())
    session = Session()
    call: Any = understood(words, session)
    own = ("index_name", "store", "portable_file", "quiet", "debug")
    values = {name: getattr(session, name) for name in own}
    return call.keywords, {"format": current().format, **values}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
@settings(max_examples=12)  # for each command; all are read by one parser
@given(data=st.data())
def test_any_words_are_read_or_are_a_misuse(path: tuple[str, ...], data: st.DataObject) -> None:
    words = [*data.draw(st.sampled_from(BEFORE)), *path, *data.draw(words_of(COMMANDS[path]))]
    try:
        first = read(words)
    except Exit as done:
        assert done.exit_code == 0
        assert {"-h", "--help"} & {*words} or any(word[:1] == "-" and "h" in word for word in words)
    except MisuseError as error:
        assert str(error)
        assert "\n" not in str(error)
    else:
        assert read(words) == first


def spelled(each: Parameter, value: str | None, way: int) -> list[str]:
    """Return an option in one of the ways to write it."""
    name = each.names[way % len(each.names)]
    if value is None:
        return [name]
    if way % 2 or (not value and not name.startswith("--")):
        return [name, value]
    return [f"{name}={value}" if name.startswith("--") else name + value]


def options_of(command: Command) -> st.SearchStrategy[list[tuple[Parameter, str | None]]]:
    """Return a strategy of options with values that are right."""

    def right(each: Parameter) -> st.SearchStrategy[tuple[Parameter, str | None]]:
        values = (
            [None] if each.flag else [value for value in (*VALUES, "-5", "--x") if _is_right(each, value)]
        )
        return st.tuples(st.just(each), st.sampled_from(values or [None]))

    taken = [each for each in command.parameters if each.names and each.goes != "format"]
    known = [each for each in taken if each.flag or any(_is_right(each, value) for value in VALUES)]
    return st.lists(st.sampled_from(known).flatmap(right), max_size=4) if known else st.just([])


def _is_right(each: Parameter, value: str) -> bool:
    try:
        each.value(value)
    except MisuseError:
        return False
    return True


@pytest.mark.parametrize("path", [path for path in COMMANDS if COMMANDS[path].between], ids=" ".join)
@settings(max_examples=12)  # for each command; all are read by one parser
@given(data=st.data())
def test_options_mean_the_same_wherever_and_however_they_are_written(
    path: tuple[str, ...], data: st.DataObject
) -> None:
    command = COMMANDS[path]
    options = data.draw(options_of(command))
    others = data.draw(st.lists(st.sampled_from(["5", "on", "notes", "bash", "a b"]), max_size=3))
    plain = [word for each, value in options for word in spelled(each, value, 1)]
    ways = data.draw(st.lists(st.integers(0, 5), min_size=len(options), max_size=len(options)))
    pieces = [spelled(each, value, way) for (each, value), way in zip(options, ways, strict=True)]
    # The options keep their order, and so do the other words.
    mixed, left = [], [*others]
    for piece in pieces:
        while left and data.draw(st.booleans()):
            mixed.append(left.pop(0))
        mixed += piece
    try:
        expected = read([*path, *plain, "--", *others])
    except MisuseError as error:
        with pytest.raises(type(error)):
            read([*path, *mixed, *left])
    else:
        assert read([*path, *mixed, *left]) == expected


class Reader(argparse.ArgumentParser):
    """Reads the options of a command by the standard library."""

    def __init__(self, command: Command) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        for each in command.parameters:
            if each.names:
                self._add(each)

    def _add(self, each: Parameter) -> None:
        if each.flag:
            self.add_argument(*each.names, dest=each.to, action="store_true", default=each.default)
            if each.off:
                self.add_argument(*each.off, dest=each.to, action="store_false", default=each.default)
        elif each.multiple:
            self.add_argument(*each.names, dest=each.to, type=each.value, action="append", default=[])
        else:
            self.add_argument(*each.names, dest=each.to, type=each.value, default=each.default)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
@settings(max_examples=12)  # for each command; all are read by one parser
@given(data=st.data())
def test_options_have_the_values_that_argparse_gives_them(path: tuple[str, ...], data: st.DataObject) -> None:
    command = COMMANDS[path]
    options = data.draw(options_of(command))
    words = [word for each, value in options for word in spelled(each, value, 0)]
    others = ["5", "notes", "on", "good"][: sum(not each.names for each in command.parameters)]
    try:
        mine, _ = read([*path, *words, *others])
    except MisuseError:  # of the other words
        return
    theirs = vars(Reader(command).parse_args(words))
    for each in command.parameters:
        if each.names and each.goes == "argument":
            assert mine[each.to] == (tuple(theirs[each.to]) if each.multiple else theirs[each.to])


def test_empty_value_of_a_repeated_option_counts() -> None:
    assert read(["update", "--index", "work", "--index="])[1]["index_name"] is None


def test_first_error_of_the_words_is_told() -> None:
    for words, told in (
        (["search", "--limit", "x", "--bogus"], "no such option '--bogus'"),
        (["search", "x", "--limit", "y", "--tokens", "z"], "--limit must be a whole number"),
        (["mark", "q", "a.md", "so", "more"], "good|bad must be one of good, bad, not 'so'"),
        (["similar", "a.md", "b.md", "c.md"], "got unexpected extra arguments (b.md c.md)"),
    ):
        with pytest.raises(MisuseError) as error:
            read(words)
        assert str(error.value).startswith(told)

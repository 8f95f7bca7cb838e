"""The help of the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import signature

import pytest

from qmd import __version__
from qmd.cli.app import app
from qmd.cli.command import Command, Group
from qmd.cli.commands import COMMANDS, MORE, OLDER
from tests.users import User


def commands(group: Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    for name in group.names():
        command = group.find(name)
        assert isinstance(command, Command), name
        yield (*path, name), command
        if isinstance(command, Group):
            yield from commands(command, (*path, name))


ALL = list(commands(app))


@pytest.mark.parametrize("line", ["", "search", "collection", "collection add", "deep-search"])
def test_help_command_prints_the_help_of_a_command(user: User, line: str) -> None:
    name = {"deep-search": "query"}.get(line, line)
    shown = user.ok("help", *line.split())
    assert shown.replace("qmd deep-search", "qmd query") == user.ok(*name.split(), "--help")


def test_help_command_suggests_the_nearest_command(user: User) -> None:
    result = user.invoke("help", "collection", "ad")
    assert result.exit_code == 2
    assert "no such command 'ad'. Did you mean 'add'?" in result.stderr
    assert "'qmd get' has no subcommands" in user.invoke("help", "get", "x").stderr


@pytest.mark.parametrize("command", [command for _, command in ALL], ids=[" ".join(path) for path, _ in ALL])
def test_command_help_has_a_description_and_an_example(command: Command) -> None:
    assert len(command.help.split("\n\n")[0]) > 20
    assert "qmd " in command.help


@pytest.mark.parametrize("command", [command for _, command in ALL], ids=[" ".join(path) for path, _ in ALL])
def test_options_have_help_and_a_metavar(command: Command) -> None:
    for each in (*command.parameters, *command.shared):
        assert each.help or not each.names, each.to
        assert each.metavar or each.flag, each.names


def test_functions_of_commands_take_their_options() -> None:
    for path, command in ALL:
        names = [each.to for each in command.parameters if each.goes == "argument"]
        if isinstance(command, Group) and not command.acts_alone:
            continue
        if isinstance(command, Group) and not command.runs:
            names.append("subcommand")
        assert signature(command.function).bind("session", **dict.fromkeys(names)), path


def test_qmd_without_arguments_prints_the_help(user: User) -> None:
    found = user.call()
    assert found.returncode == 0
    assert found.stdout.startswith("Usage: qmd")
    assert not found.stderr
    assert found.stdout == user.call("--help").stdout == user.call("-h").stdout


def listed(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2:3].isalpha()]


def test_whole_help_lists_every_command_once_and_no_old_name(user: User) -> None:
    names = listed(user.ok("--help", "--all"))
    for (name, *_), _ in ALL:
        assert names.count(name) == 1
    assert not {*OLDER} & set(names)


def test_help_has_one_screen_and_names_the_rest(user: User) -> None:
    text = user.ok("--help")
    assert len(text.splitlines()) <= 56
    more = re.search(r"^More:\n((?:  .+\n)+)", text, re.MULTILINE)
    assert more is not None
    assert {*re.findall(r"[a-z-]+", more[1])} == {name for name, _, _ in COMMANDS[MORE]}
    assert len({*listed(text)} & {path[0] for path, _ in ALL}) <= 26
    assert user.ok("help", "--all") == user.ok("--help", "--all")


def test_help_of_a_search_has_sections_and_all_says_everything(user: User) -> None:
    brief, whole = user.ok("search", "--help"), user.ok("search", "--help", "--all")
    titles = re.findall(r"^(\w[\w ]+):$", brief, re.MULTILINE)
    assert titles == ["What", "Filters", "Time", "Ranking", "Output", "Global options"]
    assert "about something else" not in brief
    for text in ("about something else", " --json Print", " --index NAME "):
        assert text in " ".join(whole.split())
    assert "no such option '--all'" in user.invoke("get", "x", "--all").stderr


@pytest.mark.parametrize(("name", "words"), OLDER.items())
def test_older_name_of_a_command_shows_the_help_of_the_command_it_stands_for(
    user: User, name: str, words: str
) -> None:
    text = user.ok(name, "--help")
    assert text == user.ok(*words.split(), "--help") == user.ok("help", name)
    assert text.startswith(f"Usage: qmd {words.partition(' --')[0]} ")


@pytest.mark.parametrize("group", ["collection", "context"])
def test_group_without_a_command_prints_its_help(user: User, group: str) -> None:
    result = user.invoke(group)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: qmd {group}")


@pytest.mark.parametrize("path", [path for path, _ in ALL], ids=" ".join)
def test_short_help_flag_works_for_every_command(user: User, path: tuple[str, ...]) -> None:
    assert user.ok(*path, "-h") == user.ok(*path, "--help")


@pytest.mark.parametrize("flag", ["--version", "-v"])
def test_version_is_printed_with_and_without_other_options(user: User, flag: str) -> None:
    assert user.run(flag).stdout == f"qmd {__version__}\n"
    assert user.run("--index", "work", flag).stdout == f"qmd {__version__}\n"


def test_command_table_has_every_command() -> None:
    assert isinstance(app, Group)
    assert {"search", "vsearch", "query", "get", "multi-get", "ls", "update", "index", "embed", "status"} <= {
        path[0] for path, _ in ALL
    }

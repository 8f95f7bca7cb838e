"""Options of commands: those of searches are rows of one table, and each is read."""

from __future__ import annotations

import ast
import inspect
import textwrap
from importlib import import_module
from typing import Any, get_args, get_type_hints

import pytest

from qmd.cli import options
from qmd.cli.app import app
from qmd.cli.command import Command
from qmd.cli.usage import MisuseError
from qmd.engine import requests
from qmd.engine.requests import SearchRequest
from qmd.search_options import CONDITIONS, SEARCH_OPTIONS, Option, SearchKind, names_of
from qmd.types import DEFAULT_PATTERN, MAX_WEIGHT, MIN_WEIGHT
from tests.edge.cli.test_help import commands
from tests.users import User

COMMANDS = {" ".join(path): command for path, command in commands(app) if path}

OPTIONS = {each.to: each for each in app.find("query").parameters if each.names}
#: The options of each kind of search for type checkers.
TYPED: dict[SearchKind, Any] = {
    "search": requests.SearchOptions,
    "vsearch": requests.VectorSearchOptions,
    "query": requests.HybridSearchOptions,
    "similar": requests.SimilarOptions,
}


def accepted(option: str, value: float) -> bool:
    try:
        OPTIONS[option].value(f"{value:g}")
    except MisuseError:
        return False
    return True


def test_request_has_the_options_with_their_defaults() -> None:
    of_requests = {name: option for name, option in SEARCH_OPTIONS.items() if name not in CONDITIONS}
    assert {*SearchRequest.__struct_fields__} - {"where"} == of_requests.keys()
    assert {name: getattr(SearchRequest(), name) for name in of_requests} == {
        name: option.value.default for name, option in of_requests.items()
    }


@pytest.mark.parametrize("kind", TYPED)
def test_types_of_options_name_those_of_the_kind(kind: SearchKind) -> None:
    assert {*TYPED[kind].__annotations__} == names_of(kind)


@pytest.mark.parametrize("option", [each for each in SEARCH_OPTIONS.values() if each.value.words])
def test_words_of_an_option_are_those_of_its_type(option: Option) -> None:
    hints = get_type_hints(SearchRequest)[option.name]
    words = {word for each in (hints, *get_args(hints)) for word in get_args(each)}
    assert {*option.value.words} <= words


def test_query_has_every_option_of_its_kind() -> None:
    names = {name.removeprefix("no_") for name in OPTIONS}
    assert names_of("query") - names == {"searches"}  # lines of the query


@pytest.mark.parametrize(
    ("option", "step"), [("passages", 1), ("context_lines", 1), ("candidate_limit", 1), ("min_score", 0.01)]
)
def test_number_option_has_the_limits_of_its_row(option: str, step: float) -> None:
    limits = SEARCH_OPTIONS[option].value
    assert limits.least is not None
    assert limits.most is not None
    assert accepted(option, limits.least)
    assert accepted(option, limits.most)
    assert not accepted(option, limits.least - step)
    assert not accepted(option, limits.most + step)


@pytest.mark.parametrize("option", ["candidate_limit", "min_score", "passages", "sort", "timeout"])
def test_help_names_the_default(option: str) -> None:
    default = SEARCH_OPTIONS[option].value.default
    shown = f"{default:g}" if isinstance(default, int | float) else default
    assert str(OPTIONS[option].help).endswith(f"[default: {shown}]")


def test_options_of_collections_have_the_limits_of_the_configuration(user: User) -> None:
    assert f"[default: {DEFAULT_PATTERN}, or" in " ".join(user.ok("collection", "add", "--help").split())
    for number in (MIN_WEIGHT / 2, MAX_WEIGHT * 2):
        result = user.invoke("collection", "weight", "notes", f"{number:g}")
        assert f"must be a number from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}, not" in result.stderr


#: Stands for all options, which a method refuses if it has no such argument.
EVERYTHING = "**"
#: What a process reads before the command, because it limits the command.
EARLIER = {"hook run": {"timeout"}}


@pytest.mark.parametrize("name", COMMANDS)
def test_command_reads_each_of_its_options(name: str) -> None:
    assert unread(COMMANDS[name]) == EARLIER.get(name, set())


def test_option_that_a_command_does_not_read_is_found() -> None:
    name = "".join(("never", "read"))  # which no text in this module is

    @options.flag("--read", help="One that is read.")
    @options.flag(f"--{name}", help="One that is not.")
    def run(session: object, **arguments: object) -> None:
        assert arguments["read"]

    assert unread(Command(run)) == {name}


def unread(command: Command) -> set[str]:
    """Return the options whose values a command takes and nothing that it calls with them names."""
    given = {each.to for each in command.parameters if each.goes == "argument"}
    parameters = inspect.signature(command.function).parameters.values()
    taken = {each.name for each in parameters if each.kind is not each.VAR_KEYWORD}
    names = {node.id for node in ast.walk(body_of(command.function)) if isinstance(node, ast.Name)}
    module = ast.parse(inspect.getsource(inspect.getmodule(command.function) or command.function))
    texts = {node.value for node in ast.walk(module) if isinstance(node, ast.Constant)}
    found = named(command.function)
    if EVERYTHING in found:
        return given & taken - names
    return given - taken - texts - found | (given & taken) - names


def named(function: Any, seen: frozenset[Any] = frozenset()) -> set[str]:
    """Return the texts in a function and in those of the program that it calls."""
    if function in (options.search_request, options.filters_of):  # these take what is in the table
        return {each for name in SEARCH_OPTIONS for each in (name, f"no_{name}")}
    found: set[str] = set()
    body = body_of(function)
    known = dict(vars(inspect.getmodule(function)))
    for node in ast.walk(body):
        if isinstance(node, ast.ImportFrom):
            module = import_module(node.module or "")
            known |= {each.name: getattr(module, each.name, None) for each in node.names}
    for node in ast.walk(body):
        called = None
        match node:
            case ast.Constant(value=str(text)):
                found.add(text)
            case ast.keyword(arg=None, value=ast.Call()):  # all that are given are arguments of a method
                found.add(EVERYTHING)
            case ast.Call(func=ast.Name(id=name)):
                called = known.get(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute)):
                called = getattr(known.get(name), attribute, None)
        if inspect.isfunction(called) and called.__module__.startswith("qmd.") and called not in seen:
            found |= named(called, seen | {function})
    return found


def body_of(function: Any) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))

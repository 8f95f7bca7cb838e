"""Limits and defaults that options repeat, because the help does not import the engine."""

from __future__ import annotations

from typing import get_args

import pytest

from qmd.cli.app import app
from qmd.cli.usage import MisuseError
from qmd.engine import requests
from qmd.engine.requests import SearchRequest
from qmd.types import DEFAULT_PATTERN, MAX_WEIGHT, MIN_WEIGHT, Ranking, ScoreScale, SortOrder
from tests.users import User

OPTIONS = {each.to: each for each in app.find("query").parameters if each.names}
DEFAULTS = SearchRequest(limit=None)


def accepted(option: str, value: float) -> bool:
    try:
        OPTIONS[option].value(f"{value:g}")
    except MisuseError:
        return False
    return True


def test_query_has_every_option_of_the_request() -> None:
    names = {name.removeprefix("no_") for name in OPTIONS}
    # Two are the argument: typed searches are lines of a query. One is of `similar` alone.
    assert set(requests.OPTIONS) - names == {"query", "searches", "unlinked"}


@pytest.mark.parametrize(
    ("option", "step"), [("passages", 1), ("context_lines", 1), ("candidate_limit", 1), ("min_score", 0.01)]
)
def test_number_option_has_the_limits_of_the_request(option: str, step: float) -> None:
    limits = requests.OPTIONS[option]
    assert limits.ge is not None
    assert limits.le is not None
    assert accepted(option, limits.ge)
    assert accepted(option, limits.le)
    assert not accepted(option, limits.ge - step)
    assert not accepted(option, limits.le + step)


@pytest.mark.parametrize(
    ("option", "words"), [("ranking", Ranking), ("scores", ScoreScale), ("sort", SortOrder)]
)
def test_choice_option_has_the_values_of_the_request(option: str, words: object) -> None:
    assert OPTIONS[option].kind == get_args(words)


@pytest.mark.parametrize("option", ["candidate_limit", "min_score", "passages", "sort", "timeout"])
def test_help_names_the_default_of_the_request(option: str) -> None:
    default = getattr(DEFAULTS, option)
    shown = f"{default:g}" if isinstance(default, int | float) else default
    assert str(OPTIONS[option].help).endswith(f"[default: {shown}]")


def test_options_of_collections_have_the_limits_of_the_configuration(user: User) -> None:
    assert f"[default: {DEFAULT_PATTERN}, or" in " ".join(user.ok("collection", "add", "--help").split())
    for number in (MIN_WEIGHT / 2, MAX_WEIGHT * 2):
        result = user.invoke("collection", "weight", "notes", f"{number:g}")
        assert f"must be a number from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}, not" in result.stderr

"""An archive as a collection: ranked searches with filters on author and date."""

from __future__ import annotations

import json

import pytest

from tests.edge.cli.schemas import faults, schema
from tests.features.archive.posts import CAFE, GROWTH_LATER, PLAN, RAIN, lay_out
from tests.users import MakeUser, User


@pytest.fixture(scope="module")
def scholar(make_user: MakeUser) -> User:
    """A user who has indexed the archive."""
    user = make_user("scholar")
    lay_out(user.home / "data")
    user.ok("collection", "add", str(user.home / "data"), "--name", "archive")
    return user


def found(user: User, *args: str) -> list[str]:
    """Return the paths that a search prints, relative to the archive."""
    shown = json.loads(user.ok(*args, "--json"))
    return [each["file"].removeprefix("qmd://archive/") for each in shown]


def test_search_finds_posts_by_author_and_date(scholar: User) -> None:
    assert set(found(scholar, "search", "打算")) == {PLAN, GROWTH_LATER}
    assert found(scholar, "search", "打算", "--after", "2024") == [GROWTH_LATER]
    assert found(scholar, "search", "打算 before:2020-12-15T20:10:40") == [PLAN]
    assert found(scholar, "search", "打算 author:林中") == []
    assert found(scholar, "search", "雨", "--author", "林中") == [RAIN]
    assert found(scholar, "query", "École", "author:林中", "--no-rerank")[0] == CAFE


def test_ls_authors_lists_authors_in_every_format(scholar: User) -> None:
    head, first, second = scholar.ok("ls", "--authors").splitlines()
    assert head.split() == ["Author", "Documents", "First", "Last"]
    assert first.split()[:3] == ["q9adg", "9", "2020-01-01"]
    assert second.split() == ["林中", "2", "2022-06-01", "2022-06-02"]
    listed = json.loads(scholar.ok("ls", "--authors", "archive", "--json"))
    assert faults(listed, schema("ls --authors")) == []
    assert listed[1] == {
        "name": "林中",
        "documents": 2,
        "first": "2022-06-01T07:00:00",
        "last": "2022-06-02T07:00:00",
    }
    assert scholar.ok("ls", "--authors", "--files") == "q9adg\n林中\n"
    assert scholar.call("ls", "--authors", "nope").stderr.startswith("Error: Collection not found: nope\n")


@pytest.mark.parametrize("command", ["search", "vsearch", "query"])
def test_invalid_date_is_a_usage_error(scholar: User, command: str) -> None:
    result = scholar.call(command, "雨", "--after", "nonsense")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: --after must be a date, such as 2024, 2024-06, 2024-06-30, 7d, last-week, "
        "yesterday or 上周, not 'nonsense'\n"
        f"Hint: see 'qmd {command} --help'\n"
    )
    empty = scholar.call(command, "雨", "--author", " ").stderr
    assert empty == f"Error: --author must not be empty\nHint: see 'qmd {command} --help'\n"


def test_why_names_the_filter_that_hides_a_post(scholar: User) -> None:
    said = scholar.ok("why", RAIN, "雨", "--search", "search", "--author", "q9adg")
    assert "Not shown: it does not pass the filter author:q9adg: its author is 林中." in said
    said = scholar.ok("why", RAIN, "雨", "--search", "search", "--before", "2022-06")
    assert "Not shown: it does not pass the filter before:2022-06: its date is 2022-06-01T07:00:00." in said

"""`qmd history`, `qmd get --as-of`, and relative dates on the command line."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from tests.edge.cli.schemas import faults, schema
from tests.repositories import Repository, needs_git
from tests.users import User

pytestmark = pytest.mark.slow


@pytest.fixture
def keeper(user: User) -> User:
    repository = Repository(user.home / "clone")
    text = "".join(f"Line {number}\n" for number in range(9))
    repository.commit("2024-05-01T10:00:00Z", "Begin", {"old.md": text})
    repository.git("mv", "old.md", "plan.md")
    repository.commit("2024-05-02T10:00:00Z", "Rename\x1b[31m", {"plan.md": text + "More\n"})
    user.ok("collection", "add", str(repository.folder), "--name", "notes")
    return user


@needs_git
def test_history_prints_commits_and_renames(keeper: User) -> None:
    newest, was, first = keeper.ok("history", "plan.md").splitlines()
    assert newest[7:].startswith("  2024-05-02 10:00  +1  -0  Ann Bee  Rename")
    assert "\x1b" not in newest
    assert was == "         was old.md"
    assert first[7:] == "  2024-05-01 10:00  +9  -0  Ann Bee  Begin"
    done = keeper.call("history", "plan.md", "-n", "1")
    assert done.stdout.count("\n") == 1
    assert "there are older commits: -n shows more, --offset 1 the next" in done.stderr
    older = keeper.call("history", "plan.md", "-n", "1", "--offset", "1")
    assert (older.stdout, older.stderr) == (f"{first}\n", "")


@needs_git
def test_history_and_get_as_of_print_the_documented_json(keeper: User) -> None:
    found = json.loads(keeper.ok("history", "plan.md", "--json"))
    assert faults(found, schema("history")) == []
    assert [each["path"] for each in found] == ["plan.md", "old.md"]
    page = json.loads(keeper.ok("get", "plan.md", "--as-of", "2024-05-01", "--json"))
    assert faults(page, schema("Documents")) == []
    assert page["commit"]["commit"] == found[1]["commit"]


@needs_git
def test_get_as_of_prints_the_text_of_that_day_and_names_the_commit(keeper: User) -> None:
    done = keeper.call("get", "plan.md:9:2", "--as-of", "2024-05-01")
    assert done.stdout == "Line 8\n"
    assert "note: as of 2024-05-01 10:00, commit " in done.stderr
    assert keeper.call("get", "plan.md", "--as-of", "last-week").stdout.endswith("More\n")
    early = keeper.call("get", "plan.md", "--as-of", "2023")
    assert early.returncode != 0
    assert "its first commit is of 2024-05-01" in early.stderr
    wrong = keeper.call("get", "plan.md", "--as-of", "lastweek")
    assert "did you mean 'last-week'?" in wrong.stderr


def test_options_and_queries_take_relative_dates(user: User) -> None:
    day = timedelta(days=1)
    now = datetime.now(UTC)
    for name, moment in (("new", now), ("old", now - 20 * day)):
        path = user.notes / f"heron-{name}.md"
        path.write_text("heron\n", encoding="utf-8")
        os.utime(path, (moment.timestamp(), moment.timestamp()))
    user.ok("collection", "add", str(user.notes))
    for args in (("--after", "7d"), ("after:最近7天",), ("--where", "date>=7d")):
        done = user.call("search", "heron", *args, "--files")
        assert "heron-new.md" in done.stdout
        assert "heron-old.md" not in done.stdout
        assert f"{now - 7 * day:%Y-%m-%d}" in done.stderr
    assert "heron-old.md" in user.ok("ls", "--before", "1w")
    none = user.call("search", "heron", "after:tomorrow")
    assert f"No document passes the filter after:{now + day:%Y-%m-%d}." in none.stderr

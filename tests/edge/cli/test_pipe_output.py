"""Output in a pipe, byte by byte. Other programs parse it, so it may only change on purpose.

The expected output is in `expected/`, named by command and format. If it has to change, delete the file: the
test writes a new one, and fails once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from qmd.cli.options import FORMATS
from qmd.cli.render.formats import writer
from qmd.cli.render.view import View
from qmd.types import Hit, Snippet
from tests.users import MakeUser, User

pytestmark = pytest.mark.slow

EXPECTED = Path(__file__).parent / "expected"
COMMANDS = {
    "get": ("get", "plan.md:3:2"),
    "multi-get": ("multi-get", "plan.md, large.md", "--max-bytes", "500"),
    "ls": ("ls",),
    "ls-files": ("ls", "notes"),
    "collection-list": ("collection", "list"),
    "collection-show": ("collection", "show", "notes"),
    "context-list": ("context", "list"),
    "context-check": ("context", "check"),
}
#: Times of this run; the times of the notes are older.
_NOW = re.compile(r"20(2[4-9]|[3-9][0-9])-[0-9-]+[T ][0-9:]+(\.[0-9]+Z)?")
HITS = (
    Hit(
        docid="#abc123",
        file="notes/work/plan.md",
        collection="notes",
        path="work/plan.md",
        title='The "plan", & more',
        score=0.9254,
        context="Everything\n\nAbout work",
        line=7,
        snippet=Snippet("Before it\n\nThe <plan>, in short", 5, 7),
        hash="abc123",
    ),
    Hit(
        docid="#def456",
        file="notes/数据库 迁移.md",
        collection="notes",
        path="数据库 迁移.md",
        title="数据库迁移",
        score=0.4,
        context=None,
        line=1,
        snippet=Snippet("数据库迁移需要先备份。", 1, 1),
        hash="def456",
    ),
)


def check(name: str, text: str) -> None:
    file = EXPECTED / name
    if not file.exists():
        file.write_text(text, encoding="utf-8", newline="")
        pytest.fail(f"{name} was not there; written: read it, and keep it")
    with open(file, encoding="utf-8", newline="") as opened:
        assert text == opened.read()


@pytest.fixture(scope="module")
def planner(make_user: MakeUser) -> User:
    """A user with two notes whose times are fixed."""
    user = make_user("planner")
    for path in [*user.notes.rglob("*.md")]:
        path.unlink()
    for name, text in {
        "work/plan.md": "# Plan\n\none\ntwo\nthree\n",
        "large.md": "# 大\n\n" + "x " * 300,
    }.items():
        file = user.notes / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (1_700_000_000, 1_700_000_000))
    user.ok("collection", "add", str(user.notes))
    user.ok("context", "add", "/", 'Everything, "all"')
    user.ok("context", "add", "qmd://notes/work", "About work")
    return user


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("command", COMMANDS)
def test_command_output_in_a_pipe_is_unchanged(planner: User, command: str, name: str) -> None:
    found = planner.call(*COMMANDS[command], "--format", name)
    assert (found.returncode, found.stderr) == (0, "")
    check(f"{command}.{name}", _NOW.sub("NOW", found.stdout.replace(str(planner.home), "~")))


@pytest.mark.parametrize("name", FORMATS)
def test_search_output_in_a_pipe_is_unchanged(name: str) -> None:
    check(f"search.{name}", writer(name).hits(HITS, View()))


@pytest.mark.parametrize("name", FORMATS)
def test_search_output_with_line_numbers_in_a_pipe_is_unchanged(name: str) -> None:
    check(f"search-numbered.{name}", writer(name).hits(HITS, View(line_numbers=True)))

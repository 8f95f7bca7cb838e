"""The owner of portable files, and a guest who reads one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edge.cli.portable.library import HIDDEN, LIBRARY
from tests.users import MakeUser, User


@pytest.fixture(scope="module")
def owner(make_user: MakeUser) -> User:
    """A user with three embedded collections, one of which has an update command. Shared: tests only read."""
    user = make_user("owner")
    for path, text in LIBRARY.items():
        file = user.home / "library" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in ("notes", "talks", HIDDEN):
        user.ok("collection", "add", str(user.home / "library" / name), "--name", name)
        user.ok("context", "add", f"qmd://{name}", f"All of {name}")
    user.ok("collection", "update-cmd", "notes", "echo", "updated")
    user.ok("embed", "-q")
    user.ok("query", f"what is {HIDDEN}", "-q")  # leaves a query in the cache of the index
    return user


@pytest.fixture(scope="module")
def portable(owner: User) -> Path:
    file = owner.home / "shared" / "out.qmd"
    file.parent.mkdir()
    owner.ok("backup", "--portable", "-c", "notes", "-c", "talks", str(file))
    return file


@pytest.fixture(scope="module")
def guest(make_user: MakeUser, portable: Path) -> User:
    """Another user, who has no index, with a copy of the file in a read-only folder."""
    user = make_user("guest")
    folder = user.home / "inbox"
    folder.mkdir()
    shutil.copy(portable, folder / "team.qmd")
    return user


@pytest.fixture
def file(guest: User) -> Iterator[str]:
    """The guest's file. The test fails if it changes or another file appears beside it."""
    path = guest.home / "inbox" / "team.qmd"
    before = path.read_bytes()
    path.parent.chmod(0o500)
    yield str(path)
    path.parent.chmod(0o700)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["team.qmd"]

"""HTTP servers and their clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients import Client, Server, server_of
from tests.library import add_library, embed_library
from tests.users import MakeUser, User


@pytest.fixture(scope="session")
def reader(make_user: MakeUser) -> User:
    """A user with three collections, and no vectors. Shared: tests only read."""
    return add_library(make_user("http-reader"))


@pytest.fixture(scope="session")
def seer(make_user: MakeUser) -> User:
    """The user of the library, with vectors. Shared: tests only read."""
    return embed_library(make_user("http-seer"))


@pytest.fixture(scope="session")
def client(reader: User) -> Iterator[Client]:
    """A client of a user with three collections and no vectors. Shared: tests only read."""
    with server_of(reader) as server:
        yield server


@pytest.fixture(scope="session")
def host_reader(make_user: MakeUser) -> User:
    """A user like `reader`, for tests that start servers, because an index can have only one at a time."""
    return add_library(make_user("http-host"))


@pytest.fixture(scope="session")
def seeing(seer: User) -> Iterator[Client]:
    """A client of a user with three embedded collections. Shared: tests only read."""
    with server_of(seer) as server:
        yield server


@pytest.fixture(scope="session")
def bare(make_user: MakeUser) -> Iterator[Client]:
    """A client of a user with a folder and no index. Shared: tests change nothing."""
    with server_of(_owner(make_user)) as server:
        yield server


@pytest.fixture
def owner(make_user: MakeUser) -> User:
    """A user with three notes in a folder and no index."""
    return _owner(make_user)


def _owner(make_user: MakeUser) -> User:
    user = make_user("http-owner")
    for name in ("a.md", "b.md", "sub/c.md"):
        file = user.home / "folder" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Note {name}\n\nWords of {name}.\n", encoding="utf-8")
    return user


@pytest.fixture
def server(owner: User) -> Iterator[Server]:
    """The server of the owner, for a test that changes the index."""
    with server_of(owner) as server:
        yield server

"""Servers of the library and their clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents import Agent, agents
from tests.clients import Client, server_of
from tests.library import add_library
from tests.users import MakeUser, User


@pytest.fixture(scope="session")
def librarian(make_user: MakeUser) -> User:
    """A user with three collections, and no vectors. Shared: tests only read."""
    return add_library(make_user("librarian"))


@pytest.fixture(scope="session")
def agent(librarian: User) -> Iterator[Agent]:
    """An agent connected to the librarian's server. Shared."""
    with agents() as start:
        agent = start(librarian)
        agent.greet()
        yield agent


@pytest.fixture(scope="session")
def client(make_user: MakeUser) -> Iterator[Client]:
    """A client of a user like the librarian. Shared."""
    with server_of(add_library(make_user("http-librarian"))) as server:
        yield server

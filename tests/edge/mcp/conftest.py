"""MCP clients of servers of the library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents import Agent, Site, StartAgent, agents, site_of
from tests.library import add_library, embed_library
from tests.users import MakeUser, User


@pytest.fixture
def start() -> Iterator[StartAgent]:
    """Starts servers for one test."""
    with agents() as start:
        yield start


@pytest.fixture(scope="session")
def reader(make_user: MakeUser) -> User:
    """A user with three collections, and no vectors. Shared: tests only read."""
    return add_library(make_user("mcp-reader"))


@pytest.fixture(scope="session")
def seer(make_user: MakeUser) -> User:
    """The same, embedded. Shared: tests only read."""
    return embed_library(make_user("mcp-seer"))


@pytest.fixture
def newcomer(make_user: MakeUser) -> User:
    """A user of whom nothing is indexed."""
    return make_user("mcp-newcomer")


@pytest.fixture(scope="session")
def agent(reader: User) -> Iterator[Agent]:
    """An agent of the reader, connected. Shared: every test reads the answer to what it asks."""
    with agents() as start:
        agent = start(reader)
        agent.greet()
        yield agent


@pytest.fixture(scope="session")
def seeing(seer: User) -> Iterator[Agent]:
    """An agent of the seer, connected. Shared likewise."""
    with agents() as start:
        agent = start(seer)
        agent.greet()
        yield agent


@pytest.fixture(scope="session")
def site(reader: User) -> Iterator[Site]:
    """The reader's server over HTTP. Shared."""
    with site_of(reader) as site:
        yield site

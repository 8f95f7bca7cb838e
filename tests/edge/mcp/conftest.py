"""MCP servers of the library and their clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents import Agent, Site, StartAgent, agents, site_of
from tests.library import add_library, embed_library
from tests.users import MakeUser, User


@pytest.fixture
def start() -> Iterator[StartAgent]:
    """Start servers for one test."""
    with agents() as start:
        yield start


@pytest.fixture(scope="session")
def reader(make_user: MakeUser) -> User:
    """A user with three collections, and no vectors. Shared: tests only read."""
    return add_library(make_user("mcp-reader"))


@pytest.fixture(scope="session")
def seer(make_user: MakeUser) -> User:
    """The user of the library, with vectors. Shared: tests only read."""
    return embed_library(make_user("mcp-seer"))


@pytest.fixture
def newcomer(make_user: MakeUser) -> User:
    """A user without an index."""
    return make_user("mcp-newcomer")


@pytest.fixture(scope="session")
def agent(reader: User) -> Iterator[Agent]:
    """An agent connected to the reader's server. Shared: each test reads the answers to its own requests."""
    with agents() as start:
        agent = start(reader)
        agent.greet()
        yield agent


@pytest.fixture(scope="session")
def seeing(seer: User) -> Iterator[Agent]:
    """An agent connected to the seer's server. Shared like `agent`."""
    with agents() as start:
        agent = start(seer)
        agent.greet()
        yield agent


@pytest.fixture(scope="session")
def site(reader: User) -> Iterator[Site]:
    """The reader's server over HTTP. Shared."""
    with site_of(reader) as site:
        yield site

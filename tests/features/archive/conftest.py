"""A user and an MCP client of the archive."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents import Agent, agents
from tests.features.archive.posts import Reader, lay_out
from tests.users import MakeUser


@pytest.fixture(scope="session")
def archivist(make_user: MakeUser) -> Reader:
    """A user with the archive. Shared: tests only read."""
    user = make_user("archivist")
    data = user.home / "data"
    lay_out(data)
    return Reader(user, data)


@pytest.fixture(scope="session")
def agent(archivist: Reader) -> Iterator[Agent]:
    """An agent that reads the archive over stdio. Shared: each test reads the answers to its own requests."""
    with agents() as start:
        agent = start(archivist.user, "--data", str(archivist.data), command=("archive", "mcp"))
        agent.greet()
        yield agent

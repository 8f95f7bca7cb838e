"""Users of the command line: without an index, with one, and with vectors."""

from __future__ import annotations

import pytest

from tests.users import MakeUser, User


@pytest.fixture
def user(make_user: MakeUser) -> User:
    """A user without an index."""
    return make_user("user")


@pytest.fixture(scope="session")
def reader(make_user: MakeUser) -> User:
    """A user whose notes are indexed as `notes`, with contexts. Shared: tests only read."""
    user = make_user("reader")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("context", "add", "/", "Everything")
    user.ok("context", "add", "qmd://notes/2026", 'Notes of "2026", dated')
    return user


@pytest.fixture(scope="session")
def seer(make_user: MakeUser) -> User:
    """A user who has embedded the notes. Shared: tests only read."""
    user = make_user("seer")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("embed", "-q")
    return user


@pytest.fixture
def owner(user: User) -> User:
    """A user whose notes are indexed."""
    user.ok("collection", "add", str(user.notes))
    return user


@pytest.fixture
def embedded(owner: User) -> User:
    """A user whose notes are indexed and embedded."""
    owner.ok("embed", "-q")
    return owner

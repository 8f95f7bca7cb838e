"""The stores that the conformance suite tests: SQLite, and Milvus Lite, embedded or served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qmd.store.base import Store
from qmd.store.opening import open_store
from tests import milvus
from tests.store.material import Opens


@pytest.fixture(params=["sqlite", milvus.KINDS[0]])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of store under test."""
    return str(request.param)


@pytest.fixture
def url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str | None:
    """The address of the store, or None for SQLite."""
    match kind:
        case "lite":
            return f"milvus://{tmp_path}/index.db"
        case "server":
            return str(request.getfixturevalue("served"))
    return None


@pytest.fixture
def opens(url: str | None, tmp_path: Path) -> Iterator[Opens]:
    """Open the store under test, any number of times."""
    opened: list[Store] = []

    def open_() -> Store:
        opened.append(open_store(str(tmp_path / "index.sqlite"), url, {}))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


@pytest.fixture
def store(opens: Opens) -> Store:
    """The store under test, empty."""
    return opens()


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[Store]:
    """A SQLite store for comparison."""
    opened = open_store(str(tmp_path / "oracle.sqlite"), None, {})
    yield opened
    opened.close()

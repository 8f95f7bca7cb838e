"""The stores that the conformance suite is run on: SQLite, Milvus Lite embedded, and a Milvus Lite served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qmd.store.base import Store
from qmd.store.opening import open_store
from tests import milvus
from tests.store.material import Opens


@pytest.fixture(params=["sqlite", *milvus.KINDS])
def kind(request: pytest.FixtureRequest) -> str:
    """Which store a test runs on."""
    return str(request.param)


@pytest.fixture
def url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str | None:
    """Its address, None for SQLite."""
    match kind:
        case "lite":
            return f"milvus://{tmp_path}/index.db"
        case "server":
            return str(request.getfixturevalue("served"))
    return None


@pytest.fixture
def opens(url: str | None, tmp_path: Path) -> Iterator[Opens]:
    """Opens the store under test, as often as wanted."""
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
    """A SQLite store to compare with."""
    opened = open_store(str(tmp_path / "oracle.sqlite"), None, {})
    yield opened
    opened.close()

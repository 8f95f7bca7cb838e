"""The stores that the conformance suite is run on: SQLite, Milvus Lite embedded, and a Milvus Lite served."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from qmd.store.base import Store
from qmd.store.opening import open_store

HAS_MILVUS = all(importlib.util.find_spec(name) for name in ("pymilvus", "milvus_lite"))
needs_milvus = pytest.mark.skipif(not HAS_MILVUS, reason="the extra 'milvus' is not installed")
KINDS = ("sqlite", "lite", "server")
MILVUS = [pytest.param(kind, marks=needs_milvus) for kind in KINDS[1:]]

#: Serves a folder on loopback and says where; ends with its standard input.
_SERVER = """
import sys
from milvus_lite.adapter.grpc.server import start_server_in_thread
server, database, port = start_server_in_thread(sys.argv[1], host="127.0.0.1", port=0)
print(port, flush=True)
sys.stdin.read()
server.stop(0).wait()
database.close()
"""

_databases = count(1)

#: Opens a store of the kind under test: the same one for the same name.
Opens = Callable[..., Store]


@pytest.fixture(scope="session")
def milvus_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Milvus that other programs use too."""
    folder = tmp_path_factory.mktemp("served")
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(folder / "data")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    yield int(process.stdout.readline())
    process.communicate()


@pytest.fixture
def served(milvus_port: int) -> str:
    """The address of an empty database on it."""
    from pymilvus import MilvusClient

    from qmd.store.milvus.client import CHANNEL

    name = f"test_{next(_databases)}"
    client = MilvusClient(f"http://127.0.0.1:{milvus_port}", grpc_options=CHANNEL)
    client.create_database(name)
    client.close()
    return f"milvus://127.0.0.1:{milvus_port}/{name}"


@pytest.fixture(params=["sqlite", *MILVUS])
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

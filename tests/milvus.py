"""Milvus for tests: Milvus Lite embedded, and a Milvus Lite served to other programs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

INSTALLED = all(importlib.util.find_spec(name) for name in ("pymilvus", "milvus_lite"))
#: The stores other than SQLite, as parameters of the fixture `kind`. Both speak to one engine by the same
#: calls; only how it is found, started and shared differs. So the conformance suite takes the first.
KINDS = [pytest.param(kind, marks=pytest.mark.milvus) for kind in ("lite", "server")]

#: Serve a folder on loopback and print the port, until standard input ends.
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


@contextmanager
def server_of(folder: Path) -> Iterator[int]:
    """Serve a folder of data and yield the port."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    yield int(process.stdout.readline())
    process.communicate()


def new_database(port: int) -> str:
    """Make an empty database on a server; return its address."""
    from pymilvus import MilvusClient

    from qmd.features.milvus.client import CHANNEL

    name = f"test_{next(_databases)}"
    client = MilvusClient(f"http://127.0.0.1:{port}", grpc_options=CHANNEL)
    client.create_database(name)
    client.close()
    return f"milvus://127.0.0.1:{port}/{name}"

"""Discovery of a running server."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from qmd.errors import BusyError
from qmd.server import discovery

#: Advertise a server, print a line, and wait to be killed.
_SERVER = """
import os, sys
from qmd.server import discovery
with discovery.advertise(sys.argv[1], sys.argv[2], "http://127.0.0.1:1"):
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_find_returns_a_running_server(tmp_path: Path) -> None:
    cache, index = str(tmp_path / "cache"), str(tmp_path / "index.sqlite")
    assert discovery.find(cache, index) is None
    with discovery.advertise(cache, index, "http://127.0.0.1:8") as server:
        assert discovery.find(cache, index) == server
        assert discovery.find(cache, str(tmp_path / "other.sqlite")) is None
        (file,) = (tmp_path / "cache" / "servers").iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert discovery.find(cache, index) is None
    assert not file.exists()


def test_find_follows_a_link_to_the_index(tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "index.sqlite")
    with discovery.advertise(str(tmp_path), str(tmp_path / "index.sqlite"), "http://127.0.0.1:8") as server:
        assert discovery.find(str(tmp_path), str(tmp_path / "link.sqlite")) == server


def test_find_ignores_a_killed_server(tmp_path: Path) -> None:
    cache, index = str(tmp_path), str(tmp_path / "index.sqlite")
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, cache, index], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None and server.stdin is not None
    assert server.stdout.readline() == b"ready\n"
    found = discovery.find(cache, index)
    assert found is not None and found.pid == server.pid
    server.kill()
    server.wait()
    server.stdin.close()
    server.stdout.close()
    assert list((tmp_path / "servers").iterdir())
    assert discovery.find(cache, index) is None
    with discovery.advertise(cache, index, "http://127.0.0.1:9") as successor:
        assert discovery.find(cache, index) == successor


def test_exclusive_refuses_a_second_server_and_names_the_first(tmp_path: Path) -> None:
    cache, index = str(tmp_path), str(tmp_path / "index.sqlite")
    with discovery.exclusive(cache, index), discovery.advertise(cache, index, "http://127.0.0.1:1") as server:
        with pytest.raises(BusyError, match=rf"process {server.pid} at http://127\.0\.0\.1:1"):
            discovery.exclusive(cache, index).__enter__()
        with discovery.exclusive(cache, str(tmp_path / "other.sqlite")):
            assert discovery.find(cache, index) == server
    with discovery.exclusive(cache, index):
        assert discovery.find(cache, index) is None


def test_exclusive_refuses_during_the_start_of_another_server(tmp_path: Path) -> None:
    cache, index = str(tmp_path), str(tmp_path / "index.sqlite")
    with discovery.exclusive(cache, index), pytest.raises(BusyError, match="is starting or stopping"):
        discovery.exclusive(cache, index, replace=True).__enter__()

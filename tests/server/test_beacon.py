"""Finding a running server; and never one that has ended."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

from qmd.server import beacon

#: Lights a beacon, says so, and is killed.
_SERVER = """
import os, sys
from qmd.server import beacon
with beacon.lit(sys.argv[1], sys.argv[2], "http://127.0.0.1:1"):
    print("lit", flush=True)
    sys.stdin.read()
"""


def test_a_server_is_found_while_it_runs(tmp_path: Path) -> None:
    cache, index = str(tmp_path / "cache"), str(tmp_path / "index.sqlite")
    assert beacon.read(cache, index) is None
    with beacon.lit(cache, index, "http://127.0.0.1:8") as lit:
        assert beacon.read(cache, index) == lit
        assert beacon.read(cache, str(tmp_path / "other.sqlite")) is None
        (file,) = (tmp_path / "cache" / "servers").iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert beacon.read(cache, index) is None
    assert not file.exists()


def test_a_link_leads_to_the_same_server(tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "index.sqlite")
    with beacon.lit(str(tmp_path), str(tmp_path / "index.sqlite"), "http://127.0.0.1:8") as lit:
        assert beacon.read(str(tmp_path), str(tmp_path / "link.sqlite")) == lit


def test_a_server_that_was_killed_is_not_found(tmp_path: Path) -> None:
    cache, index = str(tmp_path), str(tmp_path / "index.sqlite")
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, cache, index], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None and server.stdin is not None
    assert server.stdout.readline() == b"lit\n"
    found = beacon.read(cache, index)
    assert found is not None and found.pid == server.pid
    server.kill()
    server.wait()
    server.stdin.close()
    server.stdout.close()
    assert list((tmp_path / "servers").iterdir())
    assert beacon.read(cache, index) is None
    with beacon.lit(cache, index, "http://127.0.0.1:9") as lit:
        assert beacon.read(cache, index) == lit


def test_of_two_servers_the_later_is_found(tmp_path: Path) -> None:
    cache, index = str(tmp_path), str(tmp_path / "index.sqlite")
    with beacon.lit(cache, index, "http://127.0.0.1:1"):
        with beacon.lit(cache, index, "http://127.0.0.1:2") as later:
            assert beacon.read(cache, index) == later
        assert beacon.read(cache, index) is None


def test_the_end_of_the_earlier_leaves_the_later_found(tmp_path: Path) -> None:
    cache, index = str(tmp_path), str(tmp_path / "index.sqlite")
    earlier = beacon.lit(cache, index, "http://127.0.0.1:1")
    earlier.__enter__()
    with beacon.lit(cache, index, "http://127.0.0.1:2") as later:
        earlier.__exit__(None, None, None)
        assert beacon.read(cache, index) == later

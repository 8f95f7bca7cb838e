"""Discovery of a running server."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from qmd.config.held_file import publish, server_file
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


#: What a file may have that is not an advertisement of this version, and the process that it names.
STRANGE = {
    "of 1.0.0": (b'{"pid": 123, "url": "http://127.0.0.1:8", "secret": "s"}', 123),
    "with more": (b'{"pid":123,"url":"http://127.0.0.1:8","secret":"s","socket":"/x"}', 123),
    "in another order": (b'{"url":"http://127.0.0.1:8","pid":123,"secret":"s"}', 123),
    "empty": (b"", 0),
    "truncated": (b'{"pid":123,"url":"http://127.0', 0),
    "no text": (b"\xff\x00" * 50, 0),
    "deep": (b"[" * 100_000, 0),
    "a list": (b"[1, 2]", 0),
    "a text as number": (b'{"pid":"123","url":"http://127.0.0.1:8","secret":"s"}', 0),
    "all processes": (b'{"pid":-1,"url":"http://127.0.0.1:8","secret":"s"}', 0),
    "a huge number": (b'{"pid":%b,"url":"http://127.0.0.1:8","secret":"s"}' % (b"9" * 5000), 0),
    "no port": (b'{"pid":123,"url":"http://127.0.0.1","secret":"s"}', 123),
    "a huge port": (b'{"pid":123,"url":"http://127.0.0.1:99999","secret":"s"}', 123),
    "another scheme": (b'{"pid":123,"url":"file:///etc/passwd","secret":"s"}', 123),
    "a header": (b'{"pid":123,"url":"http://a\r\nx:8","secret":"s"}', 0),
    "huge": (b'{"pid":123,"url":"http://127.0.0.1:8","secret":"%b"}' % (b"s" * 2_000_000), 0),
}


@pytest.mark.parametrize("name", STRANGE)
def test_advertisement_of_another_form_is_no_server(tmp_path: Path, name: str) -> None:
    cache, index = str(tmp_path), str(tmp_path / "index.sqlite")
    (tmp_path / "servers").mkdir()
    data, pid = STRANGE[name]
    assert discovery.find_strange(cache, index) is None
    file = publish(server_file(cache, index), data)
    assert discovery.find(cache, index) is None
    assert discovery.find_strange(cache, index) == pid
    os.close(file)
    assert discovery.find_strange(cache, index) is None


def test_file_of_another_user_is_no_advertisement(tmp_path: Path) -> None:
    if os.getuid():
        pytest.skip("only root can give files away")
    cache, index = str(tmp_path), str(tmp_path / "index.sqlite")
    with discovery.advertise(cache, index, "http://127.0.0.1:8"):
        assert discovery.find(cache, index) is not None
        os.chown(server_file(cache, index), 65534, 65534)
        assert discovery.find(cache, index) is None


def test_pipe_and_folder_are_no_advertisement(tmp_path: Path) -> None:
    cache, index = str(tmp_path), str(tmp_path / "index.sqlite")
    path = Path(server_file(cache, index))
    path.mkdir(parents=True)
    assert discovery.find(cache, index) is None
    path.rmdir()
    os.mkfifo(path)
    assert discovery.find(cache, index) is None

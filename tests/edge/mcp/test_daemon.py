"""The MCP server in the background: start, status and stop."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents import Site
from tests.users import User
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

NOTHING_RUNS = "No MCP server is running in the background.\n"


def cache(user: User) -> Path:
    return user.home / "cache" / "qmd"


@pytest.fixture
def host(newcomer: User) -> Iterator[User]:
    """A user whose servers are ended after the test."""
    yield newcomer
    for pid_file in cache(newcomer).glob("mcp*.pid"):
        name = pid_file.stem.removeprefix("mcp").removeprefix("-")
        newcomer.run("mcp", "stop", *(["--index", name] if name else []))


def start(user: User, *args: str) -> tuple[Site, int]:
    found = user.run("mcp", "--http", "--daemon", "--port", "0", *args)
    assert found.returncode == 0, found.stderr
    told = re.search(r"qmd serves MCP at http://127\.0\.0\.1:(\d+)/mcp .*process (\d+)", found.stdout)
    assert told, found.stdout
    return Site(int(told[1])), int(told[2])


def listens(site: Site) -> bool:
    try:
        return site.ask("ping")["result"] == {}
    except ConnectionRefusedError:
        return False


def test_a_server_is_started_and_ended(host: User) -> None:
    site, pid = start(host)
    assert (cache(host) / "mcp.pid").read_text() == f"{pid}\n"
    assert listens(site)
    stopped = host.run("mcp", "stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"Stopped the MCP server (process {pid}).\n")
    assert not listens(site)
    assert not (cache(host) / "mcp.pid").exists()


def test_a_second_start_leaves_the_first_alone(host: User) -> None:
    site, pid = start(host)
    found = host.run("mcp", "--http", "--daemon", "--port", "0")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith(f"Error: already running (process {pid})\n")
    assert listens(site)


def test_every_index_has_a_server_of_its_own(host: User) -> None:
    site, _ = start(host)
    other, pid = start(host, "--index", "work")
    assert (cache(host) / "mcp-work.pid").read_text() == f"{pid}\n"
    assert host.run("mcp", "stop", "--index", "work").returncode == 0
    assert not listens(other)
    assert listens(site)


def test_there_may_be_nothing_to_stop(host: User) -> None:
    found = host.run("mcp", "stop")
    assert (found.returncode, found.stdout, found.stderr) == (0, NOTHING_RUNS, "")


def test_a_server_that_died_is_not_in_the_way(host: User) -> None:
    _, pid = start(host)
    os.kill(pid, signal.SIGKILL)
    # Its lock goes when it does: until then it still counts as running.
    assert host.run("mcp", "stop").returncode == 0
    site, _ = start(host)
    assert listens(site)


def test_a_number_that_another_process_has_by_now_is_not_ended(host: User) -> None:
    cache(host).mkdir(parents=True, exist_ok=True)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        (cache(host) / "mcp.pid").write_text(f"{stranger.pid}\n")
        assert host.run("mcp", "stop").stdout == NOTHING_RUNS
        assert stranger.poll() is None
        (cache(host) / "mcp.pid").write_text(f"{stranger.pid}\n")
        _, pid = start(host)
        assert pid != stranger.pid
        assert stranger.poll() is None
        stranger.communicate(b"\n", timeout=PATIENCE)


@pytest.mark.parametrize("left", ["", "garbage", "-1", "0", "99999999999999999999"])
def test_a_pid_file_of_nonsense_is_not_in_the_way(host: User, left: str) -> None:
    cache(host).mkdir(parents=True, exist_ok=True)
    (cache(host) / "mcp.pid").write_text(left)
    assert host.run("mcp", "stop").stdout == NOTHING_RUNS
    start(host)


def test_a_server_that_cannot_start_says_why(host: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = host.run("mcp", "--http", "--daemon", "--port", str(port))
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith(f"Error: port {port} is in use\n")
    assert host.run("mcp", "stop").stdout == NOTHING_RUNS


def test_what_the_server_has_to_say_is_in_its_log(host: User) -> None:
    site, _ = start(host)
    assert site.request(body=b"{}", host="evil.example")[0] == 403
    assert "refused a request with Host: 'evil.example'" in (cache(host) / "mcp.log").read_text()

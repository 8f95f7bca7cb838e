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
    """A user whose servers are stopped after the test."""
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


def test_mcp_server_starts_and_stops_in_the_background(host: User) -> None:
    site, pid = start(host)
    assert (cache(host) / "mcp.pid").read_text() == f"{pid}\n"
    assert listens(site)
    stopped = host.run("mcp", "stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"Stopped the MCP server (process {pid}).\n")
    assert not listens(site)
    assert not (cache(host) / "mcp.pid").exists()


def test_mcp_server_is_not_started_twice(host: User) -> None:
    site, pid = start(host)
    found = host.run("mcp", "--http", "--daemon", "--port", "0")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith(f"Error: already running (process {pid})\n")
    assert listens(site)


def test_mcp_servers_of_indexes_are_separate(host: User) -> None:
    site, _ = start(host)
    other, pid = start(host, "--index", "work")
    assert (cache(host) / "mcp-work.pid").read_text() == f"{pid}\n"
    assert host.run("mcp", "stop", "--index", "work").returncode == 0
    assert not listens(other)
    assert listens(site)


def test_mcp_stop_without_a_server_succeeds(host: User) -> None:
    found = host.run("mcp", "stop")
    assert (found.returncode, found.stdout, found.stderr) == (0, NOTHING_RUNS, "")


def test_mcp_pid_file_of_a_killed_server_is_ignored(host: User) -> None:
    _, pid = start(host)
    os.kill(pid, signal.SIGKILL)
    # The lock is released when the process has ended. Until then the server counts as running.
    assert host.run("mcp", "stop").returncode == 0
    site, _ = start(host)
    assert listens(site)


def test_mcp_stop_never_kills_another_process_with_the_same_pid(host: User) -> None:
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
def test_invalid_mcp_pid_file_is_ignored(host: User, left: str) -> None:
    cache(host).mkdir(parents=True, exist_ok=True)
    (cache(host) / "mcp.pid").write_text(left)
    assert host.run("mcp", "stop").stdout == NOTHING_RUNS
    start(host)


def test_failed_start_of_the_mcp_server_reports_its_error(host: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = host.run("mcp", "--http", "--daemon", "--port", str(port))
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith(f"Error: port {port} is in use\n")
    assert host.run("mcp", "stop").stdout == NOTHING_RUNS


def test_mcp_log_has_stderr_of_the_server(host: User) -> None:
    site, _ = start(host)
    assert site.request(body=b"{}", host="evil.example")[0] == 403
    assert "refused a request with Host: 'evil.example'" in (cache(host) / "mcp.log").read_text()

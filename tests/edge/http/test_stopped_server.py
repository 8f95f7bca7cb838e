"""A server that was stopped, as by Ctrl-Z, keeps nobody waiting."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import pytest

from qmd.server import discovery
from tests.clients import Server, server_of
from tests.users import MakeUser, User
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def user(make_user: MakeUser) -> User:
    user = make_user("stopped")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    return user


@contextmanager
def stopped(user: User) -> Iterator[Server]:
    with server_of(user) as server:
        server.process.send_signal(signal.SIGSTOP)
        yield server


COMMANDS = [
    ("search", "rollback"),
    ("get", "notes/deploy.md"),
    ("multi-get", "notes/deploy.md"),
    ("pack", "rollback", "--timeout", "3"),
    ("query", "rollback", "--timeout", "3"),
    ("similar", "notes/deploy.md"),
]


def test_commands_run_here_if_the_server_is_stopped(user: User) -> None:
    with stopped(user):
        for words in COMMANDS:
            done = user.call(*words)
            assert done.returncode == 0 and done.stdout, done
        refused = user.call("search", "rollback", "--mode", "server")
        assert refused.returncode == 1 and "does not answer" in refused.stderr


def test_other_commands_say_that_the_server_is_stopped(user: User) -> None:
    prompt = json.dumps({"session_id": "1", "prompt": "How do I return to the last release?"}).encode()
    with stopped(user) as server:
        status = user.call("server", "status").stdout
        assert "does not answer" in status and f"kill -CONT {server.process.pid}" in status
        assert json.loads(user.call("server", "status", "--json").stdout)["answers"] is False
        opened = user.call("open")
        assert opened.returncode == 1 and "does not answer" in opened.stderr
        hook = user.call("hook", "run", "prompt", "--timeout", "60", stdin=prompt)
        assert hook.returncode == 0 and "make rollback" in hook.stdout
        assert user.call(_QMD_COMPLETE="zsh_complete", COMP_WORDS="qmd se", COMP_CWORD="1").returncode == 0
        server.process.send_signal(signal.SIGCONT)
        until(lambda: "answers" not in json.loads(user.call("server", "status", "--json").stdout))


def test_a_daemon_that_was_stopped_is_ended(user: User) -> None:
    assert user.run("server", "--daemon", "--port", "0").returncode == 0
    pid = json.loads(user.ok("server", "status", "--json"))["pid"]
    os.kill(pid, signal.SIGSTOP)
    assert f"process {pid}" in user.ok("server", "stop")
    assert json.loads(user.ok("server", "status", "--json")) == {"running": False}


class Silent:
    """A server that takes a request, and is stopped before it answers."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.taken = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        kept = []
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                kept.append(connection)
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * (self.taken == 0))
                self.taken += 1


def test_commands_run_here_if_the_server_is_stopped_while_it_answers(user: User) -> None:
    silent = Silent()
    index, cache = user.home / "cache" / "qmd" / "index.sqlite", str(user.home / "cache" / "qmd")
    with closing(silent.listener), discovery.exclusive(cache, str(index)):
        port = silent.listener.getsockname()[1]
        with discovery.advertise(cache, str(index), f"http://127.0.0.1:{port}"):
            done = user.call("search", "rollback")
            assert (done.returncode, "deploy.md" in done.stdout) == (0, True), done
            assert silent.taken == 2
            silent.taken = 0
            late = user.call("query", "rollback", "--timeout", "3")
            assert (late.returncode, "deploy.md" in late.stdout) == (0, True), late

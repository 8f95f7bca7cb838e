"""`qmd server`: start, transports and stop."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import qmd
from tests.clients import Client, Server, server_of
from tests.users import MakeUser, User
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def spawn(user: User, *args: str, stdin: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "qmd", "server", *args],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=user.environ,
        cwd=user.home,
    )


def is_gone(client: Client) -> bool:
    try:
        client.ok("GET", "/health")
    except ConnectionError:
        return True
    return False


@pytest.mark.parametrize("args", [[], ["--transport", "both"]], ids=str)
def test_both_transports_serve_until_stdin_ends(host_reader: User, args: list[str]) -> None:
    with spawn(host_reader, "--port", "0", *args) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        told = process.stderr.readline().decode()
        port = re.search(r"qmd serves HTTP at http://127\.0\.0\.1:(\d+), and MCP on stdin and stdout", told)
        assert port, told
        client = Client(int(port[1]))
        for _ in range(2):
            process.stdin.write(PING)
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == {"jsonrpc": "2.0", "id": 1, "result": {}}
            assert client.post("/search", query="zebra")["results"]
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
        assert process.stdout.read() == b""
        assert is_gone(client)


def test_mcp_transport_opens_no_port(host_reader: User) -> None:
    with spawn(host_reader, "--transport", "mcp") as process:
        out, err = process.communicate(PING, timeout=PATIENCE)
    assert json.loads(out) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (process.returncode, err) == (0, b"")


def test_http_transport_ignores_stdin(host_reader: User) -> None:
    with spawn(host_reader, "--transport", "http", "--port", "0") as process:
        assert process.stdin
        assert process.stdout
        line = process.stdout.readline().decode()
        client = Client(int(line.rsplit(":", 1)[1]))
        process.stdin.write(PING)
        process.stdin.close()
        assert client.ok("GET", "/health")["status"] == "healthy"
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert process.stdout.read() == b""


def test_end_of_a_terminal_does_not_stop_the_server(host_reader: User) -> None:
    ours, theirs = pty.openpty()
    with spawn(host_reader, "--port", "0", stdin=theirs) as process:
        os.close(theirs)
        assert process.stdout
        client = Client(int(process.stdout.readline().decode().rsplit(":", 1)[1]))
        os.write(ours, b"\x04")
        assert client.ok("GET", "/health")["status"] == "healthy"
        assert client.post("/search", query="zebra")["results"]
        process.terminate()
        assert process.wait(PATIENCE) == 0
    os.close(ours)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_server_stops_on_a_signal(host_reader: User, number: signal.Signals, code: int) -> None:
    with server_of(host_reader) as server:
        server.process.send_signal(number)
        assert server.process.wait(PATIENCE) == code
        assert is_gone(server)


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        ("--transport mcp --port 1", 2, "--port needs --transport http or both"),
        ("--transport mcp --log-queries", 2, "--log-queries needs --transport http or both"),
        ("--transport udp", 2, "--transport must be one of both, mcp, http, not 'udp'"),
        ("--transport mcp --workers 2", 2, "--workers needs --transport http or both"),
        ("--port 65536", 2, "--port must be a whole number from 0 to 65535, not '65536'"),
        ("--host no.such.host.invalid", 2, "no such host: no.such.host.invalid"),
        (
            "--host 0.0.0.0",
            2,
            "other machines can reach 0.0.0.0, and without a key they could read all documents",
        ),
        ("stpo", 2, "no such command 'stpo'. Did you mean 'stop'?"),
    ],
)
def test_invalid_options_are_refused(owner: User, line: str, code: int, error: str) -> None:
    found = owner.run("server", *line.split())
    assert (found.returncode, found.stdout) == (code, "")
    assert found.stderr.startswith(f"Error: {error}")


def test_stop_without_a_server_succeeds(owner: User) -> None:
    found = owner.call("server", "stop")
    assert (found.returncode, found.stdout, found.stderr) == (
        0,
        "No server is running in the background.\n",
        "",
    )


def test_port_in_use_is_reported(owner: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = owner.run("server", "--port", port)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith(f"Error: port {port} is in use\n")


def in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_searches_run_and_writes_wait_during_a_write(server: Server, owner: User) -> None:
    server.post("/collections/add", name="n", path="~/folder")
    begun, go = owner.home / "begun", owner.home / "go"
    owner.ok("collection", "update-cmd", "n", f"mkfifo {go}; touch {begun}; cat {go}")
    answers: list[str] = []
    update = in_background(lambda: answers.append(server.post("/update")["status"]))
    until(lambda: server.ok("GET", "/health") and begun.exists(), update.is_alive)
    rename = in_background(
        lambda: answers.append(server.ok("PUT", "/collections/n", {"new_name": "m"})["status"])
    )
    for _ in range(20):
        assert len(server.post("/search", query="words", collection="n")["results"]) == 3
        assert server.ok("GET", "/collections/n")["documents"] == 3
    assert answers == []
    go.write_bytes(b"")
    for thread in (update, rename):
        thread.join(PATIENCE)
    assert answers == ["updated", "renamed"]


def test_watcher_waits_for_the_write_in_progress(owner: User) -> None:
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "n")
    begun, go = owner.home / "begun", owner.home / "go"
    owner.ok("collection", "update-cmd", "n", f"mkfifo {go}; touch {begun}; cat {go}")
    with server_of(owner, QMD_WATCH="") as server:
        update = in_background(lambda: server.post("/update"))
        until(begun.exists, update.is_alive)
        (owner.home / "folder" / "new.md").write_text("quetzal\n", encoding="utf-8")
        until(
            lambda: "\nqmd_writes_queued 2.0\n" in server.ask("GET", "/metrics").text,
            alive=lambda: server.post("/search", query="quetzal")["results"] == [],
        )
        go.write_bytes(b"")
        update.join(PATIENCE)
        until(lambda: server.post("/search", query="quetzal")["results"])
        assert server.end() == 0


def test_shutdown_finishes_or_rolls_back_a_write(server: Server, owner: User) -> None:
    folder = owner.home / "many"
    folder.mkdir()
    for number in range(1500):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nwords of {number}\n", encoding="utf-8")
    statuses: list[int] = []

    def add() -> None:
        statuses.append(server.ask("POST", "/collections/add", {"name": "n", "path": str(folder)}).status)

    adding = in_background(add)
    until(lambda: server.ok("GET", "/status")["total_documents"], adding.is_alive)
    assert server.end() == 0
    adding.join(PATIENCE)
    assert statuses in ([200], [503])
    assert owner.call("index").returncode == 0
    with server_of(owner) as again:
        assert again.ok("GET", "/collections/n")["documents"] == 1500
        assert len(again.post("/search", query="words", limit=1000)["results"]) == 1000


@pytest.fixture
def host(owner: User) -> Iterator[User]:
    """A user whose servers are stopped after the test."""
    yield owner
    for pid_file in (owner.home / "cache" / "qmd").glob("server*.pid"):
        name = pid_file.stem.removeprefix("server").removeprefix("-")
        owner.call("server", "stop", *(["--index", name] if name else []))


def start(user: User, *args: str) -> tuple[Client, int]:
    found = user.run("server", "--daemon", "--port", "0", *args)
    assert found.returncode == 0, found.stderr
    told = re.fullmatch(
        r"qmd serves HTTP at http://127\.0\.0\.1:(\d+) \(in the background, process (\d+)\)\n", found.stdout
    )
    assert told, found.stdout
    return Client(int(told[1])), int(told[2])


def test_background_server_is_found_and_stopped(host: User) -> None:
    client, pid = start(host, "--workers", "1")
    assert client.ok("GET", "/health")["status"] == "healthy"
    assert (host.home / "cache" / "qmd" / "server.pid").read_text() == f"{pid}\n"
    found = host.call("server", "status")
    assert (found.returncode, found.stdout) == (
        0,
        f"qmd serves HTTP at http://127.0.0.1:{client.port} (process {pid})\n",
    )
    told = json.loads(host.call("server", "status", "--json").stdout)
    assert told == {"running": True, "url": f"http://127.0.0.1:{client.port}", "pid": pid}

    second = host.run("server", "--daemon", "--port", "0")
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.startswith(f"Error: already running (process {pid})\n")

    stopped = host.call("server", "stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"Stopped the server (process {pid}).\n")
    assert is_gone(client)
    assert json.loads(host.call("server", "status", "--json").stdout) == {"running": False}


def test_foreground_server_is_found_too(server: Server, owner: User) -> None:
    assert f":{server.port} (process {server.process.pid})" in owner.call("server", "status").stdout


def test_second_server_of_an_index_is_refused_with_the_address_of_the_first(
    server: Server, host: User
) -> None:
    for more in ([], ["--daemon"]):
        found = host.run("server", "--port", "0", *more)
        assert (found.returncode, found.stdout) == (1, "")
        assert f"process {server.process.pid} at http://127.0.0.1:{server.port}" in found.stderr
        assert more or "--replace" in found.stderr
    assert f":{server.port} " in host.call("server", "status").stdout
    server.post("/collections/add", name="n", path="~/folder")
    assert "Words" in host.ok("search", "words", "--mode", "server")


@pytest.mark.parametrize("more", [[], ["--daemon"]], ids=str)
def test_replace_stops_the_other_server(host: User, more: list[str]) -> None:
    with server_of(host) as first:
        if more:
            client, pid = start(host, "--replace")
            assert first.process.wait(PATIENCE) == 0
            again, second = start(host, "--replace")
            assert is_gone(client)
            assert second != pid
            assert f":{again.port} (process {second})" in host.call("server", "status").stdout
            return
        with server_of(host, "--replace") as server:
            assert first.process.wait(PATIENCE) == 0
            assert f":{server.port} " in host.call("server", "status").stdout


def test_servers_of_indexes_and_projects_are_separate(host: User) -> None:
    project = host.home / "project"
    project.mkdir()
    assert host.call("init", cwd=project).returncode == 0
    first, _ = start(host)
    start(host, "--index", "work")
    assert host.run("server", "--daemon", "--port", "0", cwd=project).returncode == 0
    assert host.call("server", "stop", cwd=project).returncode == 0
    assert host.call("server", "stop", "--index", "work").returncode == 0
    assert first.ok("GET", "/health")["status"] == "healthy"


def test_stale_files_of_a_killed_server_are_ignored(host: User) -> None:
    _, pid = start(host)
    os.kill(pid, signal.SIGKILL)
    # The locks are released when the process has ended. Until then the server counts as running.
    assert host.call("server", "stop").returncode == 0
    client, _ = start(host)
    assert client.ok("GET", "/health")["status"] == "healthy"


def test_stop_never_kills_another_process_with_the_same_pid(host: User) -> None:
    cache = Path(host.home / "cache" / "qmd")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        (cache / "server.pid").write_text(f"{stranger.pid}\n")
        assert host.call("server", "stop").stdout == "No server is running in the background.\n"
        _, pid = start(host)
        assert pid != stranger.pid
        assert stranger.poll() is None
        stranger.communicate(b"\n", timeout=PATIENCE)


def test_doctor_checks_the_server_and_its_keys(make_user: MakeUser) -> None:
    user = make_user("examined")
    user.ok("collection", "add", str(user.notes), "--name", "notes")

    def found() -> dict[str, tuple[str, str]]:
        told = json.loads(user.call("doctor", "--json").stdout)
        return {each["check"]: (each["level"], each["message"]) for each in told}

    assert found()["server"] == ("ok", "no server runs for this index")
    assert found()["keys"][0] == "ok"
    user.ok("keys", "add", "laptop")
    with server_of(user) as server:
        level, message = found()["server"]
        assert (level, str(server.port) in message, "answers" in message) == ("ok", True, True)
        # The process is alive but does not answer.
        server.process.send_signal(signal.SIGSTOP)
        assert found()["server"][0] == "problem"
        server.process.send_signal(signal.SIGCONT)
    assert found()["keys"] == ("ok", "keys of the server: laptop")
    (Path(user.environ["XDG_CONFIG_HOME"]) / "qmd" / "keys.json").write_text("{", encoding="utf-8")
    assert found()["keys"][0] == "problem"


def test_server_ends_without_an_error_while_a_body_arrives(host_reader: User) -> None:
    head = b"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with server_of(host_reader) as server, socket.socket() as connection:
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(head + b"expect: 100-continue\r\ncontent-length: 100\r\n\r\n")
        # The server waits for the body.
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100")
        assert server.end() == 0
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 503")
    log = (host_reader.home / "server.log").read_text()
    assert "Traceback" not in log
    assert "CancelledError" not in log


@pytest.mark.parametrize("words", ["server --transport http --port 0", "mcp --http --port 0", "mcp"])
def test_server_whose_package_is_replaced_says_so_and_ends(
    host_reader: User, tmp_path: Path, words: str
) -> None:
    package = tmp_path / "packages" / "qmd"
    shutil.copytree(Path(qmd.__file__).parent, package)
    with subprocess.Popen(
        [sys.executable, "-m", "qmd", *words.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**host_reader.environ, "PYTHONPATH": str(package.parent)},
        cwd=host_reader.home,
    ) as process:
        try:
            assert process.stdin
            assert process.stdout
            process.stdin.write(PING)
            process.stdin.flush()
            assert process.stdout.readline()
            package.rename(tmp_path / "before")
            shutil.copytree(tmp_path / "before", package)
            assert process.wait(PATIENCE) == 1
            assert process.stderr
            assert process.stderr.read().count(b"qmd has been replaced or removed while this server ran") == 1
        finally:
            process.kill()

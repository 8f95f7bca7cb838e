"""Limits on the time and number of connections."""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from qmd.server.body_limit import MAX_BODIES
from qmd.server.connections import MAX_UNREAD, Limits
from tests.clients import Client, Server, server_of
from tests.users import User
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

HEAD = b"POST /search HTTP/1.1\r\nhost: localhost\r\n"
TYPE = b"content-type: application/json\r\n"


@contextmanager
def connected(client: Client, sent: bytes = b"") -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", client.port), PATIENCE) as connection:
        connection.sendall(sent)
        yield connection


def rest(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection."""
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def is_ended(connection: socket.socket) -> bool:
    """Return whether the server closes a connection within a moment."""
    if not select.select([connection], [], [], 0.05)[0]:
        return False
    try:
        return connection.recv(1 << 16) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    ("half", "answer"),
    [
        (b"", b""),
        (b"POST /sea", b"HTTP/1.1 408 "),
        (HEAD, b"HTTP/1.1 408 "),
        (HEAD + TYPE + b'content-length: 20\r\n\r\n{"query":', b"HTTP/1.1 408 "),
        (HEAD + TYPE + b'transfer-encoding: chunked\r\n\r\n9\r\n{"query":', b"HTTP/1.1 408 "),
    ],
    ids=["nothing", "line", "head", "body", "chunks"],
)
def test_incomplete_request_times_out(owner: User, half: bytes, answer: bytes) -> None:
    with server_of(owner, QMD_REQUEST_TIMEOUT="1") as server, connected(server, half) as connection:
        told = rest(connection)
        assert told.startswith(answer)
        assert bool(told) == bool(answer)
        if told:
            assert json.loads(told.partition(b"\r\n\r\n")[2])["status_code"] == 408
        assert server.ok("GET", "/health")["status"] == "healthy"


def test_incomplete_write_with_valid_json_changes_nothing(owner: User) -> None:
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "notes")
    body = b'{"path": "qmd://notes", "text": "text"}'
    head = b"POST /contexts/add HTTP/1.1\r\nhost: localhost\r\n" + TYPE
    with server_of(owner, QMD_REQUEST_TIMEOUT="1") as server:
        with connected(server, head + b"content-length: 100\r\n\r\n" + body) as connection:
            assert rest(connection).startswith(b"HTTP/1.1 408 ")
        assert server.ok("GET", "/contexts")["contexts"] == []


def test_time_limit_does_not_apply_to_slow_answers(owner: User) -> None:
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "n")
    begun, go = owner.home / "begun", owner.home / "go"
    owner.ok("collection", "update-cmd", "n", f"mkfifo {go}; touch {begun}; cat {go}")
    with server_of(owner, QMD_REQUEST_TIMEOUT="1") as server, ExitStack() as stack:
        statuses: list[str] = []
        update = threading.Thread(target=lambda: statuses.append(server.post("/update")["status"]))
        update.start()
        until(begun.exists, update.is_alive)
        idle = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        stack.callback(idle.close)
        idle.request("GET", "/health")
        assert idle.getresponse().read()
        slow = stack.enter_context(connected(server, HEAD + TYPE + b"content-length: 5000000\r\n\r\n"))
        arrived = 0
        # The time limit, twice.
        for _ in range(2):
            with connected(server) as half:
                while not is_ended(half):
                    slow.sendall(b" " * 1000)
                    arrived += 1000
        idle.request("GET", "/health")
        assert idle.getresponse().status == 200
        slow.sendall(b'{"query": "words"}'.rjust(5_000_000 - arrived))
        assert slow.recv(15).startswith(b"HTTP/1.1 200")
        assert statuses == []
        go.write_bytes(b"")
        update.join(PATIENCE)
        assert statuses == ["updated"]


def test_idle_connection_outlives_clients_keep_alive(owner: User) -> None:
    assert Limits().idle == 75
    health = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with server_of(owner, QMD_KEEP_ALIVE="1") as server, connected(server, health) as connection:
        assert rest(connection).startswith(b"HTTP/1.1 200")


SIZE = 9_000_000


@pytest.fixture
def librarian(owner: User) -> User:
    """An owner with a document of 9 MB."""
    (owner.home / "folder" / "large.md").write_text("words\n" * (SIZE // 6), encoding="utf-8")
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "notes")
    return owner


def post(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + TYPE + b"\r\n" + body


READ_LARGE = post("/get", b'{"file": "notes/large.md"}')


@contextmanager
def slow_reader(client: Client, sent: bytes = READ_LARGE) -> Iterator[socket.socket]:
    """Connect a client that reads no more than its system buffers."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", client.port))
        connection.sendall(sent)
        yield connection


def is_complete(connection: socket.socket) -> bool:
    """Return whether a slow reader receives its whole answer if it reads now."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    left = SIZE
    while left > 0 and (part := connection.recv(1 << 20)):
        left -= len(part)
    return left <= 0


def test_client_that_does_not_read_its_answer_is_disconnected(librarian: User) -> None:
    with server_of(librarian, QMD_REQUEST_TIMEOUT="1") as server, slow_reader(server) as connection:
        log = librarian.home / "server.log"
        until(
            lambda: "the client does not read its answer" in log.read_text(),
            alive=lambda: server.ok("GET", "/health")["status"] == "healthy",
        )
        assert len(rest(connection)) < SIZE


def test_unread_answers_are_bounded_and_the_oldest_are_dropped(librarian: User) -> None:
    with server_of(librarian) as server, ExitStack() as stack:
        readers = []
        for _ in range(16):
            readers.append(stack.enter_context(slow_reader(server)))
            # The answer of this client has started before the next one sends its request.
            assert readers[-1].recv(12) == b"HTTP/1.1 200"
            assert server.post("/search", query="words")["results"]
        complete = [is_complete(reader) for reader in readers]
        # The system buffers less than half of an answer for a connection.
        assert complete.count(True) * SIZE / 2 < MAX_UNREAD
        assert complete == sorted(complete)
        assert complete[-1]
        assert len(server.post("/get", file="notes/large.md")["document"]["text"]) == SIZE


def memory(server: Server) -> int:
    """Return the bytes that a server has in memory."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")
def test_unread_answers_that_were_dropped_take_no_memory(librarian: User) -> None:
    with server_of(librarian) as server, ExitStack() as stack:
        for at in range(100):
            reader = stack.enter_context(slow_reader(server))
            assert reader.recv(12) == b"HTTP/1.1 200"
            if at == 0:
                before = memory(server)
        # Some copies of a few answers exist while they are made.
        assert memory(server) - before < MAX_UNREAD + 10 * SIZE


def test_request_waits_until_the_previous_answer_is_read(librarian: User) -> None:
    add = post("/contexts/add", b'{"path": "qmd://notes/sub", "text": "later"}')
    with server_of(librarian) as server, slow_reader(server, READ_LARGE + add) as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"
        # Writes happen in the order of their requests.
        server.post("/contexts/add", path="qmd://notes", text="now")
        assert [context["text"] for context in server.ok("GET", "/contexts")["contexts"]] == ["now"]
        assert is_complete(connection)
        until(lambda: len(server.ok("GET", "/contexts")["contexts"]) == 2)


def test_request_bodies_are_bounded_and_the_oldest_are_refused(librarian: User) -> None:
    head = HEAD + TYPE + f"connection: close\r\ncontent-length: {SIZE + 1}\r\n\r\n".encode()
    with server_of(librarian, QMD_REQUEST_TIMEOUT="600") as server, ExitStack() as stack:
        senders = [stack.enter_context(connected(server, head + b" " * SIZE)) for _ in range(12)]
        whole = b'{"query": "words"}'.rjust(SIZE)
        assert server.ask("POST", "/search", body=whole).json["results"]
        assert server.post("/search", query="words")["results"]
        statuses = []
        for sender in senders:
            with suppress(ConnectionError):
                sender.sendall(b" ")
            statuses.append(rest(sender)[9:12])
        assert statuses.count(b"503") >= 12 - MAX_BODIES // SIZE
        assert statuses == sorted(statuses, reverse=True)
        assert set(statuses) == {b"503", b"400"}


def test_half_open_connections_do_not_block_requests_or_fill_the_log(owner: User) -> None:
    with server_of(owner, files=256) as server, ExitStack() as stack:
        halves = [stack.enter_context(connected(server, HEAD)) for _ in range(400)]
        for _ in range(3):
            assert server.ok("GET", "/health")["status"] == "healthy"
        ended = [each for each in halves if is_ended(each)]
        # The server closes those that have waited longest, and no more than necessary.
        assert set(halves[:250]) <= set(ended)
        assert not set(halves[300:]) & set(ended)
    log = (owner.home / "server.log").read_text()
    assert "Traceback" not in log
    assert [line.split(": ", 1)[1] for line in log.splitlines()] == ["more than 128 connections are open"]


def test_connections_beyond_the_limit_are_refused_until_others_end(owner: User) -> None:
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "n")
    go = owner.home / "go"
    os.mkfifo(go)
    owner.ok("collection", "update-cmd", "n", f"cat {go}")
    update = b"POST /update HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with server_of(owner, files=128) as server:
        with ExitStack() as stack:
            # The server may close a connection without a request to accept this one.
            while (answer := server.ask("GET", "/health")).status == 200:
                stack.enter_context(connected(server, update))
            assert answer.detail(503) == "Too many connections are open"
        until(lambda: server.ask("GET", "/health").status == 200)
        go.write_bytes(b"")


def test_invalid_http_does_not_fill_the_log(owner: User) -> None:
    with server_of(owner) as server:
        for _ in range(50):
            with connected(server, b"nonsense\r\n\r\n") as connection:
                assert rest(connection).startswith(b"HTTP/1.1 400")
            server.ask("GET", "/health", host="evil.example")
    log = (owner.home / "server.log").read_text().splitlines()
    assert len(log) == 2, log

"""A server without keys answers the user who runs it, and no other user of the machine."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.clients import Server, server_of
from tests.users import MakeUser, User
from tests.waiting import PATIENCE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or os.getuid() != 0, reason="only root can run a client as another user"
    ),
]

NOBODY = 65534
#: What a request of each kind asks for: searches, changes, pages, files of the page, MCP, the command line.
REQUESTS = [
    ("GET", "/status"),
    ("GET", "/search?q=performance"),
    ("POST", "/search"),
    ("POST", "/query"),
    ("POST", "/collections"),
    ("POST", "/update"),
    ("GET", "/documents/notes/deploy.md"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/metrics"),
    ("GET", "/"),
    ("GET", "/?q=performance"),
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("GET", "/static/page.js"),
    ("GET", "/nothing-here"),
    ("POST", "/mcp"),
    ("POST", "/run"),
    ("DELETE", "/collections/notes"),
]


def asked(
    port: int, method: str, path: str, *, host: str = "127.0.0.1", key: str = "", body: str = "{}"
) -> str:
    """Return the answer to a request of the user `nobody`."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {f'[{host}]' if ':' in host else host}:{port}"]
    lines += [f"Authorization: Bearer {key}"] if key else []
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close", "", body]
    return as_nobody(port, "\r\n".join(lines), "cat <&3", host)


def as_nobody(port: int, request: str, then: str, host: str = "127.0.0.1") -> str:
    """Let the user `nobody` send a request, and run another command of the shell; return its output."""
    script = f"exec 3<>/dev/tcp/{host}/{port}; printf %s {shlex.quote(request)} >&3; {then}"
    return subprocess.run(
        ["bash", "-c", script],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    ).stdout


def status_of(answer: str) -> int:
    return int(answer.split()[1])


@pytest.fixture(scope="module")
def user(make_user: MakeUser) -> User:
    user = make_user("own")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    return user


@pytest.fixture(scope="module")
def server(user: User) -> Iterator[Server]:
    with server_of(user) as server:
        yield server


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_other_users_are_refused(server: Server, method: str, path: str) -> None:
    answer = asked(server.port, method, path)
    assert status_of(answer) == 401, answer
    detail = json.loads(answer.partition("\n\n")[2])["detail"]
    assert path == "/run" or ("qmd server keys add" in detail and "--trust-local-users" in detail)


def test_own_user_needs_nothing_and_everybody_may_ask_for_the_health(server: Server) -> None:
    assert status_of(asked(server.port, "GET", "/health")) == 200
    assert server.ok("GET", "/status")
    assert server.ask("GET", "/").status == 200
    assert server.mcp("ping").status == 200


def test_other_users_cannot_hide_by_closing_the_connection(server: Server, tmp_path: Path) -> None:
    body = json.dumps({"path": str(tmp_path), "name": "stolen"})
    head = f"POST /collections HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    for _ in range(20):
        as_nobody(server.port, f"{head}Content-Type: application/json\r\n\r\n{body}", "exec 3>&-")
    server.post("/update")  # waits for all changes that were asked for before
    assert "stolen" not in {each["name"] for each in server.ok("GET", "/status")["collections"]}


def test_many_connections_of_both_users_are_told_apart(server: Server) -> None:
    def ask(number: int) -> tuple[bool, int]:
        own = number % 4 > 0
        return own, server.ask("GET", "/status").status if own else status_of(
            asked(server.port, "GET", "/status")
        )

    with ThreadPoolExecutor(16) as threads:
        answers = [*threads.map(ask, range(160))]
    assert {(own, status) for own, status in answers} == {(True, 200), (False, 401)}


def test_other_users_get_in_with_a_key_or_if_the_server_trusts_them(make_user: MakeUser) -> None:
    user = make_user("trusting")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    with server_of(user, "--trust-local-users") as server:
        assert status_of(asked(server.port, "GET", "/status")) == 200
    key = re.search(r"qmd_\S+", user.ok("keys", "add", "guest"))
    assert key is not None
    with server_of(user) as server:
        assert status_of(asked(server.port, "GET", "/status")) == 401
        assert status_of(asked(server.port, "GET", "/status", key="qmd_wrong")) == 401
        assert status_of(asked(server.port, "GET", "/status", key=key[0])) == 200


@pytest.mark.skipif(
    subprocess.run(["unshare", "--user", "true"], check=False).returncode != 0, reason="no user namespaces"
)
def test_no_user_is_the_own_one_in_a_namespace_where_users_have_no_numbers(make_user: MakeUser) -> None:
    user = make_user("nameless")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    with server_of(user, before=["unshare", "--user"]) as server:
        assert status_of(asked(server.port, "GET", "/health")) == 200
        assert status_of(asked(server.port, "GET", "/status")) == 401


def test_users_are_told_apart_on_ipv6_and_by_the_server_of_mcp(make_user: MakeUser) -> None:
    user = make_user("six")
    for words in (["server", "--transport", "http", "--host", "::1"], ["mcp", "--http", "--host", "::1"]):
        with subprocess.Popen(
            [sys.executable, "-m", "qmd", *words, "--port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=user.environ,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                found = re.search(r"http://\[::1\]:(\d+)", process.stdout.readline())
                assert found is not None
                port = int(found[1])
                assert status_of(asked(port, "POST", "/mcp", host="::1")) == 401
                assert status_of(asked(port, "GET", "/health", host="::1")) == 200
                own = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://[::1]:{port}/mcp"]
                assert subprocess.run(own, capture_output=True, text=True, check=True).stdout == "405"
            finally:
                process.kill()

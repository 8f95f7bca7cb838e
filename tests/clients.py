"""Clients of a real HTTP server, over real sockets."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import Struct

from tests.users import User
from tests.waiting import PATIENCE


class Answer(Struct, frozen=True):
    """A response; names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    def detail(self, status: int) -> str:
        """Return the detail of an error. The test fails if it has another status or form."""
        assert self.status == status, self
        told = self.json
        assert set(told) == {"detail", "status_code"}
        assert told["status_code"] == status
        detail: str = told["detail"]
        return detail


class Client:
    """A client of the server at a port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(
        self,
        method: str,
        path: str,
        fields: Any = None,
        *,
        body: bytes | None = None,
        key: str | None = None,
        **headers: str,
    ) -> Answer:
        """Send a request with `fields` as JSON, or with `body` as it is.

        Names of headers have `_` in place of `-`.
        """
        if fields is not None:
            body = json.dumps(fields).encode()
        given = {"content-type": "application/json"} if body is not None else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            given["authorization"] = f"Bearer {key}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def ok(self, method: str, path: str, fields: Any = None, **more: Any) -> Any:
        """Return the answer to a request. The test fails if the request does."""
        answer = self.ask(method, path, fields, **more)
        assert answer.status == 200, answer
        return answer.json

    def mcp(self, method: str, *, key: str | None = None, **params: Any) -> Answer:
        """Send a message to `/mcp`."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.ask("POST", "/mcp", message, key=key, accept="application/json")

    def post(self, path: str, /, **fields: Any) -> Any:
        return self.ok("POST", path, fields)

    def refused(self, status: int, path: str, /, **fields: Any) -> str:
        """Return the detail of an error. The test fails if the request succeeds or has another status."""
        return self.ask("POST", path, fields).detail(status)


class Server(Client):
    """A server and its client."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        super().__init__(port)
        self.process = process

    def end(self) -> int:
        """Stop the server; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextmanager
def server_of(
    user: User, *args: str, files: int | None = None, before: Sequence[str] = (), **environ: str
) -> Iterator[Server]:
    """Run a server of a user at any free port, with its log in `server.log`.

    Args:
        files: The number of files that it may open, if limited.
        before: Words of a command that runs the server.
    """
    command = [*before, user.python, "-m", "qmd", "server", "--port", "0", *args]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    with (
        (user.home / "server.log").open("wb") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**user.environ, **environ},
            cwd=user.home,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            port = re.fullmatch(r"qmd serves HTTP at http://127\.0\.0\.1:(\d+)\n", line)
            assert port, line
            yield Server(process, int(port[1]))
        finally:
            with suppress(ProcessLookupError):
                process.kill()

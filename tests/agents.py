"""MCP clients that write raw messages: lines on the pipes of a real process, or HTTP requests to its port."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.users import User
from tests.waiting import PATIENCE

Message = dict[str, Any]

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Agent:
    """A client and its server over stdio."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._next = 0
        self._unread = b""

    def write(self, data: bytes) -> None:
        self._stdin.write(data)
        self._stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def receive(self) -> Message:
        """Return the next line. The test fails if it is no message."""
        while b"\n" not in self._unread:
            assert select.select([self._stdout], [], [], PATIENCE)[0], "no answer"
            read = os.read(self._stdout.fileno(), 1 << 20)
            assert read, "the server has ended"
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        message: Message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: Message | None = None) -> Message:
        """Send a request and return its answer. The test fails if another message comes first."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}})
        answer = self.receive()
        assert answer["id"] == self._next
        return answer

    def result(self, method: str, **params: Any) -> Message:
        answer = self.ask(method, params)
        assert "error" not in answer, answer
        result: Message = answer["result"]
        return result

    def error(self, method: str, **params: Any) -> Message:
        error: Message = self.ask(method, params)["error"]
        return error

    def call(self, tool: str, **arguments: Any) -> Message:
        return self.result("tools/call", name=tool, arguments=arguments)

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the first text of a tool call. The test fails if the call fails or has other content."""
        result = self.call(tool, **arguments)
        assert "isError" not in result, result
        texts: list[str] = [block["text"] for block in result["content"]]
        return texts[0]

    def failure(self, tool: str, **arguments: Any) -> str:
        """Return the text of a failed tool call. The test fails if the call succeeds."""
        result = self.call(tool, **arguments)
        assert result["isError"] is True, result
        (block,) = result["content"]
        text: str = block["text"]
        return text

    def greet(self, **changes: Any) -> Message:
        """Initialize the session; return what the server says about itself."""
        result = self.result("initialize", **INITIALIZE | changes)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def hang_up(self) -> tuple[int, list[Message]]:
        """Close stdin; return the exit code and the remaining messages."""
        self._stdin.close()
        rest = self._unread + self._stdout.read()
        code = self.process.wait(PATIENCE)
        return code, [json.loads(line) for line in rest.splitlines()]

    def close_stdout(self) -> None:
        self._stdout.close()


StartAgent = Callable[..., Agent]


@contextmanager
def agents() -> Iterator[StartAgent]:
    """Start servers; at the end, stop those that still run."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(
        user: User,
        *args: str,
        command: tuple[str, ...] = ("mcp",),
        stderr: int | None = subprocess.DEVNULL,
        cwd: Path | None = None,
        **environ: str,
    ) -> Agent:
        process = subprocess.Popen(
            [user.python, "-m", "qmd", *command, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**user.environ, **environ},
            cwd=cwd or user.home,
        )
        processes.append(process)
        return Agent(process)

    try:
        yield start
    finally:
        for process in processes:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None and not stream.closed:
                    with suppress(BrokenPipeError):
                        stream.close()


class Site:
    """A server over HTTP."""

    def __init__(self, port: int) -> None:
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def request(
        self, method: str = "POST", path: str = "/mcp", body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return (status, headers, body) of a request. Names of headers have `_` in place of `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given = {"content-type": "application/json", "accept": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def ask(self, rpc: str, **params: Any) -> Message:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": rpc, "params": params}).encode()
        status, _, answer = self.request(body=body)
        assert status == 200, answer
        message: Message = json.loads(answer)
        return message


@contextmanager
def site_of(user: User, *args: str, command: tuple[str, ...] = ("mcp",), **environ: str) -> Iterator[Site]:
    """Serve a user's index over HTTP, at any free port."""
    with agents() as start:
        process = start(user, "--http", "--port", "0", *args, command=command, **environ).process
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        port = re.search(r":(\d+)/mcp$", line.strip())
        assert port, line
        yield Site(int(port[1]))

"""A model server on loopback with the interface of OpenAI: small models that really compute, and failures."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct, field

from qmd.text.tokens import terms

#: (status, headers, body)
Reply = tuple[int, Mapping[str, str], bytes | Iterator[bytes]]
DIMENSION = 64


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    return status, headers, json.dumps(value).encode()


def streamed(*pieces: str, then: Callable[[], object] = lambda: None) -> Reply:
    """Return a chat completion in parts; `then` is called between the first and the second."""

    def parts() -> Iterator[bytes]:
        for number, piece in enumerate(pieces):
            if number == 1:
                then()
            yield f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n".encode()
        yield b"data: [DONE]\n\n"

    return 200, {"Content-Type": "text/event-stream"}, parts()


def embedding(text: str, dimension: int = DIMENSION) -> list[float]:
    """Return a vector with the words of a text hashed to dimensions: texts with common words are near."""
    vector = [0.01] * dimension
    for term in terms(text):
        vector[sum(ord(letter) * 31**at for at, letter in enumerate(term)) % dimension] += 1.0
    return vector


def overlap(query: str, passage: str) -> float:
    wanted = set(terms(query))
    return len(wanted & set(terms(passage))) / max(1, len(wanted))


class Server(Struct):
    """The requests so far, and how to answer the next ones.

    One of `faults` answers each request first; None stands for the usual answer. Requests to a path in `slow`
    are never answered.
    """

    url: str = ""
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    faults: list[Callable[[], Reply] | None] = field(default_factory=list)
    dimension: int = DIMENSION
    lines: str = ""
    speaks_tei: bool = False
    slow: set[str] = field(default_factory=set)
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        self.requests.append((path, headers, body))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            return fault()
        # A proxy gets the whole URL.
        if path in self.slow:
            return self.never()
        match path.removeprefix("http://models.example.com"):
            case "/v1/embeddings":
                rows = [
                    {"index": at, "embedding": embedding(text, self.dimension)}
                    for at, text in enumerate(body["input"])
                ]
                # Servers may answer in any order.
                return as_json({"data": rows[::-1]})
            case "/v1/chat/completions" if body.get("stream"):
                return streamed(*re.findall(r"(?s).{1,7}", self.lines))
            case "/v1/chat/completions":
                return as_json({"choices": [{"message": {"role": "assistant", "content": self.lines}}]})
            case "/v1/rerank" if self.speaks_tei:
                if "texts" not in body:
                    return as_json({"error": "missing field `texts`", "error_type": "Validation"}, 422)
                found = [overlap(body["query"], text) for text in body["texts"]]
                return as_json([{"index": at, "score": score} for at, score in enumerate(found)])
            case "/v1/rerank":
                found = [overlap(body["query"], text) for text in body["documents"]]
                rows = [{"index": at, "relevance_score": score} for at, score in enumerate(found)]
                return as_json({"results": sorted(rows, key=lambda row: -row["relevance_score"])})
        return as_json({"error": {"message": f"no such path: {path}"}}, 404)

    def asked(self, path: str) -> list[dict[str, Any]]:
        """Return the bodies of the requests to a path."""
        return [body for asked, _, body in self.requests if asked == path]

    def never(self) -> Reply:
        """Do not answer while the test runs."""
        self.released.wait()
        return as_json({})


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, headers, content = server.answer(self.path, dict(self.headers), body)
            try:
                self.send_response(status)
                length = {"Content-Length": str(len(content))} if isinstance(content, bytes) else {}
                for name, value in {**length, "Connection": "close", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for part in [content] if isinstance(content, bytes) else content:
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:
                pass  # the client has given up
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None: ...

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        http.shutdown()
        http.server_close()
        thread.join()

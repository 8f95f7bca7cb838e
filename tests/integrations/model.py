"""A model on the loopback, with the interfaces of Anthropic, OpenAI and Google: it searches once with qmd.

To a request that offers the tool `search` of qmd it answers with a call of that tool, and to the result with
a text. It keeps the requests, in which tests look for what a program has given its model.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct, field

Body = dict[str, Any]
CALL = "call_1"
_WAIT = "WaitForMcpServers"
DONE = "It was found."


class Model(Struct):
    """The model: its address, the query that it searches for, and the requests so far."""

    query: str
    url: str = ""
    requests: list[Body] = field(default_factory=list)

    @property
    def seen(self) -> str:
        """All requests as one text."""
        return json.dumps(self.requests, ensure_ascii=False)

    def answer(self, path: str, body: Body) -> list[tuple[str, Body]]:
        """Return the events of an answer, by name."""
        self.requests.append(body)
        sent = json.dumps(body)
        tool = "" if f'"{CALL}"' in sent or "functionResponse" in sent else _tool(body)
        # Claude Code waits for servers for a while, each time that the model asks it to.
        if CALL not in sent and not tool and _WAIT in _names(body.get("tools", [])):
            return [*_anthropic(_WAIT, {}, f"wait_{len(self.requests)}")]
        arguments = {"query": self.query}
        if "/messages" in path:
            return [*_anthropic(tool, arguments)]
        if "/responses" in path:
            return [*_responses(tool, arguments)]
        part: Body = {"functionCall": {"name": tool, "args": arguments}} if tool else {"text": DONE}
        content = {"role": "model", "parts": [part]}
        return [("", {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]})]


def _names(value: Any) -> Iterator[str]:
    """Yield the names of tools in the definitions of a request."""
    match value:
        case {"type": "namespace", "name": str(name), "tools": list(tools)}:
            yield from (f"{name}__{inner}" for inner in _names(tools))
        case {"functionDeclarations": tools}:
            yield from _names(tools)
        case {"name": str(name)}:
            yield name
        case list():
            for each in value:
                yield from _names(each)


def _tool(body: Body) -> str:
    """Return the tool `search` of qmd, as the program names it; "" if there is none."""
    return next(
        (name for name in _names(body.get("tools", [])) if "qmd" in name and name.endswith("_search")), ""
    )


def _anthropic(tool: str, arguments: Body, id_: str = CALL) -> Iterator[tuple[str, Body]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    events: list[Body] = [
        {"type": "message_start", "message": message | {"stop_reason": None, "usage": usage}}
    ]
    if tool:
        block: Body = {"type": "tool_use", "id": id_, "name": tool, "input": {}}
        delta: Body = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}
    stop = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
    events += [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]
    return ((event["type"], event) for event in events)


def _responses(tool: str, arguments: Body) -> Iterator[tuple[str, Body]]:
    item: Body
    if tool:
        item = {"type": "function_call", "id": "fc_1", "call_id": CALL, "arguments": json.dumps(arguments)}
        # Codex has the tools of a server in a namespace.
        space, _, name = tool.rpartition("__")
        item |= {"name": name, "namespace": space}
    else:
        content = [{"type": "output_text", "text": DONE, "annotations": []}]
        item = {"type": "message", "id": "m_1", "role": "assistant", "content": content}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield "response.created", {"type": "response.created", "response": {"id": "r_1"}}
    yield "response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield "response.completed", {"type": "response.completed", "response": {"id": "r_1", "usage": usage}}


@contextmanager
def serving(query: str) -> Iterator[Model]:
    """Serve the model on a free port of the loopback."""
    model = Model(query)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or b"{}")
            events = model.answer(self.path, body)
            lines = "".join(
                (f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n"
                for name, event in events
            )
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(lines)))
            self.end_headers()
            self.wfile.write(lines.encode())

        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()

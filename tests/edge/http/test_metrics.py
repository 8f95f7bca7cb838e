"""Metrics of a running server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import qmd
from qmd.installation import install_command
from tests.clients import Server, server_of
from tests.users import MakeUser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(make_user: MakeUser) -> Iterator[Server]:
    user = make_user("metered")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    with server_of(user) as server:
        yield server


def figures(server: Server) -> dict[str, float]:
    """Return the metrics by name and labels."""
    answer = server.ask("GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_requests_are_counted_by_route_and_status(server: Server) -> None:
    before = figures(server)
    server.ask("POST", "/search", {"query": "performance"})
    server.ask("POST", "/search", {"query": ""})
    server.ask("GET", "/collections/notes")
    server.ask("GET", "/collections/none")
    server.ask("GET", "/made/up")
    server.ask("BREW", "/search")
    server.mcp("ping")
    server.ask("GET", "/status", host="evil.example")
    after = figures(server)

    def more(method: str, route: str, status: int) -> float:
        name = f'qmd_requests_total{{method="{method}",route="{route}",status="{status}"}}'
        return after[name] - before.get(name, 0)

    assert more("POST", "/search", 200) == 1
    assert more("POST", "/search", 400) == 1
    assert more("GET", "/collections/{name}", 200) == 1
    assert more("GET", "/collections/{name}", 404) == 1
    assert more("GET", "none", 404) == 1
    assert more("GET", "none", 403) == 1
    assert more("POST", "/mcp", 200) == 1
    assert not any("BREW" in name or "made" in name for name in after)
    count = 'qmd_request_seconds_count{route="/search"}'
    assert after[count] - before.get(count, 0) >= 2


def test_metrics_cover_the_index_the_models_and_the_queue(server: Server) -> None:
    found = figures(server)
    assert found['qmd_documents{collection="notes"}'] == 11
    assert found['qmd_document_bytes{collection="notes"}'] > 0
    assert found["qmd_index_bytes"] > 0
    assert found["qmd_texts_without_vectors"] == 11
    assert found["qmd_models_loaded"] == 0
    assert found["qmd_writes_queued"] == 0
    assert found["qmd_requests_in_progress"] == 1


def test_metrics_without_prometheus_client_say_what_to_install(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    # Imported here, because the quick run imports the module but has no extra.
    from qmd.http.app import app
    from qmd.server.access import Gate
    from qmd.server.index_host import IndexHost

    sent: list[Any] = []

    async def ask() -> None:
        async def receive() -> Any:
            if sent:
                await anyio.sleep_forever()
            return {"type": "http.request", "body": b""}

        async def send(message: Any) -> None:
            sent.append(message)

        with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
            host = IndexHost(lambda: index)
            scope = {"type": "http", "method": "GET", "path": "/metrics", "headers": [], "query_string": b""}
            await app(host, environ, "127.0.0.1", Gate())(scope, receive, send)
            host.close()

    anyio.run(ask)
    assert sent[0]["status"] == 501
    assert install_command("server") in json.loads(sent[1]["body"])["detail"]

"""`/status`, `/health` and the description of the API."""

from __future__ import annotations

import re

import pytest

from tests.clients import Client, Server

ENDPOINTS = {
    "POST /search",
    "POST /vsearch",
    "POST /query",
    "POST /get",
    "POST /multi_get",
    "GET /status",
    "POST /embed",
    "POST /collections/add",
    "GET /collections",
    "GET /collections/{name}",
    "DELETE /collections/{name}",
    "PUT /collections/{name}",
    "POST /index",
    "POST /update",
    "POST /contexts/add",
    "GET /contexts",
    "DELETE /contexts/{path}",
    "GET /health",
}


def test_status_has_numbers_and_a_text(client: Client) -> None:
    found = client.ok("GET", "/status")
    assert set(found) == {
        "total_documents",
        "needs_embedding",
        "has_vector_index",
        "watching",
        "indexed_at",
        "collections",
        "dates",
        "languages",
        "content",
    }
    assert (found["total_documents"], found["needs_embedding"], found["has_vector_index"]) == (37, 37, False)
    notes, work, crowd = found["collections"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", notes.pop("last_updated"))
    assert notes == {"name": "notes", "path": notes["path"], "pattern": "**/*.md", "documents": 6}
    assert found["content"] == (
        "QMD Index Status:\n"
        "  Total documents: 37\n"
        "  Needs embedding: 37\n"
        "  Vector index: no\n"
        "  Collections: 3\n"
        f"    - {notes['path']} (6 docs)\n"
        f"    - {work['path']} (1 docs)\n"
        f"    - {crowd['path']} (30 docs)"
    )


@pytest.mark.slow
def test_status_of_a_missing_index_is_empty(bare: Client) -> None:
    found = bare.ok("GET", "/status")
    assert (found["total_documents"], found["collections"]) == (0, [])


@pytest.mark.slow
@pytest.mark.slow
def test_model_is_loaded_on_first_use(server: Server) -> None:
    assert server.ok("GET", "/health") == {"status": "healthy", "model_loaded": False, "watching": "off"}
    server.post("/embed", texts=["a text"])
    assert server.ok("GET", "/health") == {"status": "healthy", "model_loaded": True, "watching": "off"}


@pytest.mark.parametrize("path", ["/health", "/status", "/docs", "/openapi.json"])
def test_head_is_answered_like_get_without_a_body(client: Client, path: str) -> None:
    got, head = client.ask("GET", path), client.ask("HEAD", path)
    assert (head.status, head.body) == (200, b"")
    names = ("content-type", "content-length")
    assert [head.headers[name] for name in names] == [got.headers[name] for name in names]


def test_openapi_document_describes_every_endpoint(client: Client) -> None:
    document = client.ok("GET", "/openapi.json")
    described = {
        f"{method.upper()} {path}" for path, operations in document["paths"].items() for method in operations
    }
    assert described >= ENDPOINTS
    assert "/run" not in document["paths"]


def test_openapi_document_has_only_the_common_form_of_errors(client: Client) -> None:
    answer = client.ask("GET", "/openapi.json")
    assert b"422" not in answer.body
    assert b"ValidationError" not in answer.body
    for operations in answer.json["paths"].values():
        for operation in operations.values():
            for status, told in operation["responses"].items():
                if status != "200" and "content" in told:
                    (content,) = told["content"].values()
                    assert content["schema"]["$ref"].endswith(("/Error", "/Unhealthy"))
            assert {"400", "401", "403", "500", "503"} <= operation["responses"].keys()
            assert operation["description"]


def test_documentation_page_loads_nothing(client: Client) -> None:
    answer = client.ask("GET", "/docs")
    assert answer.status == 200
    page = answer.body.decode()
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    assert "<script" not in page
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    for endpoint in ENDPOINTS:
        method, path = endpoint.split()
        assert f"<b>{method}</b> {path}</code>" in page


@pytest.mark.parametrize("path", ["/redoc", "/docs/oauth2-redirect"])
def test_other_pages_of_documentation_are_absent(client: Client, path: str) -> None:
    client.ask("GET", path).detail(404)


def test_mcp_is_served_at_the_same_port(client: Client) -> None:
    told = client.ok(
        "POST",
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "search", "arguments": {"query": "zebra"}},
        },
        accept="application/json",
    )
    hits = told["result"]["structuredContent"]["results"]
    assert hits == client.post("/search", query="zebra")["results"]

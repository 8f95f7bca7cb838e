"""`/health`, `/search` and `/query` of `qmd mcp --http`, for clients of tobi/qmd."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents import Site
from tests.library import docid

SEARCHES = [{"type": "lex", "query": "travel"}]


def ask(site: Site, path: str, status: int = 200, method: str = "POST", **fields: Any) -> Any:
    body = json.dumps(fields).encode() if method == "POST" else None
    answered, headers, answer = site.request(method, path, body)
    assert (answered, headers["content-type"]) == (status, "application/json"), answer
    return json.loads(answer)


def test_rest_health_has_the_uptime(site: Site) -> None:
    found = ask(site, "/health", method="GET")
    assert set(found) == {"status", "uptime", "watching"}
    assert found["status"] == "ok"
    assert isinstance(found["uptime"], int)
    status, _, body = site.request("HEAD", "/health")
    assert (status, body) == (200, b"")


@pytest.mark.parametrize("path", ["/search", "/query"])
def test_rest_searches_return_encoded_uris(site: Site, path: str) -> None:
    asked = {"collections": ["notes"], "limit": 1, "minScore": 0.1, "rerank": False, "timeout": 2.0}
    found = ask(site, path, searches=SEARCHES, **asked)
    (hit,) = found["results"]
    named = {"docid", "file", "title", "score", "context", "line", "section", "snippet", "address"}
    assert hit.keys() == named
    zebra = ask(site, path, searches=[{"type": "lex", "query": "zebra"}], rerank=False)["results"]
    assert [(each["docid"], each["file"]) for each in zebra] == [
        (docid("notes", "odd #1?.md"), "qmd://notes/odd%20%231%3F.md")
    ]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"{", "the body is not JSON"),
        (b"[]", "the body must be a JSON object"),
        (b"{}", "give exactly one of query and searches"),
        (b'{"searches": [{"type": "x", "query": "q"}]}', "searches[0].type: "),
        (b'{"searches": [{"type": "lex", "query": "q"}], "collections": ["none"]}', ""),
    ],
    ids=str,
)
def test_rest_errors_have_the_common_form(site: Site, body: bytes, detail: str) -> None:
    status, _, answer = site.request("POST", "/query", body)
    told = json.loads(answer)
    assert status == told["status_code"]
    assert 400 <= status < 500
    assert told["detail"].startswith(detail)

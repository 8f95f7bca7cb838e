"""The audit log of a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.clients import server_of
from tests.users import User

pytestmark = pytest.mark.slow


def lines(user: User, kind: str = "audit") -> list[dict[str, Any]]:
    log = user.home / "cache" / "qmd" / f"server.{kind}.jsonl"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_audit_log_records_changes_and_refusals_with_the_key(owner: User) -> None:
    folder = str(owner.home / "folder")
    owner.ok("collection", "add", folder, "--name", "notes")
    admin = owner.ok("keys", "add", "admin").strip()
    reader = owner.ok("keys", "add", "reader", "--read-only").strip()
    with server_of(owner) as server:
        server.ask("POST", "/search", {"query": "private"}, key=admin)
        server.ask("POST", "/contexts/add", {"path": "qmd://notes", "text": "private"}, key=admin)
        server.ask("DELETE", "/collections/notes", key=reader)
        server.ask("POST", "/search", {"query": "private"})
        server.ask("GET", "/status", host="private.example", key=admin)
        server.ask("DELETE", "/collections/none", key=admin)
        for _ in range(20):
            server.ask("GET", "/" + "long" * 1000)
        assert server.end() == 0
    names = ("key", "action", "target", "outcome", "status")
    assert [tuple(each[name] for name in names) for each in lines(owner)] == [
        ("admin", "POST /contexts/add", "qmd://notes", "done", 200),
        ("admin", "DELETE /collections/none", "none", "failed", 404),
    ]
    refused = lines(owner, "refused")
    assert [tuple(each[name] for name in (*names, "source", "count")) for each in refused] == [
        ("reader", "DELETE /collections/notes", "notes", "refused", 403, "127.0.0.1", 1),
        (None, "POST /search", None, "refused", 401, "127.0.0.1", 1),
        (None, "GET /status", None, "refused", 403, "127.0.0.1", 1),
        (None, "POST /search", None, "refused", 401, "127.0.0.1", 20),
    ]
    assert "private" not in json.dumps([*lines(owner), *refused])


@pytest.mark.parametrize("asked", [True, False])
def test_audit_log_records_queries_if_requested(owner: User, asked: bool) -> None:
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "notes")
    with server_of(owner, *(["--log-queries"] if asked else [])) as server:
        server.ok("POST", "/search", {"query": "words of a.md"})
        server.mcp("tools/call", name="search", arguments={"query": "over mcp"})
        server.ok("POST", "/index", {})
    told = [(each["action"], each.get("query")) for each in lines(owner)]
    searches = [("POST /search", "words of a.md"), ("POST /mcp", "over mcp")]
    assert told == [*(searches if asked else []), ("POST /index", None)]

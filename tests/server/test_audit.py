"""The audit log: changes and refused requests, without text of documents or queries."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Receive, Scope, Send

from qmd.server.audit import BACKUPS, Audit
from qmd.server.keys import SCOPE_KEY, Key


def told(
    audit: Audit,
    method: str,
    path: str,
    body: Any = None,
    status: int | None = 200,
    source: str = "127.0.0.1",
) -> None:
    """Pass a request through the audit.

    Args:
        status: The status of the answer, or None if there is no answer.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        scope[SCOPE_KEY] = Key("laptop", "")
        await receive()
        if status is not None:
            await send({"type": "http.response.start", "status": status, "headers": []})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}

    async def send(message: Any) -> None:
        pass

    request = {"type": "http", "method": method, "path": path, "client": (source, 5)}
    anyio.run(audit.wrap(answer), request, receive, send)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "audit.jsonl"


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "refused.jsonl"


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


@pytest.mark.parametrize(
    ("request_", "target"),
    [
        (("POST", "/collections/add", {"name": "notes", "path": "/x"}), "notes"),
        (("POST", "/contexts/add", {"path": "qmd://notes", "text": "secret"}), "qmd://notes"),
        (("PUT", "/collections/notes", {"new_name": "work"}), "notes -> work"),
        (("DELETE", "/collections/notes"), "notes"),
        (("DELETE", "/contexts/notes/a/b"), "notes/a/b"),
        (("POST", "/index"), "all collections"),
        (("POST", "/update", {"pull": True}), "all collections"),
    ],
    ids=str,
)
def test_audit_logs_a_write_as_a_line(log: Path, request_: tuple[Any, ...], target: str) -> None:
    audit = Audit(str(log))
    told(audit, *request_)
    audit.close()
    (line,) = lines(log)
    assert line.pop("time").endswith("Z")
    assert line == {
        "key": "laptop",
        "action": f"{request_[0]} {request_[1]}",
        "target": target,
        "outcome": "done",
        "status": 200,
    }
    assert "secret" not in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, "done"),
        (400, "failed"),
        (500, "failed"),
        (None, "unanswered"),
    ],
)
def test_audit_logs_the_outcome_of_a_write(log: Path, status: int | None, outcome: str) -> None:
    audit = Audit(str(log))
    told(audit, "POST", "/index", status=status)
    audit.close()
    assert [(line["status"], line["outcome"]) for line in lines(log)] == [(status, outcome)]


@pytest.mark.parametrize("status", [401, 403, 413])
def test_audit_logs_refused_requests_to_a_separate_file(log: Path, refused: Path, status: int) -> None:
    audit = Audit(str(log))
    told(audit, "POST", "/search", {"query": "private"}, status)
    (line,) = lines(refused)
    audit.close()
    assert (line["action"], line["outcome"], line["target"]) == ("POST /search", "refused", None)
    assert (line["source"], line["key"], line["count"]) == ("127.0.0.1", "laptop", 1)
    assert "private" not in refused.read_text(encoding="utf-8")
    assert not log.exists()


def test_refusals_do_not_push_writes_out_of_the_audit_log(log: Path, refused: Path) -> None:
    now = 0.0
    audit = Audit(str(log), size=2000, clock=lambda: now)
    told(audit, "POST", "/index")
    for number in range(1000):
        told(audit, "DELETE", f"/collections/{number}" + "a" * 1000, status=401)
    assert len(lines(refused)) == 1
    told(audit, "DELETE", "/collections/a", status=401, source="10.0.0.1")
    now = 60.0
    told(audit, "GET", "/health")
    found = [(line["source"], line["status"], line["count"]) for line in lines(refused)]
    assert found == [("127.0.0.1", 401, 1), ("10.0.0.1", 401, 1), ("127.0.0.1", 401, 999)]
    assert max(len(line["action"]) for line in lines(refused)) == 100
    told(audit, "POST", "/search", status=401)
    audit.close()
    assert [line["count"] for line in lines(refused)][3:] == [1]
    assert [line["action"] for line in lines(log)] == ["POST /index"]


def test_audit_counts_refusals_of_many_sources_together(log: Path, refused: Path) -> None:
    audit = Audit(str(log))
    for number in range(500):
        told(audit, "POST", "/search", status=401, source=f"10.0.0.{number}")
    audit.close()
    assert len(lines(refused)) <= 102
    assert sum(line["count"] for line in lines(refused)) == 500
    assert lines(refused)[-1]["source"] == "others"


SEARCHES: list[tuple[str, Any]] = [
    ("/search", {"query": "private"}),
    ("/pack", {"query": "private"}),
    ("/recall", {"prompt": "private"}),
    ("/documents/notes/private.md/similar", None),
    ("/query", {"searches": [{"type": "lex", "query": "private"}]}),
    ("/mcp", {"method": "tools/call", "params": {"name": "query", "arguments": {"query": "private"}}}),
]


@pytest.mark.parametrize(("path", "body"), SEARCHES, ids=str)
def test_audit_logs_queries_only_on_request(log: Path, path: str, body: Any) -> None:
    method = "POST" if body else "GET"
    audit = Audit(str(log))
    told(audit, method, path, body)
    assert lines(log) == []
    audit.close()
    audit = Audit(str(log), log_queries=True)
    told(audit, method, path, body)
    told(audit, "GET", "/status")
    audit.close()
    (line,) = lines(log)
    assert "private" in line["query"]


@pytest.mark.parametrize(
    "body", [None, [], "text", {"name": 5}, {"name": "n" * 300_000}], ids=lambda b: str(b)[:20]
)
def test_audit_line_is_short_for_any_body(log: Path, body: Any) -> None:
    audit = Audit(str(log))
    told(audit, "POST", "/collections/add", body, 400)
    audit.close()
    assert len(lines(log)) == 1
    assert log.stat().st_size < 5000


def test_audit_log_is_private_and_rotates(log: Path) -> None:
    audit = Audit(str(log), size=1000)
    for _ in range(100):
        told(audit, "POST", "/index")
    audit.close()
    files = sorted(log.parent.iterdir())
    assert len(files) == 1 + BACKUPS
    for file in files:
        assert file.stat().st_size <= 1000
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert lines(file)

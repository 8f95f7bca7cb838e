"""Endpoints do what the table of operations says: changes are logged, and refused to some keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from qmd.api.operation import Operation
from qmd.api.table import TABLE
from tests.clients import Answer, Server, server_of
from tests.edge.cli.test_help import ALL
from tests.users import User

COMMANDS = {" ".join(path) for path, _ in ALL}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.route)
def test_every_row_is_documented(row: Operation) -> None:
    assert row.run.__doc__
    assert row.takes_body == (row.body is not None)
    assert row.command is None or row.command in COMMANDS
    assert row.in_path == () or row.at


@pytest.mark.slow
def test_keys_and_the_audit_log_follow_the_table(owner: User) -> None:
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "notes")
    admin, reader, limited = (
        owner.ok("keys", "add", name, *options).strip()
        for name, options in (
            ("admin", []),
            ("reader", ["--read-only"]),
            ("limited", ["--collection", "notes"]),
        )
    )

    def ask(server: Server, row: Operation, key: str) -> Answer:
        path = row.path.replace("{name}", "notes").replace("{path}", "notes")
        body: Any = row.body
        if row.path == "/collections/add":
            body = {"name": "others", "path": str(owner.home / "notes")}
        return server.ask(row.method, path, body, key=key)

    with server_of(owner) as server:
        for row in TABLE:
            assert (ask(server, row, reader).status == 403) == row.writes, row.route
        for row in TABLE:
            refused = ask(server, row, limited).status == 403 if row.everything or not row.writes else False
            assert refused == row.everything, row.route
        changes = [row for row in TABLE if row.writes]
        for row in changes:
            ask(server, row, admin)
        assert server.end() == 0
    log = (owner.home / "cache" / "qmd" / "server.audit.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in log.splitlines()]
    actions = [line["action"].split()[0] for line in lines if line["key"] == "admin"]
    assert actions == [row.method for row in changes]

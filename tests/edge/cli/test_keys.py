"""`qmd server keys`: adding, listing and removing API keys."""

from __future__ import annotations

import json
import re

from tests.edge.cli.schemas import faults, schema
from tests.users import User


def test_keys_add_prints_the_key_once_and_nothing_else(user: User) -> None:
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    made = user.call("keys", "add", "laptop", "--collection", "notes", "--read-only")
    assert made.returncode == 0
    assert re.fullmatch(r"qmd_[A-Za-z0-9_-]{43}\n", made.stdout)
    assert "only this once" in made.stderr
    assert made.stdout.strip() not in user.ok("keys", "list") + user.ok("keys", "list", "--json")


def test_keys_list_shows_permissions(user: User) -> None:
    assert user.ok("keys", "list") == "No keys: the server of this index answers without one.\n"
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("keys", "add", "all")
    user.ok("keys", "add", "agent", "-c", "notes", "--read-only", "--agent")
    rows = json.loads(user.ok("keys", "list", "--json"))
    assert [(row["name"], row["collections"], row["read_only"], row["agent"]) for row in rows] == [
        ("all", None, False, False),
        ("agent", ["notes"], True, True),
    ]
    assert faults(rows, schema("keys list")) == []
    header, first, second = user.ok("keys", "list").splitlines()
    assert header.split() == ["Name", "Limited", "to", "Read", "only", "Agent", "Created"]
    assert first.split()[:2] == ["all", "no"]
    assert second.split()[:4] == ["agent", "notes", "yes", "yes"]


def test_keys_remove_deletes_the_key(user: User) -> None:
    user.ok("keys", "add", "one")
    assert user.ok("keys", "remove", "one") == "Removed the key 'one'\n"
    again = user.call("keys", "remove", "one")
    assert (again.returncode, again.stderr.splitlines()[0]) == (1, "Error: no key is named 'one'")


def test_keys_belong_to_one_index(user: User) -> None:
    user.ok("keys", "add", "one", "--index", "work")
    assert json.loads(user.ok("keys", "list", "--json")) == []
    assert [row["name"] for row in json.loads(user.ok("keys", "list", "--json", "--index", "work"))] == [
        "one"
    ]


def test_keys_add_refuses_an_unknown_collection(user: User) -> None:
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    found = user.call("keys", "add", "one", "-c", "note")
    assert (found.returncode, found.stdout) == (1, "")
    assert "did you mean 'notes'?" in found.stderr
    assert json.loads(user.ok("keys", "list", "--json")) == []


def test_server_on_a_public_address_needs_a_key(user: User) -> None:
    refused = user.call("server", "--transport", "http", "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 2
    assert "qmd server keys add" in refused.stderr

"""States of documents on the command line: every format, `--state`, `--current` and `qmd doctor --stale`."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest

from tests.edge.cli.schemas import faults, schema
from tests.users import MakeUser, User

NOTES = {
    "old.md": "---\nsuperseded_by: new.md\n---\n# Old\n\nThe heron heron script.\n",
    "new.md": "# New\n\nThe heron reads it.\n",
    "gone.md": "---\nexpires: 2024-05-01\n---\n# Gone\n\nA heron.\n",
    "guide.md": "# Guide\n\n[The way](old.md) of the heron.\n",
}


@pytest.fixture(scope="module")
def keeper(make_user: MakeUser) -> User:
    user = make_user("states")
    for path, text in NOTES.items():
        file = user.home / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(user.home / "vault"), "--name", "vault")
    return user


def test_every_format_says_the_state(keeper: User) -> None:
    line = "superseded by vault/new.md"
    assert f"\nState: {line}\n" in keeper.ok("search", "heron")
    found = json.loads(keeper.ok("search", "heron", "--json", "--explain"))
    assert faults(found, schema("Results")) == []
    by_title = {hit["title"]: hit.get("state") for hit in found}
    assert by_title == {
        "Old": {"name": "superseded", "by": "vault/new.md"},
        "New": None,
        "Gone": {"name": "expired", "date": "2024-05-01"},
        "Guide": None,
    }
    rows = csv.DictReader(io.StringIO(keeper.ok("search", "heron", "--csv")))
    assert {row["title"]: row["state"] for row in rows}["Old"] == line
    assert f"\n**state:** {line}\n" in keeper.ok("search", "heron", "--md")
    root = ElementTree.fromstring(keeper.ok("search", "heron", "--xml"))
    assert {file.get("title"): file.get("state") for file in root}["Old"] == line
    assert f'qmd://vault/old.md,"{line}"\n' in keeper.ok("search", "heron", "--files")


def test_state_and_current_filter_searches_and_lists(keeper: User) -> None:
    def titles(*args: str) -> set[str]:
        return {hit["title"] for hit in json.loads(keeper.ok(*args, "--json"))}

    assert titles("search", "heron", "--current") == {"New", "Guide"}
    assert titles("search", "heron", "--state", "superseded,expired") == {"Old", "Gone"}
    assert titles("search", "heron", "--state", "superseded", "--state", "expired") == {"Old", "Gone"}
    assert titles("search", "state:expired") == {"Gone"}
    assert titles("ls", "vault", "--state", "superseded") == {"Old"}
    refused = keeper.call("search", "heron", "--state", "ancient")
    assert refused.returncode == 2 and "one of current, draft" in refused.stderr


def test_get_notes_the_state_beside_the_text(keeper: User) -> None:
    result = keeper.call("get", "vault/old.md")
    assert result.stdout == NOTES["old.md"]
    assert result.stderr == "note: vault/old.md is superseded by vault/new.md\n"
    assert json.loads(keeper.ok("get", "vault/old.md", "--json"))["state"]["by"] == "vault/new.md"
    assert "\nState: expired on 2024-05-01\n" in keeper.ok("multi-get", "vault/gone.md")


def test_why_says_that_a_document_was_raised(keeper: User) -> None:
    told = keeper.ok("why", "vault/new.md", "script")
    assert "above vault/old.md, which it replaces" in told


def test_doctor_stale_lists_only_what_is_out_of_date(keeper: User) -> None:
    found = json.loads(keeper.ok("doctor", "--stale", "--json"))
    assert faults(found, schema("doctor")) == []
    assert [(row["level"], row["check"], row["message"]) for row in found] == [
        ("warning", "expired", "vault/gone.md expired on 2024-05-01"),
        ("warning", "link", "vault/guide.md:3 -> vault/old.md, superseded by vault/new.md"),
    ]
    assert "1 superseded, 1 expired" in keeper.ok("status")

"""States of documents over HTTP, for everyone and for the holder of a restricted key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients import Client, server_of
from tests.users import MakeUser, User


@pytest.fixture(scope="module")
def keeper(make_user: MakeUser) -> User:
    user = make_user("http-states")
    for path, text in {
        "open/old.md": "---\nsuperseded_by: qmd://secret/new.md\n---\n# Old\n\nThe heron script.\n",
        "open/kept.md": "# Kept\n\nThe heron reads it.\n",
        "secret/new.md": "---\nsupersedes: open/kept.md\n---\n# New\n\nA heron.\n",
    }.items():
        file = user.home / "library" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in ("open", "secret"):
        user.ok("collection", "add", str(user.home / "library" / name), "--name", name)
    return user


@pytest.fixture(scope="module")
def client(keeper: User) -> Iterator[Client]:
    with server_of(keeper) as server:
        yield server


def test_hits_and_documents_carry_the_state(client: Client) -> None:
    found = client.post("/search", query="heron", collections=["open"], state=["superseded"])
    assert {hit["file"]: hit["state"]["by"] for hit in found["results"]} == {
        "open/old.md": "secret/new.md",
        "open/kept.md": "secret/new.md",
    }
    current = client.post("/search", query="heron", current=True)["results"]
    assert [hit["file"] for hit in current] == ["secret/new.md"]
    document = client.post("/get", file="open/kept.md")["document"]
    assert document["state"] == {"name": "superseded", "by": "secret/new.md"}

"""`/collections`: adding, listing, showing, renaming and removing, with exact answers."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

import pytest

from tests.clients import Client, Server
from tests.users import User

pytestmark = pytest.mark.slow


def test_collection_is_added_shown_renamed_and_removed(server: Server, owner: User) -> None:
    folder = str(owner.home / "folder")
    assert server.ok("GET", "/collections") == {"collections": [], "content": "Collections: 0"}

    assert server.post("/collections/add", name="n", path=folder) == {
        "status": "added",
        "name": "n",
        "path": folder,
        "documents": 3,
        "problems": [],
        "notices": [],
        "content": "Added collection 'n' with 3 documents",
    }
    known = {"name": "n", "path": folder, "pattern": "**/*.md", "documents": 3}
    assert server.ok("GET", "/collections") == {
        "collections": [known],
        "content": "Collections: 1\n- n (3 docs)",
    }
    shown = server.ok("GET", "/collections/n")
    assert shown.pop("last_indexed").endswith("Z")
    assert shown == known | {"formats": []}

    assert server.ok("PUT", "/collections/n", {"new_name": "m"}) == {
        "status": "renamed",
        "old_name": "n",
        "new_name": "m",
        "content": "Renamed 'n' to 'm'",
    }
    assert server.post("/search", query="words", collection="m")["content"].startswith("Found 3 results")
    assert server.ok("DELETE", "/collections/m") == {
        "status": "removed",
        "name": "m",
        "content": "Removed collection 'm'",
    }
    assert server.post("/search", query="words")["results"] == []
    assert os.path.exists(f"{folder}/a.md")


def test_content_has_singular_for_one_document(server: Server, owner: User) -> None:
    added = server.post(
        "/collections/add", name="n", path=str(owner.home / "folder"), glob_pattern="sub/*.md"
    )
    assert (added["documents"], added["content"]) == (1, "Added collection 'n' with 1 document")
    assert server.ok("GET", "/collections")["content"] == "Collections: 1\n- n (1 doc)"
    assert server.ok("GET", "/collections/n")["pattern"] == "sub/*.md"


def test_command_line_sees_changes_of_the_server(server: Server, owner: User) -> None:
    server.post("/collections/add", name="n", path=str(owner.home / "folder"))
    assert "n" in owner.ok("collection", "list")
    owner.ok("collection", "rename", "n", "m")
    assert server.ok("GET", "/collections/m")["documents"] == 3


def test_collection_name_in_a_url_is_decoded(server: Server, owner: User) -> None:
    for name in ("with space", "数据库", "a%2Fb", "q?x=1", "#1", "add"):
        path = f"/collections/{quote(name, safe='')}"
        server.post("/collections/add", name=name, path=str(owner.home / "folder"))
        assert server.ok("GET", path)["name"] == name
        assert server.ok("DELETE", path)["name"] == name


def test_collections_add_expands_a_tilde(server: Server, owner: User) -> None:
    assert server.post("/collections/add", name="n", path="~/folder")["path"] == str(owner.home / "folder")


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"path": "~/folder"}, "name is missing"),
        ({"name": "n"}, "path is missing"),
        (
            {"name": "n", "path": "~/folder", "mask": "*"},
            "mask: unknown field (did you mean glob_pattern?); known fields: name, path, glob_pattern",
        ),
        ({"name": "n", "path": "folder"}, "path: folder is relative (give an absolute path"),
        ({"name": "n", "path": "/no/such/folder"}, "/no/such/folder does not exist"),
        ({"name": "n", "path": "/no\0such"}, "/no\0such does not exist"),
        ({"name": "n", "path": "~/folder/a.md"}, "~/folder/a.md is not a folder"),
        ({"name": "a/b", "path": "~/folder"}, "Not a collection name: 'a/b' contains a slash"),
        ({"name": "", "path": "~/folder"}, "Not a collection name: '' is empty"),
        ({"name": "n", "path": "~/folder", "glob_pattern": ""}, "A collection needs a folder and a pattern"),
    ],
)
def test_failed_collections_add_changes_nothing(bare: Client, fields: dict[str, Any], detail: str) -> None:
    assert bare.refused(400, "/collections/add", **fields).startswith(detail)
    assert bare.ok("GET", "/collections")["collections"] == []


def test_collections_add_and_rename_refuse_a_taken_name(server: Server) -> None:
    server.post("/collections/add", name="n", path="~/folder")
    server.post("/collections/add", name="m", path="~/folder/sub")
    assert server.refused(400, "/collections/add", name="n", path="~/notes").startswith(
        "Collection 'n' already exists."
    )
    told = server.ask("PUT", "/collections/n", {"new_name": "m"}).detail(400)
    assert told.startswith("Collection 'm' already exists.")
    assert {each["name"] for each in server.ok("GET", "/collections")["collections"]} == {"n", "m"}


@pytest.mark.parametrize(
    ("method", "fields"), [("GET", None), ("DELETE", None), ("PUT", {"new_name": "x"})], ids=str
)
def test_missing_collection_is_not_found(bare: Client, method: str, fields: dict[str, str] | None) -> None:
    told = bare.ask(method, "/collections/nothing", fields).detail(404)
    assert told.startswith("Collection not found: nothing")


def test_collections_rename_refuses_an_invalid_name(server: Server) -> None:
    server.post("/collections/add", name="n", path="~/folder")
    for fields, detail in (
        ({}, "new_name is missing"),
        (
            {"new_name": "x", "name": "y"},
            "name: unknown field (did you mean new_name?); known fields: new_name",
        ),
        ({"new_name": "a/b"}, "Not a collection name: 'a/b' contains a slash"),
    ):
        assert server.ask("PUT", "/collections/n", fields).detail(400).startswith(detail)

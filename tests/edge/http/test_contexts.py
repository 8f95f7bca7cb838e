"""`/contexts`: adding, listing and removing, with every notation of a path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.clients import Server, server_of
from tests.users import MakeUser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(make_user: MakeUser) -> Iterator[tuple[Server, Path]]:
    """A server with one collection, and the folder of that."""
    user = make_user("http-contexts")
    with server_of(user) as server:
        server.post("/collections/add", name="n", path=str(user.notes))
        yield server, user.notes


@pytest.fixture
def described(place: tuple[Server, Path]) -> Server:
    """The server with one context."""
    server, _ = place
    for context in listed(server):
        server.ok("DELETE", f"/contexts/{quote(context['path'], safe='')}")
    server.post("/contexts/add", path="qmd://n/2026", text="What is below")
    return server


def listed(server: Server) -> list[dict[str, str]]:
    found: list[dict[str, str]] = server.ok("GET", "/contexts")["contexts"]
    return found


def test_contexts_add_shows_the_context_with_documents(described: Server) -> None:
    assert described.post("/contexts/add", path="/", text="Everything") == {
        "status": "added",
        "path": "/",
        "content": "Added context for /",
    }
    assert listed(described) == [
        {"path": "qmd://", "text": "Everything"},
        {"path": "qmd://n/2026", "text": "What is below"},
    ]
    text = described.post("/get", file="old notes.md")["document"]["text"]
    assert text.startswith("<!-- Context: Everything\n\nWhat is below -->\n\n# Old")


@pytest.mark.parametrize(
    "path",
    ["qmd://n/2026", quote("qmd://n/2026", safe=""), "qmd:%2F%2Fn/2026", "n/2026", "n%2F2026", "n/2026/"],
)
def test_contexts_delete_takes_encoded_and_plain_paths(described: Server, path: str) -> None:
    told = described.ok("DELETE", f"/contexts/{path}")
    assert told["status"] == "removed"
    assert told["path"].removeprefix("qmd://").rstrip("/") == "n/2026"
    assert listed(described) == []


@pytest.mark.parametrize("path", ["/", "%2F", "qmd://"])
def test_contexts_delete_takes_the_root(described: Server, path: str) -> None:
    described.post("/contexts/add", path="/", text="Everything")
    described.ok("DELETE", f"/contexts/{path}")
    assert [each["path"] for each in listed(described)] == ["qmd://n/2026"]


@pytest.mark.parametrize("encoded", [True, False])
def test_contexts_take_a_folder_on_disk(described: Server, place: tuple[Server, Path], encoded: bool) -> None:
    folder = str(place[1] / "2026")
    added = described.post("/contexts/add", path=folder, text="By its folder")
    assert (added["path"], added["content"]) == (folder, f"Added context for {folder}")
    assert listed(described) == [{"path": "qmd://n/2026", "text": "By its folder"}]
    described.ok("DELETE", f"/contexts/{quote(folder, safe='') if encoded else folder}")
    assert listed(described) == []


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("qmd://n/other", "No context for qmd://n/other"),
        ("qmd://gone", "Collection not found: gone"),
        ("/no/such/folder", "/no/such/folder is in no collection"),
        ("a%00b", "Collection not found: a\0b"),
        ("/a%00b", "/a\0b is in no collection"),
        ("%FF", "Collection not found: \ufffd"),
    ],
)
def test_contexts_delete_of_a_missing_context_is_not_found(described: Server, path: str, detail: str) -> None:
    assert described.ask("DELETE", f"/contexts/{path}").detail(404).startswith(detail)
    assert len(listed(described)) == 1


def test_contexts_delete_refuses_an_empty_path(described: Server) -> None:
    described.post("/contexts/add", path="/", text="Everything")
    assert described.ask("DELETE", "/contexts/").detail(400).startswith("the path is empty")
    assert len(listed(described)) == 2


@pytest.mark.parametrize(
    ("status", "path", "text", "detail"),
    [
        (400, "n", " ", "The context is empty."),
        (404, "gone/sub", "x", "Collection not found: gone"),
        (404, "/no/such/folder", "x", "/no/such/folder is in no collection"),
        (400, "", "x", "the path is empty"),
    ],
)
def test_failed_contexts_add_changes_nothing(
    described: Server, status: int, path: str, text: str, detail: str
) -> None:
    assert described.refused(status, "/contexts/add", path=path, text=text).startswith(detail)
    assert len(listed(described)) == 1

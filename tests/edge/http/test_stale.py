"""Files that are gone or have changed since they were indexed, and names of files, on all faces."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.clients import Client, server_of
from tests.users import MakeUser, User

_COMPOSED = "Übung/déjà.md"
_DISK = unicodedata.normalize("NFD", _COMPOSED)


@pytest.fixture(scope="module")
def keeper(make_user: MakeUser) -> User:
    user = make_user("http-stale")
    texts = {name: f"# {name}\n\nThe heron.\n" for name in ("same.md", "gone.md", "edited.md", "touched.md")}
    texts |= {_DISK: "# Nfd\n\nThe ibis.\n", "links.md": f"See [[{_COMPOSED}]] and [it]({_DISK}).\n"}
    for path, text in texts.items():
        file = user.home / "library" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(user.home / "library"), "--name", "notes")
    (user.home / "library/gone.md").unlink()
    os.utime(user.home / "library/touched.md", (1, 1))  # the same text at another time
    (user.home / "library/edited.md").write_text("# Edited\n\nThe heron and the stork.\n", encoding="utf-8")
    return user


@pytest.fixture(scope="module")
def client(keeper: User) -> Iterator[Client]:
    with server_of(keeper, "--no-watch") as server:
        yield server


def test_hits_and_documents_say_that_their_file_is_gone_or_has_changed(client: Client) -> None:
    told = {"notes/gone.md": "gone", "notes/edited.md": "changed"}
    hits = client.post("/search", query="heron")["results"]
    assert {hit["file"]: hit["stale"] for hit in hits if "stale" in hit} == told
    assert len(hits) == 4
    for file, state in told.items():
        document = client.post("/get", file=file)["document"]
        assert document["stale"] == state and document["text"].startswith("<!-- Stale: its file ")
        assert "its file" in client.ask("GET", f"/read/{file}").text
    assert "stale" not in client.post("/get", file="notes/same.md")["document"]
    assert "stale" not in client.post("/get", file="notes/touched.md")["document"]
    assert "stale" not in client.post("/get", file=f"notes/{_DISK}")["document"]
    found = client.mcp("tools/call", name="search", arguments={"query": "heron"}).json["result"]
    hits = found["structuredContent"]["results"]
    assert {hit["file"]: hit["stale"] for hit in hits if "stale" in hit} == told
    text = found["content"][0]["text"]
    assert "[its file is gone]" in text and "[its file has changed since it was indexed]" in text
    assert "its file is gone" in client.ask("GET", "/?q=heron").text


def test_documents_are_found_by_names_as_the_disk_has_them(client: Client, keeper: User) -> None:
    for name in (_DISK, _COMPOSED):
        assert "ibis" in client.post("/get", file=name)["document"]["text"]
        (document,) = client.post("/multi_get", pattern=f"notes/{name}")["results"]
        assert "ibis" in document["text"]
        found = client.mcp("tools/call", name="get", arguments={"file": f"notes/{name}"}).json["result"]
        assert "ibis" in str(found["content"])
        for reference in (name, f"qmd://notes/{name}", str(keeper.home / "library" / name), f"{name}:2"):
            assert "ibis" in keeper.call("get", reference).stdout, reference
        assert _COMPOSED in keeper.ok("ls", f"notes/{name.partition('/')[0]}")
    links = client.ok("GET", f"/documents/{quote(_DISK)}/links")["backlinks"]
    assert [link["file"] for link in links] == ["notes/links.md"] * 2


def test_fresh_reads_files_anew_that_are_gone_or_have_changed(make_user: MakeUser) -> None:
    user = make_user("fresh")
    folder = user.home / "notes"
    folder.mkdir(exist_ok=True)
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).write_text(f"# {name}\n\nThe heron.\n", encoding="utf-8")
    user.ok("collection", "add", str(folder), "--name", "notes")

    def change(name: str, text: str) -> None:
        Path(folder / name).write_text(text, encoding="utf-8")

    change("a.md", "# New\n\nThe heron and the stork.\n")
    assert "stork" not in (said := user.call("get", "a.md")).stdout
    assert "notes/a.md is changed on the disk since it was indexed: 'qmd update' or --fresh" in said.stderr
    assert "its file has changed since it was indexed" in user.ok("search", "heron")
    assert "stork" in (said := user.call("get", "a.md", "--fresh")).stdout and not said.stderr
    change("b.md", "# Other\n\nNothing of it.\n")
    (folder / "c.md").unlink()
    assert user.ok("search", "heron", "--fresh", "--files").count("notes/") == 1
    assert user.ok("search", "nothing", "--files").count("notes/b.md") == 1
    change("a.md", "# New\n\nThe ibis.\n")
    assert "ibis" in user.ok("multi-get", "*.md", "--fresh")

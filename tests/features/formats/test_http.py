"""Source formats over HTTP: collections have formats, and answers have the anchors of source files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.clients import Server
from tests.files import pdf
from tests.users import User

pytestmark = pytest.mark.slow

BOOK = {"cells": [{"cell_type": "markdown", "source": text} for text in ("# Birds", "A heron.", "An ibis.")]}
CELL = {"kind": "cell", "value": 3}


def test_collections_add_takes_formats_and_hits_have_anchors(server: Server, owner: User) -> None:
    folder = owner.home / "papers"
    folder.mkdir()
    (folder / "a.ipynb").write_text(json.dumps(BOOK), encoding="utf-8")
    (folder / "b.ipynb").write_text("{", encoding="utf-8")
    (folder / "c.txt").write_text("An ibis.", encoding="utf-8")

    def add(**fields: Any) -> Any:
        return server.post("/collections/add", name="papers", path=str(folder), **fields)

    refused = server.refused(400, "/collections/add", name="papers", path=str(folder), formats=["markdwn"])
    assert "there is no format 'markdwn'" in refused
    added = add(formats=["notebook", "markdown"])
    assert (added["documents"], added["notices"]) == (1, [])
    assert added["problems"] == [{"path": "b.ipynb", "reason": "cannot read b.ipynb: damaged (not JSON)"}]
    shown = server.ok("GET", "/collections/papers")
    assert (shown["formats"], shown["pattern"]) == (
        ["notebook", "markdown"],
        "formats: notebook, markdown",
    )

    (hit,) = server.post("/search", query="ibis")["results"]
    assert hit["anchor"] == CELL
    document = server.post("/get", file="papers/a.ipynb:c3")["document"]
    assert (document["anchor"], document["sourceType"]) == (CELL, "application/x-ipynb+json")
    assert document["text"] == "An ibis."
    (document,) = server.post("/multi_get", pattern="papers/*.ipynb")["results"]
    assert document["anchor"] == {"kind": "cell", "value": 1}

    server.ok("DELETE", "/collections/papers")
    assert add(formats=["all"], glob_pattern="*.txt")["documents"] == 1
    assert server.ok("GET", "/collections/papers")["pattern"] == "*.txt"
    (hit,) = server.post("/search", query="ibis")["results"]
    assert "anchor" not in hit


def test_page_shows_anchors_and_links_to_them_in_the_file(server: Server, owner: User) -> None:
    pytest.importorskip("pypdfium2")
    folder = owner.home / "papers"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(pdf("The heron.", "The ibis."))
    server.post("/collections/add", name="papers", path=str(folder), formats=["pdf"])
    results = server.ask("GET", "/?q=ibis").text
    assert "a.pdf:p2</span>" in results
    assert "/read/papers/a.pdf?q=ibis&amp;line=3#hit" in results
    shown = server.ask("GET", "/read/papers/a.pdf?q=ibis&line=3").text
    assert 'href="/file/papers/a.pdf#page=2"' in shown
    assert "Open in editor" not in shown

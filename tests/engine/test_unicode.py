"""Lone surrogates: texts in Python that no file, index or terminal can contain."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import qmd
from tests.conftest import Notes

HALF = "no\ud800te"

CALLS: dict[str, Callable[[qmd.Index], object]] = {
    "search": lambda index: index.search(HALF),
    "vsearch": lambda index: index.vsearch(HALF),
    "query": lambda index: index.query(HALF),
    "searches": lambda index: index.query(searches=[qmd.TypedSearch("lex", HALF)]),
    "intent": lambda index: index.query("x", intent=HALF),
    "collections": lambda index: index.search("x", collections=[HALF]),
    "author": lambda index: index.search("x", author=HALF),
    "typed author": lambda index: index.search(f"x author:{HALF}"),
    "after": lambda index: index.search("x", after=HALF),
    "why": lambda index: index.why(HALF, "search", qmd.SearchRequest("x")),
    "get": lambda index: index.get(HALF),
    "get uri": lambda index: index.get(f"qmd://notes/{HALF}"),
    "get path": lambda index: index.get(f"/{HALF}"),
    "multi_get": lambda index: index.multi_get(f"a.md, {HALF}*"),
    "documents": lambda index: index.documents(HALF),
    "documents below": lambda index: index.documents(f"notes/{HALF}"),
    "authors": lambda index: index.authors([HALF]),
    "collection": lambda index: index.collection(HALF),
    "add_collection": lambda index: index.add_collection(HALF),
    "add_collection name": lambda index: index.add_collection(os.sep, HALF),
    "rename_collection": lambda index: index.rename_collection("notes", HALF),
    "include_collection": lambda index: index.include_collection(HALF),
    "remove_collection": lambda index: index.remove_collection(HALF),
    "update": lambda index: index.update([HALF]),
    "embed": lambda index: index.embed([HALF]),
    "add_context": lambda index: index.add_context("/", HALF),
    "add_context path": lambda index: index.add_context(f"/{HALF}", "x"),
    "remove_context": lambda index: index.remove_context(f"qmd://notes/{HALF}"),
    "backup": lambda index: index.backup(f"/{HALF}"),
    "copy_store": lambda index: index.copy_store(HALF, "."),
    "pullable": lambda index: index.pullable([HALF]),
}


@pytest.mark.parametrize("call", CALLS)
def test_lone_surrogate_is_refused_by_every_method(index: qmd.Index, notes: Notes, call: str) -> None:
    index.add_collection(str(notes({"a.md": "# A\n\nwords"})), "notes")
    with pytest.raises(qmd.UsageError) as caught:
        CALLS[call](index)
    assert str(caught.value).encode()
    assert [document.path for document in index.documents()] == ["a.md"]


def test_lone_surrogate_is_refused_in_paths_and_archives(tmp_path: Path, environ: dict[str, str]) -> None:
    for call in (
        lambda: qmd.open_index(str(tmp_path / HALF), environ=environ),
        lambda: qmd.open_archive(HALF),
        lambda: qmd.open_archive(str(tmp_path)).search(HALF),
        lambda: qmd.open_archive(str(tmp_path)).posts(HALF),
        lambda: qmd.open_archive(str(tmp_path)).read(HALF),
    ):
        with pytest.raises(qmd.UsageError, match="half a character"):
            call()

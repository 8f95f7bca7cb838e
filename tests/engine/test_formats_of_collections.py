"""The formats that a collection names, and transcripts of coding agents."""

from __future__ import annotations

import json

import pytest

import qmd
from qmd.engine.requests import SearchRequest
from qmd.errors import UsageError
from tests.conftest import Notes
from tests.files import CLAUDE, CODEX, NOTEBOOK, lines


def test_pattern_reads_files_by_their_own_readers(index: qmd.Index, notes: Notes) -> None:
    files = {"a.md": "alpha", "b.txt": "beta #tag", "c.org": "* Gamma", "d.ipynb": json.dumps(NOTEBOOK)}
    folder = notes(files | {"e.conf": "# delta", "f.jsonl": '{"x": "epsilon"}'})
    assert index.add_collection(str(folder)).added == 1
    report = index.add_collection(str(folder), "wide", pattern="**/*")
    assert report.added == 6
    assert index.get("wide/d.ipynb:c1").anchor is not None
    formats = {
        path: index.fields_of([f"wide/{path}"])[f"wide/{path}"]["format"]
        for path in (*files, "e.conf", "f.jsonl")
    }
    assert formats == {
        **dict.fromkeys(("a.md", "b.txt", "e.conf", "f.jsonl"), ("markdown",)),
        "c.org": ("org",),
        "d.ipynb": ("notebook",),
    }


def test_collection_reads_only_its_formats(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha", "b.txt": "beta", "c.org": "* Gamma", "d.rst": "Delta\n====="})
    report = index.add_collection(str(folder), formats=["text", "org"])
    assert report.added == 2
    assert [document.path for document in index.documents()] == ["b.txt", "c.org"]
    assert index.config.collections["notes"].formats == ("text", "org")
    assert index.status().collections[0].pattern == "formats: text, org"


def test_pattern_takes_precedence_over_formats(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.org": "* Alpha", "sub/b.org": "* Beta"})
    index.add_collection(str(folder), pattern="*.org", formats=["org"])
    assert [(document.path, document.title) for document in index.documents()] == [("a.org", "Alpha")]


def test_add_collection_refuses_an_unknown_format_with_suggestions(index: qmd.Index, notes: Notes) -> None:
    with pytest.raises(UsageError, match="no format 'pdff'") as caught:
        index.add_collection(str(notes({"a.md": "a"})), formats=["pdff"])
    assert "did you mean 'pdf'" in str(caught.value.hint)
    assert not index.config.collections


def test_transcripts_have_messages_as_anchors_and_shortened_outputs(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.jsonl": lines(CLAUDE), "b.jsonl": lines(CODEX), "c.jsonl": '{"x": 1}\n'})
    report = index.add_collection(str(folder), formats=["transcript"])
    assert report.problems == [
        ("c.jsonl", "cannot read c.jsonl: no transcript of a coding agent"),
    ]
    hit = index.search("feather").hits[0]
    assert (hit.path, hit.anchor and (hit.anchor.kind, hit.anchor.value)) == ("a.jsonl", ("message", 2))
    assert "x" * 1_000 in index.get("a.jsonl").text
    assert "x" * 1_001 not in index.get("a.jsonl").text
    assert index.get("a.jsonl:m1").text == "## User\n\nWhy does the kestrel fail?\n"
    assert [document.title for document in index.documents()] == [
        "Why does the kestrel fail?",
        "Fix the gannet",
    ]
    assert index.search("[project:/work/other] [agent:codex]").hits[0].path == "b.jsonl"
    why = index.why("a.jsonl", "search", SearchRequest("feather"))
    assert "left out: the end of 1 inputs or outputs of tools" in why.notes

"""Files that cannot be read: the reasons, and when they are read again."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import qmd
from qmd.engine.indexing import unread
from qmd.engine.indexing.record import ScanRecord
from qmd.engine.requests import SearchRequest
from qmd.errors import SourceError
from qmd.installation import install_command
from qmd.sources import children, walk
from qmd.sources.formats import registry
from qmd.sources.formats.base import Unreadable, failure
from tests.conftest import Notes
from tests.files import MAILS, NOTEBOOK, nested_forms, pdf


def test_unreadable_files_have_a_reason_and_are_not_read_again(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("pypdfium2")
    folder = notes({"a.md": "alpha", "bad.ipynb": "{"})
    (folder / "scan.pdf").write_bytes(pdf("", ""))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing")
    report = index.add_collection(str(folder), formats=["all"])
    assert report.added == 1
    reasons = {path: reason.partition(": ")[2] for path, reason in report.problems}
    assert reasons["scan.pdf"] == "no text layer (scan)"
    assert reasons["broken.pdf"].startswith("damaged")
    assert reasons["bad.ipynb"] == "damaged (not JSON)"
    assert any("3 files could not be read" in note for note in index.status().notes)
    absence = index.absence(str(folder / "scan.pdf"))
    assert absence is not None
    assert "no text layer (scan)" in absence.reason
    (folder / "scan.pdf").chmod(0o000)  # an unchanged file is not opened
    (report,) = index.update()
    assert sorted(path for path, _ in report.problems) == ["bad.ipynb", "broken.pdf", "scan.pdf"]
    (folder / "scan.pdf").chmod(0o600)
    (folder / "scan.pdf").write_bytes(pdf("The ibis."))
    (report,) = index.update()
    assert report.added == 1


def test_changed_file_that_cannot_be_read_stays_and_is_marked(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "heron", "b.md": "egret", "box.mbox": MAILS, "sub/c.ipynb": json.dumps(NOTEBOOK)})
    index.add_collection(str(folder), formats=["all"])
    (folder / "a.md").write_bytes(bytes(range(256)) * 9)
    (folder / "box.mbox").write_bytes(bytes(range(256)) * 9)
    (folder / "sub" / "c.ipynb").write_text("{", encoding="utf-8")
    failed = {"a.md": "not text", "box.mbox": "damaged", "sub/c.ipynb": "damaged"}
    marks = set()
    for _ in range(2):
        (report,) = index.update()
        assert (report.removed, report.unchanged) == (0, 1)
        reasons = {path: message.partition(" (")[0] for path, message in report.problems}
        assert reasons == {path: f"cannot read {path}: {why}" for path, why in failed.items()}
        assert index.search("heron").hits
        assert index.search("stork").hits
        (note, mark) = (note for note in index.status().notes if "could not be read" in note)
        assert note.startswith("notes: 3 files could not be read: 1 not text, 2 damaged")
        assert mark.startswith("notes: 3 files stay as they were: could not be read since 20")
        assert mark.endswith(" (a.md, box.mbox, sub/c.ipynb)")
        marks |= {mark, *(f"notes: {notice}" for notice in report.notices)}
        assert [each.level for each in index.doctor() if each.check == "files"] == ["warning"]
    assert len(marks) == 1
    why = index.why("notes/a.md", "search", SearchRequest("heron"))
    assert any("not text; what was indexed before stays, since 20" in note for note in why.notes)
    for reader in (index, index.limited(["notes"]), index.limited(agent=True)):
        (said,) = (each.reason for each in reader.search("heron").stages if each.stage == "unread")
        assert said is not None
        assert said.startswith("text of before, because the file could not be read since 20")
        assert "notes/a.md" in said
        assert reader.get("notes/a.md").unread_since
        assert not reader.get("notes/b.md").unread_since
        assert not any(each.stage == "unread" for each in reader.search("egret").stages)
    assert not index.limited(agent=True).status().notes
    (folder / "a.md").write_text("a crane", encoding="utf-8")
    assert index.rescan("notes", ["a.md"]).updated == 1
    assert "a.md" not in {hit.path for hit in index.search("heron").hits}
    (folder / "sub" / "c.ipynb").unlink()
    assert index.rescan("notes", ["sub"]).removed == 1
    assert any("1 file stays as it was" in note and "(box.mbox)" in note for note in index.status().notes)


def test_changed_file_that_waits_for_an_extra_stays_and_is_marked(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lxml")
    folder = notes({"a.html": "<p>heron</p>", "b.html": "<p>ibis</p>"})
    index.add_collection(str(folder), formats=["all"])
    index.update()  # so that the files are older than the last scan on any clock
    monkeypatch.setattr(registry, "installed", lambda packages: not packages)
    (folder / "a.html").write_text("<p>a crane</p>", encoding="utf-8")
    (report,) = index.update()
    assert (report.removed, report.unchanged, report.waiting) == (0, 1, {"formats": {"html": 1}})
    assert index.search("heron").hits
    assert any("1 file stays as it was" in note for note in index.status().notes)


def test_file_that_has_become_too_large_stays(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "heron", "b.md": "ibis"})
    index.add_collection(str(folder))
    os.truncate(folder / "a.md", 60 << 20)
    (report,) = index.update()
    assert (report.removed, [path for path, _ in report.problems]) == (0, ["a.md"])
    assert index.search("heron").hits


def test_file_without_text_any_more_leaves_the_index(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.ipynb": json.dumps(NOTEBOOK), "b.md": "ibis"})
    index.add_collection(str(folder), formats=["all"])
    (folder / "a.ipynb").write_text(json.dumps({**NOTEBOOK, "cells": []}), encoding="utf-8")
    (report,) = index.update()
    assert (report.removed, report.problems) == (1, [("a.ipynb", "cannot read a.ipynb: no text")])


def test_reason_that_passes_is_tried_again_at_growing_intervals(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "SECONDS", 0.0)
    now = time.time()
    monkeypatch.setattr(unread.time, "time", lambda: now)
    folder = notes({"a.md": "alpha", "b.ipynb": json.dumps(NOTEBOOK)})
    index.add_collection(str(folder), formats=["all"])

    def tries() -> int:
        record = ScanRecord.read(index._workspace.store.collections.last_root("notes"))
        (file,) = record.unread.values()
        return file.tries

    attempts = [tries()]
    for pause in (0, 0, 599, 1, 3_599, 1, 86_400, 86_400):
        now += pause
        (report,) = index.update()
        assert report.problems == [("b.ipynb", "cannot read b.ipynb: too slow (more than 0 s)")]
        attempts.append(tries())
    assert attempts == [1, 2, 2, 2, 3, 3, 4, 5, 6]
    # Other limits are a reason to read it at once.
    monkeypatch.undo()
    (report,) = index.update()
    assert (report.added, report.problems) == (1, [])


def test_failed_files_are_read_again_if_asked_for(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha", "b.ipynb": "{"})
    index.add_collection(str(folder), formats=["all"])
    before = (folder / "b.ipynb").stat()
    (folder / "b.ipynb").write_text("0", encoding="utf-8")
    os.utime(folder / "b.ipynb", ns=(before.st_atime_ns, before.st_mtime_ns))
    for failed, detail in ((False, "not JSON"), (True, "not a notebook"), (False, "not a notebook")):
        (report,) = index.update(failed=failed)
        assert report.problems == [("b.ipynb", f"cannot read b.ipynb: damaged ({detail})")], failed


def test_fault_of_a_reader_is_told_as_one() -> None:
    def raised(name: str, code: str) -> Unreadable:
        try:
            exec(code, {"__name__": name})
        except Exception as error:  # noqa: BLE001 - any
            return failure(error)
        raise AssertionError

    fault = raised("qmd.sources.formats.some", "{}['cells']")
    assert str(fault) == "reader failed: KeyError: 'cells', this is a fault of qmd"
    assert "{}['cells']" in fault.trace or "KeyError" in fault.trace
    assert not fault.passes
    assert raised("library", "{}['cells']").reason == ""
    assert raised("qmd.sources.formats.some", "int('x')").reason == ""
    missing = raised("qmd.sources.formats.some", "import no_such_module")
    assert (missing.reason, missing.passes) == ("a package is missing", True)


def test_status_counts_files_that_no_format_reads(index: qmd.Index, notes: Notes) -> None:
    names = ("a.md", "b.doc", "sub/c.doc", "d.pages", "e.png", "f.mp4", ".hidden.doc", "LICENSE", "old/g.doc")
    folder = notes(dict.fromkeys(names, "text"))
    index.add_collection(str(folder), ignore=["old/"])
    line = "notes: 3 files of kinds that no format reads: 2 .doc, 1 .pages"
    assert line in index.status().notes
    (folder / "h.doc").write_text("text", encoding="utf-8")
    index.rescan("notes", ["h.doc"])
    assert line in index.status().notes  # counted by full scans
    index.update()
    assert "notes: 4 files of kinds that no format reads: 3 .doc, 1 .pages" in index.status().notes


def test_reading_has_a_time_limit_and_other_files_are_read(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "SECONDS", 0.0)
    folder = notes({"a.md": "alpha", "b.ipynb": json.dumps(NOTEBOOK), "long.md": "beta\n" * 30_000})
    report = index.add_collection(str(folder), formats=["all"])
    assert report.added == 1
    assert report.problems == [
        (file, f"cannot read {file}: too slow (more than 0 s)") for file in ("b.ipynb", "long.md")
    ]


@pytest.mark.parametrize("name", ["note.md", "note.org", "note.rst", "note.txt"])
def test_long_text_is_read_like_a_short_one(index: qmd.Index, notes: Notes, name: str) -> None:
    text = (
        "---\nstatus: draft\nnumber: 2\nopen: true\nversion: 1.10\ndue: 2024-3-7\n---\n"
        "# Heron é\n\n\0[x](other.md) #tag\n" + "Waits.\n" * 10
    )
    folder = notes({f"short/{name}": text, f"long/{name}": text + "\n" * 120_000})
    index.add_collection(str(folder), formats=["all"])
    short, long = (index.get(f"{folder.name}/{kind}/{name}") for kind in ("short", "long"))
    assert long.text == short.text + "\n" * 120_000
    assert long.document.title == short.document.title
    files = [short.document.file, long.document.file]
    first, second = ([(link.target, link.kind, link.line) for link in index.links(file)] for file in files)
    assert first == second
    of_file = {"path", "file", "size", "modified", "date"}
    first, second = (
        {name: values for name, values in index.fields_of([file])[file].items() if name not in of_file}
        for file in files
    )
    assert first == second


def test_long_binary_file_is_reported_like_a_short_one(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha"})
    (folder / "b.md").write_bytes(b"\x01\x02" * 100_000)
    ((path, reason),) = index.add_collection(str(folder)).problems
    assert (path, reason) == ("b.md", "cannot read b.md: not text")


def test_reading_has_a_limit_of_processor_time(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr(children, "PROCESSOR", 1)
    folder = notes({"a.md": "alpha"})
    (folder / "b.pdf").write_bytes(nested_forms(30))
    report = index.add_collection(str(folder), formats=["all"])
    assert report.added == 1
    assert report.problems == [("b.pdf", "cannot read b.pdf: too slow (more than 1 s of processor time)")]


def test_files_wait_for_an_extra_that_is_not_installed(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "alpha"})
    (folder / "b.pdf").write_bytes(pdf("The heron."))
    monkeypatch.setattr(registry, "installed", lambda packages: not packages)
    report = index.add_collection(str(folder), formats=["all"])
    assert (report.added, report.problems) == (1, [])
    assert report.waiting == {"formats": {"pdf": 1}}
    assert f"notes: 1 file (1 .pdf) waits for: {install_command('formats')}" in index.status().notes
    absence = index.absence(str(folder / "b.pdf"))
    assert absence is not None
    assert absence.hint == install_command("formats")
    monkeypatch.undo()
    if registry.installed(("pypdfium2",)):
        (report,) = index.update()
        assert (report.added, report.waiting) == (1, {})


def test_rescan_remembers_a_new_kind_of_file_that_waits_for_an_extra(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "alpha", "b.pdf": "x"})
    monkeypatch.setattr(registry, "installed", lambda packages: not packages)
    index.add_collection(str(folder), formats=["all"])
    (folder / "c.epub").write_bytes(b"x")
    assert index.rescan("notes", ["c.epub"]).waiting == {"formats": {"pdf": 1, "epub": 1}}
    (note,) = index.status().notes
    assert "2 files (1 .epub, 1 .pdf) wait for" in note


def test_newer_format_version_reads_its_files_again(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qmd.features.formats import notebook

    monkeypatch.setattr(walk, "_CLOCK", -(1 << 62))  # no file counts as touched
    folder = notes({"a.ipynb": json.dumps(NOTEBOOK), "b.org": "* Org"})
    index.add_collection(str(folder), formats=["all"])
    file = folder / "a.ipynb"
    before = file.stat()
    file.write_text(json.dumps(NOTEBOOK).replace("heron", "stork"), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    (report,) = index.update()
    assert (report.unchanged, report.updated) == (2, 0)
    monkeypatch.setattr(notebook, "version", 99)
    (report,) = index.update()
    assert (report.unchanged, report.updated) == (1, 1)
    assert index.search("stork").hits


def test_newer_format_version_that_fails_keeps_the_text(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qmd.features.formats import notebook

    index.add_collection(str(notes({"a.ipynb": json.dumps(NOTEBOOK)})), formats=["all"])
    monkeypatch.setattr(notebook, "version", 99)
    monkeypatch.setattr(children, "SECONDS", 0.0)
    (report,) = index.update()
    assert (report.removed, report.problems) == (
        0,
        [("a.ipynb", "cannot read a.ipynb: too slow (more than 0 s)")],
    )
    assert index.search("ibis").hits


def test_newer_format_version_waits_for_its_extra(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lxml")
    from qmd.features.formats import html

    monkeypatch.setattr(walk, "_CLOCK", -(1 << 62))  # no file counts as touched
    folder = notes({"a.html": "<p>heron</p>"})
    index.add_collection(str(folder), formats=["all"])
    file = folder / "a.html"
    before = file.stat()
    file.write_text("<p>stork</p>", encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with monkeypatch.context() as missing:
        missing.setattr(html, "version", 99)
        missing.setattr(registry, "installed", lambda packages: not packages)
        (report,) = index.update()
        assert (report.unchanged, report.updated) == (1, 0)
    assert index.search("heron").hits
    monkeypatch.setattr(html, "version", 99)
    (report,) = index.update()
    assert report.updated == 1
    assert index.search("stork").hits


def test_link_out_of_the_folder_is_not_read(index: qmd.Index, notes: Notes, tmp_path: Path) -> None:
    folder = notes({"a.md": "alpha"})
    (tmp_path / "secret.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    (folder / "b.ipynb").symlink_to(tmp_path / "secret.ipynb")
    assert index.add_collection(str(folder), formats=["all"]).added == 1
    with pytest.raises(SourceError, match="outside the collection"):
        from qmd.sources.reading import source_at

        source_at(index.config.collections["notes"], "b.ipynb")

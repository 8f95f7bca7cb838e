"""Files that no scan expects: their times and numbers, and faults of our own. Each costs itself alone."""

from __future__ import annotations

import os
import pkgutil
from types import SimpleNamespace
from typing import Any

import pytest

import qmd
from qmd.engine.indexing import scan
from qmd.engine.requests import SearchRequest
from qmd.types import Fingerprint
from tests.conftest import Notes

#: Seconds since 1970. File systems keep the nearest that they can.
_TIMES = {
    "zero.md": 0,
    "before.md": -1,
    "old.md": -(10**10),
    "beyond.md": 10**10,
    "samba.md": 910_692_730_085,
    "most.md": (1 << 63) - 1,
    "least.md": -(1 << 63),
}


_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:6fd5d72fe4589f189f8ebc\nsize 90405214\n"


def test_pointers_and_locks_are_no_documents(index: qmd.Index, notes: Notes) -> None:
    about = f"{_POINTER}\n{'Of which this is an example. ' * 100}"
    folder = notes({"a.md": _POINTER, "b.pdf": _POINTER, "about.md": about, "~$plan.docx": "\x03ann"})
    report = index.add_collection(str(folder), formats=["all"])
    assert report.added == 1
    assert [(name, text.partition(": ")[2]) for name, text in report.problems] == [
        ("a.md", "a pointer of Git LFS"),
        ("b.pdf", "a pointer of Git LFS"),
    ]
    (folder / "a.md").write_text("# The heron\n", encoding="utf-8")
    (report,) = index.update()
    assert (report.added, [name for name, _ in report.problems]) == (1, ["b.pdf"])


def test_files_of_any_time_are_indexed(index: qmd.Index, notes: Notes) -> None:
    folder = notes({name: f"# {name}\n\nheron\n" for name in _TIMES})
    for name, seconds in _TIMES.items():
        os.utime(folder / name, (seconds, seconds))
    report = index.add_collection(str(folder))
    assert (report.added, report.problems) == (len(_TIMES), [])
    (report,) = index.update()
    assert (report.unchanged, report.updated) == (len(_TIMES), 0)
    assert {hit.path for hit in index.search(SearchRequest("heron", limit=20)).hits} == _TIMES.keys()
    assert len(index.recent()) == len(_TIMES)
    assert "beyond.md" in {hit.path for hit in index.search(SearchRequest("heron after:2200")).hits}


def test_fingerprint_fits_into_the_numbers_of_stores() -> None:
    for time, inode in ((1 << 70, 1 << 64), (-(1 << 70), (1 << 64) - 1), (0, 0)):
        status: Any = SimpleNamespace(st_size=1, st_mtime_ns=time, st_ino=inode)
        assert all(abs(number) < 1 << 63 for number in Fingerprint.of(status))


_STEPS = (
    "qmd.sources.walk.Rules.file_excluded",
    "qmd.sources.reading.read_raw",
    "qmd.sources.read.decode",
    "qmd.text.extraction.extract",
    "qmd.sources.read.stated",
    "qmd.text.authorship.date_of",
    "qmd.text.extraction.searched_title",
    "qmd.store.sqlite.field_rows.FieldWriter.put",
    "qmd.store.sqlite.documents.encode",
)
#: With the first file, one between others and the last one, of batches of two. Long texts have other steps.
_CASES = [(step, odd) for step in _STEPS for odd in "ace"] + [("qmd.sources.children.read_raw", "c")]


@pytest.mark.parametrize(("step", "odd"), _CASES)
def test_fault_in_any_step_costs_its_file_alone(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch, step: str, odd: str
) -> None:
    text = "---\nkind: {0}\n---\n# {0}\n\nheron\n" + "and more\n" * (20_000 if "children" in step else 1)
    folder = notes({f"{name}.md": text.replace("{0}", name * 9) for name in "abcde"})
    function = pkgutil.resolve_name(step)

    def fails(*values: Any, **more: Any) -> Any:
        if odd * 9 in repr(values) or f"'{odd}.md'" in repr(values):
            raise RuntimeError("by chance")
        return function(*values, **more)

    monkeypatch.setattr(scan, "BATCH_FILES", 2)
    with monkeypatch.context() as patch:
        patch.setattr(step, fails)
        report = index.add_collection(str(folder))
    (problem,) = report.problems
    assert problem[0] == f"{odd}.md" and "by chance" in problem[1]
    assert (report.added, report.unchanged) == (4, 0)
    rest = {f"{name}.md" for name in "abcde" if name != odd}
    assert {hit.path for hit in index.search(SearchRequest("heron")).hits} == rest
    (report,) = index.update(failed=True)
    assert (report.added, report.unchanged, report.problems) == (1, 4, [])

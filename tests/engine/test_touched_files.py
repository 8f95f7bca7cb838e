"""Edits that keep the size and the time of a file, and files that are in the cloud only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import qmd
from tests.conftest import Notes


def keep_time(file: Path, text: str) -> None:
    """Change a file in its place, with the time that it had."""
    status = file.stat()
    with file.open("r+") as opened:
        opened.write(text)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.skipif(os.name != "posix", reason="the state of a file has no time")
@pytest.mark.parametrize("name", ["a.md", "a.rst"])
def test_update_sees_an_edit_that_keeps_size_and_time(index: qmd.Index, notes: Notes, name: str) -> None:
    folder = notes({name: "One apple\n", "b.md": "# B\n"})
    index.add_collection(str(folder), formats=["all"])
    keep_time(folder / name, "One grape\n")
    (report,) = index.update()
    assert (report.updated, report.unchanged) == (1, 1)
    assert [hit.path for hit in index.search("grape").hits] == [name]
    (report,) = index.update()
    assert (report.updated, report.unchanged) == (0, 2)


@pytest.mark.skipif(os.name != "posix", reason="the state of a file has no time")
def test_files_that_were_only_touched_are_unchanged_and_read_once(index: qmd.Index, notes: Notes) -> None:
    folder = notes({f"{number}.md": f"# {number}\n" for number in range(5)})
    index.add_collection(str(folder))
    for file in folder.iterdir():
        file.chmod(0o600)
    (report,) = index.update()
    assert (report.added, report.updated, report.unchanged) == (0, 0, 5)


@pytest.mark.skipif(not hasattr(os.stat_result, "st_blocks"), reason="files have no blocks")
def test_files_in_the_cloud_are_not_read_and_their_text_stays(index: qmd.Index, notes: Notes) -> None:
    folder = notes(
        {
            "a.md": "# Kestrel\n",
            "b.md": "# B\n",
            "box.mbox": "From a@b Fri Mar  1 10:00:00 2024\nSubject: Merlin\n\nx\n",
        }
    )
    index.add_collection(str(folder), formats=["all"])
    for name in ("a.md", "new.md", "box.mbox"):
        (folder / name).unlink(missing_ok=True)
        with (folder / name).open("wb") as file:
            file.truncate(20_000)  # a size without blocks
    (report,) = index.update()
    said = "3 files are in the cloud only, and not read: a.md, box.mbox, new.md."
    assert next(notice for notice in report.notices if "cloud" in notice).startswith(said)
    assert (report.added, report.updated, report.removed, report.problems) == (0, 0, 0, [])
    assert [hit.path for hit in index.search("kestrel").hits] == ["a.md"]
    assert len(index.search("merlin").hits) == 1
    (report,) = index.update()
    assert not [notice for notice in report.notices if "cloud" in notice]  # it is told once
    (folder / "a.md").write_text("# Hobby\n")
    (report,) = index.update()
    assert report.updated == 1
    assert [hit.path for hit in index.search("hobby").hits] == ["a.md"]

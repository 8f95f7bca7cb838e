"""Folders that are replaced by links during a scan."""

from __future__ import annotations

import json
import os

import pytest

import qmd
from qmd.engine.indexing.scan import BATCH_FILES
from tests.conftest import Notes

pytestmark = pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="needs descriptors of folders")


def files(text: str) -> dict[str, str]:
    """Return files whose texts are read in this process, and one that a child process reads."""
    cell = {"cell_type": "markdown", "source": [f"# {text}"]}
    notebook = json.dumps({"cells": [cell], "metadata": {}})
    return {"z/b.md": text, "z/deep/c.md": text, "z/deep/d.ipynb": notebook}


@pytest.mark.parametrize("place", ["", "z", "z/deep", "z/b.md"])
def test_scan_does_not_follow_a_link_that_replaces_a_folder(
    index: qmd.Index, notes: Notes, place: str
) -> None:
    folder = notes({f"a/{number}.md": "text" for number in range(BATCH_FILES)} | files("inside"))
    exchanged, moved = folder / place, folder.parent / "moved"
    outside = notes(files("secret"), "outside") / place

    def exchange(*_: object) -> None:  # called after the first files are read, before the others
        if not moved.exists():
            exchanged.rename(moved)
            exchanged.symlink_to(outside)

    report = index.add_collection(
        str(folder), "notes", formats=["markdown", "notebook"], on_progress=exchange
    )
    assert exchanged.is_symlink()
    assert index.search("secret").hits == ()
    lost = [path for path in files("") if place and path.startswith(place)]
    assert [path for path, _ in report.problems] == lost
    assert {hit.path for hit in index.search("inside").hits} == files("").keys() - set(lost)
    if place:
        index.update()
        assert index.search("secret").hits == ()

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest

from qmd.errors import SourceError
from qmd.sources.reading import source_at
from qmd.sources.walk import walk
from qmd.types import Collection

FILES = {
    "a.md": b"# A\n",
    "x/b.MD": b"# B\n",
    "blank.md": b"\n \n",
    "binary.md": b"\0\0\0\1",
    "table.txt": b"text",
    ".hidden/c.md": b"# C\n",
    "drafts/d.md": b"# D\n",
    unicodedata.normalize("NFD", "café/é.md"): b"# E\n",
}


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    for name, data in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "folder").symlink_to("x")
    return Collection("notes", str(tmp_path), ignore=("drafts",))


def read(collection: Collection, path: str) -> bool:
    try:
        source_at(collection, path)
    except SourceError:
        return False
    return True


def test_source_at_reads_exactly_the_files_that_walk_lists(collection: Collection) -> None:
    listed = {file.path for file in walk(collection)}
    paths = {unicodedata.normalize("NFC", name) for name in FILES} | {"link.md", "folder/b.MD", "gone.md"}
    assert {path for path in paths if read(collection, path)} == listed - {"blank.md", "binary.md"}


@pytest.mark.skipif(sys.platform == "darwin", reason="file systems there do not tell the forms apart")
def test_source_at_finds_a_name_in_any_unicode_form(collection: Collection) -> None:
    assert source_at(collection, "café/é.md").title == "E"


@pytest.mark.parametrize(
    ("path", "reason", "setting"),
    [
        ("drafts/d.md", "ignore glob 'drafts'", "--ignore"),
        ("table.txt", "does not match the pattern '**/*.md'", "--mask"),
    ],
)
def test_source_at_names_the_rule_and_its_setting(
    collection: Collection, path: str, reason: str, setting: str
) -> None:
    with pytest.raises(SourceError) as caught:
        source_at(collection, path)
    assert caught.value.message == reason
    assert setting in str(caught.value.hint)

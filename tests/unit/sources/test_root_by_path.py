"""A collection on systems that do not open files relative to a folder, such as Windows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qmd.sources import root
from qmd.sources.root import Root
from qmd.types import Collection


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Root:
    monkeypatch.setattr(root, "_BY_DESCRIPTOR", False)
    (tmp_path / "notes" / "2026").mkdir(parents=True)
    (tmp_path / "notes" / "2026" / "a.md").write_bytes(b"ours")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_bytes(b"theirs")
    return Root(Collection("notes", str(tmp_path / "notes")))


def test_open_by_path_reads_a_file(opened: Root) -> None:
    file = opened.open(f"{opened.prefix}2026{os.sep}a.md", os.O_RDONLY)
    assert os.read(file, 10) == b"ours"
    os.close(file)


@pytest.mark.parametrize("name", ["2026", "2026/a.md"])
def test_open_by_path_refuses_a_link_on_the_way(opened: Root, tmp_path: Path, name: str) -> None:
    path = tmp_path / "notes" / name
    path.rename(tmp_path / "moved")
    target = tmp_path / "other" / "a.md" if path.suffix else tmp_path / "other"
    path.symlink_to(target, target_is_directory=target.is_dir())
    with pytest.raises(OSError, match="symbolic links"):
        opened.open(f"{opened.prefix}2026{os.sep}a.md", os.O_RDONLY)


def test_open_by_path_refuses_a_file_that_was_exchanged_after_the_check(
    opened: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, really_open = tmp_path / "notes" / "2026", os.open

    def exchange(path: str, flags: int) -> int:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "other", target_is_directory=True)
        return really_open(path, flags)

    monkeypatch.setattr(root.os, "open", exchange)
    with pytest.raises(OSError, match="symbolic links"):
        opened.open(f"{opened.prefix}2026{os.sep}a.md", os.O_RDONLY)

"""Files that a process holds, and what others read of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qmd.config.held_file import open_private, publish, read_held, try_to_hold
from qmd.errors import StoreError


def test_published_file_is_read_until_released(tmp_path: Path) -> None:
    path = str(tmp_path / "server")
    file = publish(path, b"here")
    assert read_held(path) == b"here"
    other = open_private(path)
    assert not try_to_hold(other)
    os.close(file)
    assert read_held(path) is None
    assert try_to_hold(other)
    assert read_held(path) == b"here"
    os.close(other)
    assert os.listdir(tmp_path) == ["server"]


def test_missing_or_linked_file_has_no_holder(tmp_path: Path) -> None:
    file = publish(str(tmp_path / "server"), b"here")
    (tmp_path / "link").symlink_to("server")
    assert read_held(str(tmp_path / "link")) is None
    assert read_held(str(tmp_path / "none")) is None
    with pytest.raises(StoreError, match="cannot use"):
        open_private(str(tmp_path / "link"), "use")
    os.close(file)


def test_open_private_makes_a_private_folder_and_file(tmp_path: Path) -> None:
    os.close(open_private(str(tmp_path / "new" / "server")))
    assert (tmp_path / "new" / "server").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700

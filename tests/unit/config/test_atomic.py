from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from qmd.config.atomic import locked, replace_file
from qmd.errors import BusyError, ConfigError


def test_locked_creates_a_private_folder(tmp_path: Path) -> None:
    path = tmp_path / "a" / "index.yml"
    with locked(str(path)) as target:
        assert target == os.path.realpath(path)
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_locked_raises_busy_error_for_a_second_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "index.yml")
    with locked(path):
        with pytest.raises(BusyError) as caught, locked(path, timeout=0):
            pass
        assert caught.value.hint
    with locked(path, timeout=0):
        pass


def test_link_and_target_share_one_lock(tmp_path: Path) -> None:
    (tmp_path / "link.yml").symlink_to(tmp_path / "real.yml")
    real = str(tmp_path / "real.yml")
    with locked(str(tmp_path / "link.yml")) as target:
        assert target == os.path.realpath(real)
        with pytest.raises(BusyError), locked(real, timeout=0):
            pass


def test_locked_makes_threads_wait(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_bytes(b"0")

    def count() -> None:
        for _ in range(20):
            with locked(str(path)) as target:
                replace_file(target, b"%d" % (int(path.read_bytes()) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() == b"80"


def test_lock_is_released_after_an_exception(tmp_path: Path) -> None:
    path = str(tmp_path / "index.yml")
    with pytest.raises(ZeroDivisionError), locked(path):
        raise ZeroDivisionError
    with locked(path, timeout=0):
        pass


def test_locked_in_an_impossible_folder_is_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with (
        pytest.raises(ConfigError, match="cannot be written") as caught,
        locked(str(tmp_path / "file" / "x.yml")),
    ):
        pass
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_replace_file_keeps_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "index.yml"
    path.write_bytes(b"old")
    path.chmod(mode)
    replace_file(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == mode
    assert list(tmp_path.iterdir()) == [path]


def test_replace_file_gives_a_new_file_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    replace_file(str(tmp_path / "index.yml"), b"new")
    assert (tmp_path / "index.yml").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_failed_replace_file_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index.yml"
    path.mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        replace_file(str(path), b"new")
    assert list(tmp_path.iterdir()) == [path]

"""Faults of disks: one that is full, and one that is read-only."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common import say
from fault_result import NotPermittedError, Options, Result
from fault_user import READING, User, index_notes, missing


def fill_disk(user: User, result: Result, options: Options) -> None:
    """Fill up the disk under each command that writes."""
    with _disk(user, "6m") as disk:
        index_notes(user)
        user.ok("embed", "-q")
        user.ok("backup", "-q", str(user.home / "copy.sqlite"))
        for turn in range(max(5, options.rounds // 10)):
            before = user.held()
            for number in range(12):
                user.write(f"big {number}.md", words=60_000)
            user.refused("update", "--no-embed")
            result.rounds += 1
            held = user.held()
            result.lost += sum(held.get(path) != digest for path, digest in before.items())
            user.sound()
            ballast = disk / "ballast"
            _fill(ballast)
            for arguments in (
                ("embed", "--force"),
                ("backup", str(disk / "copy.sqlite")),
                ("restore", str(user.home / "copy.sqlite")),
            ):
                user.refused(*arguments)
                user.sound()
                result.rounds += 1
            assert not (disk / "copy.sqlite").exists()
            user.run("cleanup")
            user.sound()
            result.rounds += 1
            result.lost += sum(user.held().get(path) != digest for path, digest in before.items())
            ballast.unlink()
            for path in user.notes.glob("big *.md"):
                path.unlink()
            user.ok("update", "--no-embed")
            user.ok("cleanup")
            result.lost += user.lost()
            say(f"full disk: {turn + 1}: {result.lost} lost")


def make_read_only(user: User, result: Result, options: Options) -> None:
    """Make the folder read-only: reading works, writing is refused, and nothing changes."""
    with _disk(user, "20m") as disk:
        files = index_notes(user)
        user.ok("embed", "-q")
        user.ok("backup", "-q", "copy.sqlite")
        user.write("0.md")
        user.write("one.md", folder=user.home / "other")
        for left_behind in (False, True):
            if left_behind:
                # A killed process leaves a write-ahead log.
                _leave_log(user)
            before = {path.name: path.read_bytes() for path in disk.iterdir()}
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            for arguments in READING:
                done = user.run(*arguments)
                assert done.returncode == 0 or left_behind, done.stderr
                result.rounds += 1
            for arguments in _WRITING:
                user.refused(*arguments)
                result.rounds += 1
            assert {path.name: path.read_bytes() for path in disk.iterdir()} == before
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
            result.lost += missing(user, files[1:])
        user.ok("update", "--no-embed")
        result.lost += user.lost()


_WRITING = (
    ("update", "--no-embed"),
    ("embed", "--force"),
    ("collection", "add", "other"),
    ("restore", "copy.sqlite"),
)


def _leave_log(user: User) -> None:
    script = (
        "import apsw, os, sys\n"
        "db = apsw.Connection(sys.argv[1])\n"
        "db.execute(\"INSERT OR REPLACE INTO meta VALUES ('left', 'behind')\")\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(user.index)], check=True)
    assert os.path.getsize(f"{user.index}-wal")


@contextmanager
def _disk(user: User, size: str) -> Iterator[Path]:
    """Mount a disk of a size, and put the user's index on it."""
    disk = user.home / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        raise NotPermittedError("this process may not mount a disk")
    user.index = disk / "index.sqlite"
    user.environ["QMD_INDEX_PATH"] = str(user.index)
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _fill(path: Path) -> None:
    """Fill the disk."""
    try:
        with path.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        pass

"""A disk that fills up while the index is written: the command prints one line, and no document is lost."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.users import User

pytestmark = pytest.mark.slow

SIZE = 2_000_000

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def _allow_small_files_only() -> None:
    """Limit the size of files, as a full disk does. The signal is ignored, so writing raises an error."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE, SIZE))


@pytest.fixture
def small_disk(user: User) -> Iterator[Path]:
    """An empty file system of two megabytes."""
    folder = user.home / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(params=["a full disk", "a limit on the size of files"])
def cramped(request: pytest.FixtureRequest, user: User) -> Iterator[Run]:
    """Run commands of a user whose index cannot grow beyond two megabytes."""
    limited = request.param != "a full disk"
    folder = user.home if limited else request.getfixturevalue("small_disk")
    user.environ["QMD_INDEX_PATH"] = str(folder / "index.sqlite")

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "qmd", *args],
            capture_output=True,
            text=True,
            env=user.environ,
            cwd=user.home,
            preexec_fn=_allow_small_files_only if limited else None,
            check=False,
        )

    yield run


#: 30 files are one batch. 70 are two, of which the first is written while others are read.
@pytest.mark.parametrize("files", [30, 70])
def test_full_disk_keeps_the_documents_indexed_before(user: User, cramped: Run, files: int) -> None:
    assert cramped("collection", "add", str(user.notes)).returncode == 0
    for number in range(files):
        text = " ".join(f"word{number}x{at}" for at in range(20_000))
        (user.notes / f"big {number}.md").write_text(text, encoding="utf-8")

    full = cramped("update")
    assert full.returncode == 1
    *_, error, hint = full.stderr.splitlines()  # a slow machine also shows its progress
    assert error.startswith("Error: ")
    assert user.environ["QMD_INDEX_PATH"] in error
    assert hint.startswith("Hint: ")
    assert "space" in hint

    found = cramped("search", "rollback")
    assert found.returncode == 0
    assert re.fullmatch(
        rf"note: notes has changed since [^\n]+ \({files} changes\): run 'qmd update', [^\n]+\n", found.stderr
    )
    assert "notes/deploy.md" in found.stdout
    assert "is intact: 11 documents" in cramped("doctor").stdout

    for path in user.notes.glob("big *.md"):
        path.unlink()
    (user.notes / "new.md").write_text("fresh herring\n", encoding="utf-8")
    assert cramped("update", "--no-embed").stdout == "notes: 1 new, 11 unchanged\n"
    assert "notes/new.md" in cramped("search", "herring").stdout

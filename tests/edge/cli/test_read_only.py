"""Reading commands change no files, and need no permission to write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from qmd.store.sqlite.schema import APPLICATION_ID, FIRST_VERSION, migrate_to
from tests.users import FILES, User

pytestmark = pytest.mark.slow

#: The reading commands, with their exit codes if nothing is indexed.
READING = {
    "status": 0,
    "status --json": 0,
    "search performance": 0,
    "query performance": 0,
    "vsearch performance": 1,
    "ls": 0,
    "ls notes": 1,
    "get notes/deploy.md": 1,
    "multi-get notes/*.md": 1,
    "collection list": 0,
    "collection show notes": 1,
    "context list": 0,
    "models": 0,
    "doctor": 0,
    "cleanup --dry-run": 0,
}

#: Root may read and write everywhere until it drops the capability. For other users this changes nothing.
_WITHOUT_PRIVILEGE = """
import ctypes, os, sys
for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    ctypes.CDLL(None).prctl(24, capability)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def run_without_privilege(user: User, *args: str) -> subprocess.CompletedProcess[str]:
    if os.geteuid() == 0 and sys.platform != "linux":
        pytest.skip("root may write everywhere here")
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT_PRIVILEGE, "-m", "qmd", *args],
        capture_output=True,
        text=True,
        env=user.environ,
        cwd=user.home,
        check=False,
    )


def everything_in(folder: Path) -> dict[Path, bytes | None]:
    """Return the files and folders below a folder, with the bytes of files. Links are not followed."""
    return {
        path: path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if not path.is_symlink()
    }


@pytest.fixture
def locked(user: User) -> User:
    """A user whose index is in a read-only folder."""
    user.ok("collection", "add", str(user.notes))
    folder = user.home / "shelf"
    folder.mkdir()
    shutil.copy(user.home / "cache" / "qmd" / "index.sqlite", folder / "index.sqlite")
    user.environ["QMD_INDEX_PATH"] = str(folder / "index.sqlite")
    folder.chmod(0o555)
    return user


@pytest.mark.parametrize("line", READING)
def test_reading_commands_create_no_index(user: User, line: str) -> None:
    (user.home / "cache" / "qmd" / "models").unlink()
    shutil.rmtree(user.home / "cache")
    before = everything_in(user.home)
    assert user.invoke(*line.split()).exit_code == READING[line]
    assert everything_in(user.home) == before


# A query caches the scores of the reranker if the index can be written.
@pytest.mark.parametrize("line", [line for line in READING if not line.startswith("query")])
def test_reading_commands_do_not_change_the_index(reader: User, line: str) -> None:
    before = everything_in(reader.home)
    assert reader.invoke(*line.split()).exit_code == (1 if line.startswith("vsearch") else 0)
    assert everything_in(reader.home) == before


def test_first_writing_command_creates_the_index(user: User) -> None:
    shutil.rmtree(user.home / "config", ignore_errors=True)
    assert user.ok("search", "performance") == "No results found.\n"
    user.ok("collection", "add", str(user.notes))
    assert "notes/deploy.md" in user.ok("search", "rollback")


def test_models_write_only_to_the_qmd_folders(user: User) -> None:
    user.ok("collection", "add", str(user.notes / "2026"), "--name", "few")
    assert user.run("embed").returncode == 0
    assert user.run("vsearch", "performance").returncode == 0
    assert os.listdir(user.home / "cache") == ["qmd"]
    assert {path.name for path in user.home.iterdir()} == {"notes", "cache", "config"}


def test_read_only_folder_can_be_searched(locked: User) -> None:
    for args in (["search", "performance"], ["get", "deploy.md"], ["ls", "notes"], ["query", "performance"]):
        found = run_without_privilege(locked, *args)
        assert (found.returncode, bool(found.stdout)) == (0, True), found.stderr
    assert f"Total:      {len(FILES)} files" in run_without_privilege(locked, "status").stdout
    assert ", read only\n" in run_without_privilege(locked, "doctor").stdout
    assert os.listdir(locked.home / "shelf") == ["index.sqlite"]


def test_update_in_a_read_only_folder_is_a_one_line_error(locked: User) -> None:
    (locked.notes / "new.md").write_text("fresh herring\n", encoding="utf-8")
    found = run_without_privilege(locked, "update", "--no-embed")
    assert found.returncode == 1
    error, hint = found.stderr.splitlines()
    assert error.startswith(f"Error: cannot use {locked.environ['QMD_INDEX_PATH']}")
    assert hint == "Hint: check the permissions and the free space of the folder"
    assert "notes/deploy.md" in run_without_privilege(locked, "search", "rollback").stdout


def test_read_only_index_file_can_be_searched(locked: User) -> None:
    shelf = locked.home / "shelf"
    shelf.chmod(0o755)
    (shelf / "index.sqlite").chmod(0o444)
    assert "notes/deploy.md" in run_without_privilege(locked, "search", "rollback").stdout
    assert os.listdir(shelf) == ["index.sqlite"]


_SEARCHING_TWICE = """
import sys, qmd
with qmd.open_index(sys.argv[1], config=sys.argv[2]) as index:
    print(len(index.search("herring").hits), flush=True)
    sys.stdin.readline()
    print(len(index.search("herring").hits), flush=True)
"""


def test_unprivileged_reader_sees_later_changes(locked: User) -> None:
    shelf = locked.home / "shelf"
    index, config = locked.environ["QMD_INDEX_PATH"], str(locked.home / "config" / "qmd" / "index.yml")
    reader = subprocess.Popen(
        [sys.executable, "-c", _WITHOUT_PRIVILEGE, "-c", _SEARCHING_TWICE, index, config],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=locked.environ,
    )
    assert reader.stdin is not None
    assert reader.stdout is not None
    assert reader.stdout.readline() == "0\n"
    shelf.chmod(0o755)
    (locked.notes / "new.md").write_text("fresh herring\n", encoding="utf-8")
    locked.ok("update", "--no-embed")
    shelf.chmod(0o555)
    rest, _ = reader.communicate("go on\n")
    assert rest == "1\n"


_KILLED_WHILE_WRITING = """
import os, sys, qmd
index = qmd.open_index(sys.argv[1], config=sys.argv[2])
index.update()
os._exit(0)  # before the write-ahead log is taken over
"""


def test_unfinished_write_in_a_read_only_folder_is_an_error(locked: User) -> None:
    shelf = locked.home / "shelf"
    shelf.chmod(0o755)
    (locked.notes / "new.md").write_text("fresh herring\n", encoding="utf-8")
    index, config = locked.environ["QMD_INDEX_PATH"], str(locked.home / "config" / "qmd" / "index.yml")
    subprocess.run(
        [sys.executable, "-c", _KILLED_WHILE_WRITING, index, config], env=locked.environ, check=True
    )
    assert (shelf / "index.sqlite-wal").stat().st_size
    (shelf / "index.sqlite-shm").unlink()
    shelf.chmod(0o555)
    found = run_without_privilege(locked, "search", "herring")
    assert found.returncode == 1
    assert found.stderr.startswith(f"Error: {index} has changes in {index}-wal")
    shelf.chmod(0o755)
    assert "notes/new.md" in run_without_privilege(locked, "search", "herring").stdout


def test_older_index_in_a_read_only_folder_is_an_error(locked: User) -> None:
    shelf = locked.home / "shelf"
    shelf.chmod(0o755)
    (shelf / "index.sqlite").unlink()
    db = apsw.Connection(str(shelf / "index.sqlite"))
    db.execute(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA journal_mode=WAL")
    migrate_to(db, FIRST_VERSION)
    db.close()
    shelf.chmod(0o555)
    found = run_without_privilege(locked, "search", "performance")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.splitlines() == [
        f"Error: {shelf / 'index.sqlite'} was written by an older qmd, "
        "and may not be written to bring it up to date",
        "Hint: run 'qmd status' once as a user who may write it and its folder",
    ]

"""`qmd store backup` and `qmd store restore`: everything in a backup is restored, or nothing changes."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from qmd.engine.embedding.batches import embedding_lock
from qmd.store.sqlite.schema import VERSION
from tests.users import FILES, MakeUser, User

pytestmark = pytest.mark.slow

PAGE = 4096


@pytest.fixture
def owner(user: User) -> User:
    """A user whose notes are indexed and embedded, with a backup of the index."""
    user.ok("collection", "add", str(user.notes))
    user.ok("embed", "-q")
    user.ok("backup", str(copy_of(user)))
    return user


def copy_of(user: User) -> Path:
    return user.home / "copy.sqlite"


def index_of(user: User) -> Path:
    return user.home / "cache" / "qmd" / "index.sqlite"


def config_of(user: User) -> Path:
    return user.home / "config" / "qmd" / "index.yml"


def kept_of(user: User) -> list[Path]:
    """Return the indexes that restores have replaced and kept."""
    return sorted(index_of(user).parent.glob("index-replaced-*.sqlite"))


def answers(user: User) -> list[Any]:
    """Return what an index answers, without what it says of files that have changed since."""
    given = (("search", "performance"), ("vsearch", "rollback"))
    lists = [json.loads(user.ok(*each, "--all", "--json")) for each in given]
    return [[{**hit, "stale": None} for hit in hits] for hits in lists]


def change(user: User) -> None:
    (user.notes / "deploy.md").write_text("# Deploying\n\nAn entirely fresh herring.\n", encoding="utf-8")
    user.ok("update", "-q")


def refusal(user: User, *args: str, **environ: str) -> tuple[str, str]:
    """Return the error and the hint of a command. The test fails if the command succeeds."""
    result = user.invoke(*args, **environ)
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    error, hint = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    return error.removeprefix("Error: "), hint.removeprefix("Hint: ")


# -- restored content
# -----------------------------------------------------------------------------------------


def test_restore_brings_back_index_vectors_and_configuration(owner: User) -> None:
    before, config = answers(owner), config_of(owner).read_bytes()
    shutil.rmtree(config_of(owner).parent)
    index_of(owner).unlink()
    said = owner.ok("restore", str(copy_of(owner)))
    assert f"Restored {index_of(owner)}: {len(FILES)} documents, {len(FILES)} vectors, index.yml" in said
    assert config_of(owner).read_bytes() == config
    assert answers(owner) == before
    assert owner.ok("update") == f"notes: {len(FILES)} unchanged\n"
    assert owner.ok("doctor").endswith("\nNo problems found.\n")
    assert kept_of(owner) == []


def test_restore_keeps_the_replaced_index(owner: User) -> None:
    before = answers(owner)
    change(owner)
    changed = answers(owner)
    assert changed != before
    owner.ok("restore", str(copy_of(owner)))
    assert answers(owner) == before
    (kept,) = kept_of(owner)
    owner.ok("restore", str(kept))
    assert answers(owner) == changed
    assert len(kept_of(owner)) == 2


def test_backup_is_consistent_while_another_process_writes(owner: User) -> None:
    writer = apsw.Connection(str(index_of(owner)))
    writer.execute("BEGIN IMMEDIATE; DELETE FROM documents_fts; DELETE FROM documents")
    said = owner.ok("backup", str(owner.home / "other.sqlite"))
    writer.execute("COMMIT")
    writer.close()
    assert f": {len(FILES)} documents" in said
    owner.ok("restore", str(owner.home / "other.sqlite"))
    assert owner.ok("doctor").endswith("\nNo problems found.\n")


def test_restore_keeps_index_yml_without_config_option(owner: User) -> None:
    saved = config_of(owner).read_bytes()
    owner.ok("collection", "remove", "notes")
    result = owner.invoke("restore", str(copy_of(owner)))
    assert "'qmd update' will drop notes unless --config restores it too" in result.stderr
    assert config_of(owner).read_bytes() != saved
    result = owner.invoke("restore", "--config", str(copy_of(owner)))
    assert config_of(owner).read_bytes() == saved
    (replaced,) = config_of(owner).parent.glob("index-replaced-*.yml")
    assert str(replaced) in result.stderr
    assert "notes" not in replaced.read_text(encoding="utf-8")
    assert owner.ok("ls", "notes").count("\n") == len(FILES)


# -- the file ------------------------------------------------------------------------------------------------


def test_backup_file_is_named_by_index_and_time_and_private(owner: User) -> None:
    folder = owner.home / "backups"
    folder.mkdir()
    assert owner.run("backup", cwd=folder).returncode == 0
    owner.ok("backup", str(folder / "notes.sqlite"))
    named, dated = sorted(folder.iterdir())
    assert named.name == "notes.sqlite"
    assert dated.name.startswith("qmd-index-2")
    assert {path.stat().st_mode & 0o777 for path in (named, dated)} == {0o600}


@pytest.mark.parametrize("options", [(), ("--portable",)])
def test_backup_without_a_file_never_writes_into_a_folder_that_is_indexed(
    owner: User, options: tuple[str, ...]
) -> None:
    (owner.notes / "sub").mkdir(exist_ok=True)
    before = sorted(owner.notes.rglob("*"))
    for folder in (owner.notes, owner.notes / "sub"):
        made = owner.call("backup", *options, cwd=folder)
        assert made.returncode == 0, made.stderr
        path = Path(made.stdout.partition(": ")[0])
        assert path.parent.name == "backups"
        assert path.parent.stat().st_mode & 0o777 == 0o700
        path.unlink()
    assert sorted(owner.notes.rglob("*")) == before


def test_backup_overwrites_a_file_only_with_force(owner: User) -> None:
    before = copy_of(owner).read_bytes()
    change(owner)
    error, hint = refusal(owner, "backup", str(copy_of(owner)))
    assert error == f"{copy_of(owner)} is there already"
    assert "--force" in hint
    assert copy_of(owner).read_bytes() == before
    owner.ok("backup", "--force", str(copy_of(owner)))
    assert copy_of(owner).read_bytes() != before


def test_backup_without_an_index_is_refused(user: User) -> None:
    assert refusal(user, "backup", str(copy_of(user)))[0].startswith("there is no index yet")
    assert not copy_of(user).exists()


def test_backup_into_a_missing_folder_is_an_error(owner: User) -> None:
    error, _ = refusal(owner, "backup", str(owner.home / "none" / "copy.sqlite"))
    assert error.endswith("copy.sqlite cannot be written: No such file or directory")


# -- refused backups
# ------------------------------------------------------------------------------------------


def _missing(path: Path) -> None:
    path.unlink()


def _text(path: Path) -> None:
    path.write_text("just text", encoding="utf-8")


def _foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()


def _newer(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version={VERSION + 1}")
    connection.close()


def _damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(4, len(data) // PAGE, 3):
        data[page * PAGE : page * PAGE + 64] = b"\xff" * 64
    path.write_bytes(data)


def _cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 9 * PAGE])


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_missing, "is not there"),
        (_text, "is not an index, or is damaged"),
        (_foreign, "was made by another program"),
        (_newer, "was written by a newer qmd"),
        (_damaged, "is damaged ("),
        (_cut_short, "is damaged ("),
    ],
)
def test_restore_refuses_incomplete_backups_and_changes_nothing(
    owner: User, harm: Callable[[Path], None], words: str
) -> None:
    change(owner)
    before = index_of(owner).read_bytes()
    harm(copy_of(owner))
    assert words in refusal(owner, "restore", str(copy_of(owner)))[0]
    assert index_of(owner).read_bytes() == before
    assert kept_of(owner) == []


def test_restore_refuses_to_replace_the_index_of_another_program(owner: User) -> None:
    other = owner.home / "theirs.sqlite"
    other.touch()
    _foreign(other)
    before = other.read_bytes()
    error, _ = refusal(owner, "restore", "--force", str(copy_of(owner)), QMD_INDEX_PATH=str(other))
    assert "was made by another program" in error
    assert other.read_bytes() == before


def test_restore_refuses_while_another_process_embeds_or_writes(owner: User) -> None:
    change(owner)
    before = answers(owner)
    with embedding_lock(str(index_of(owner))):
        error, hint = refusal(owner, "restore", str(copy_of(owner)))
    assert error == f"another process is writing {index_of(owner)}; nothing was restored"
    assert "what it has done is kept" in hint
    writer = apsw.Connection(str(index_of(owner)))
    writer.execute("BEGIN IMMEDIATE")
    assert refusal(owner, "restore", str(copy_of(owner)), QMD_SQLITE_BUSY_TIMEOUT="1")[0] == error
    writer.close()
    assert answers(owner) == before
    assert kept_of(owner) == []


# -- damage --------------------------------------------------------------------------------------------------

#: Damaged pages, as fractions of the file: in the tables, B-trees, full-text index and vectors.
PLACES = [0.1, 0.3, 0.5, 0.7, 0.9]


@pytest.mark.parametrize("place", PLACES)
def test_damaged_index_is_a_one_line_error_and_restore_repairs_it(owner: User, place: float) -> None:
    before = answers(owner)
    good = index_of(owner).read_bytes()
    first = int(place * len(good) / PAGE)
    data = bytearray(good)
    data[first * PAGE : (first + 4) * PAGE] = b"\xff" * (4 * PAGE)
    index_of(owner).write_bytes(data)
    told = owner.invoke("doctor")
    assert told.exit_code == 1, told.output
    assert "qmd store restore" in told.output
    for command in (
        ("search", "performance"),
        ("vsearch", "rollback"),
        ("ls", "notes"),
        ("get", "notes/deploy.md"),
        ("status",),
        ("update",),
        ("cleanup",),
    ):
        result = owner.invoke(*command)
        assert "internal error" not in result.stderr, result.output
        if result.exit_code:
            # An update may have reported a collection before it reads the damaged pages.
            *_, error, hint = result.stderr.splitlines()
            assert error.startswith(f"Error: {index_of(owner)} is damaged")
            assert "qmd store restore" in hint
    owner.ok("restore", str(copy_of(owner)))
    assert answers(owner) == before
    assert owner.ok("doctor").endswith("\nNo problems found.\n")


def test_restore_force_replaces_an_index_with_a_damaged_header(owner: User) -> None:
    before = answers(owner)
    data = b"\xff" * PAGE + index_of(owner).read_bytes()[PAGE:]
    index_of(owner).write_bytes(data)
    error, hint = refusal(owner, "search", "performance")
    assert "is damaged at its beginning" in error
    assert "qmd store restore" in hint
    error, hint = refusal(owner, "restore", str(copy_of(owner)))
    assert "--force" in hint
    assert index_of(owner).read_bytes() == data
    owner.ok("restore", "--force", str(copy_of(owner)))
    assert answers(owner) == before
    assert [path.read_bytes() for path in kept_of(owner)] == [data]


def test_restore_ignores_the_write_ahead_log_of_a_lost_index(owner: User) -> None:
    before = answers(owner)
    writer = apsw.Connection(str(index_of(owner)))
    writer.execute("DELETE FROM documents_fts; DELETE FROM documents")
    log = Path(f"{index_of(owner)}-wal")
    left = log.read_bytes()
    writer.close()
    index_of(owner).unlink()
    log.write_bytes(left)
    owner.ok("restore", str(copy_of(owner)))
    assert answers(owner) == before


# -- killed processes
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("restore", "copy.sqlite"), ("backup", "--force", "copy.sqlite")])
def test_killed_backup_or_restore_leaves_the_old_or_the_new_file(
    owner: User, command: tuple[str, ...]
) -> None:
    chance = random.Random(5)
    states = [answers(owner)]
    change(owner)
    owner.ok("embed", "-q")
    states.append(answers(owner))
    began = time.monotonic()
    assert owner.run(*command).returncode == 0
    lasting = time.monotonic() - began
    for _ in range(5):
        owner.ok("update", "-q")
        owner.ok("embed", "-q")
        process = subprocess.Popen([sys.executable, "-m", "qmd", *command], env=owner.environ, cwd=owner.home)
        try:
            process.wait(chance.uniform(0.0, lasting))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert answers(owner) in states
        assert not any("problem" in line for line in owner.ok("doctor").splitlines()[:-1])
        owner.ok("restore", str(copy_of(owner)))
        assert answers(owner) in states
    for leftover in index_of(owner).parent.glob("*.tmp"):
        os.utime(leftover, (1, 1))
    owner.ok("cleanup")
    assert list(index_of(owner).parent.glob("*.tmp")) == []


def test_restore_puts_a_backup_of_another_user_under_an_index_name(owner: User, make_user: MakeUser) -> None:
    other = make_user("other")
    other.ok("--index", "work", "restore", str(copy_of(owner)))
    found = other.ok("--index", "work", "search", "rollback", "--files")
    assert "qmd://notes/deploy.md" in found
    assert (config_of(other).parent / "work.yml").read_bytes() == config_of(owner).read_bytes()


@pytest.mark.parametrize("seed", range(3))
def test_damaged_index_gives_answers_or_one_line_of_error(owner: User, seed: int) -> None:
    chance = random.Random(seed)
    before, good = answers(owner), index_of(owner).read_bytes()
    at = chance.randrange(PAGE, len(good) - PAGE)
    size = chance.choice([1, 16, 512, PAGE])
    harmed = good[:at] + chance.randbytes(size) + good[at + size :]
    index_of(owner).write_bytes(harmed)
    for command in (
        ("search", "performance"),
        ("vsearch", "rollback"),
        ("ls", "notes"),
        ("update",),
        ("doctor",),
    ):
        result = owner.invoke(*command)
        assert result.exit_code in (0, 1)
        assert "internal error" not in result.stderr, result.output
    owner.ok("restore", str(copy_of(owner)))
    assert answers(owner) == before

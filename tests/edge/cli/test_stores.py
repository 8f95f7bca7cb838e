"""`--store`: commands and their output are the same with another store than the SQLite file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from qmd.config import editing
from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.store.values import Scope
from qmd.types import Collection
from tests.users import MakeUser, User
from tests.waiting import until

pytestmark = pytest.mark.slow

#: The time when a file was made differs between users.
_UNTIMED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
QUERIES = ("deploy", "数据库 恢复", "how do we release")


@pytest.mark.milvus
def test_commands_print_the_same_with_another_store(user: User, reader: User) -> None:
    store = f"milvus://{user.home}/index.db"
    user.ok("--store", store, "collection", "add", str(user.notes), "--name", "notes")
    user.ok("--store", store, "context", "add", "/", "Everything")
    user.ok("--store", store, "context", "add", "qmd://notes/2026", 'Notes of "2026", dated')
    for args in (
        ["search", "performance", "-n", "20", "--files"],
        ["search", "performance of the band", "--json"],
        ["search", "数据库", "--md"],
        ["search", '"performance review"', "--csv"],
        ["get", "notes/deploy.md"],
        ["multi-get", "notes/*.md", "--files"],
        ["ls", "notes"],
        ["context", "list"],
    ):
        # Documents with equal scores are ordered by their ids, which differ between stores.
        told, known = (
            sorted(_UNTIMED.sub("", each).splitlines())
            for each in (user.ok("--store", store, *args), reader.ok(*args))
        )
        assert told == known, args
    assert f"Index:   {store}" in user.ok("--store", store, "status")
    assert not (user.home / "cache" / "qmd" / "index.sqlite").exists()


@pytest.mark.milvus
def test_backup_of_milvus_suggests_store_copy(user: User) -> None:
    store = f"milvus://{user.home}/index.db"
    user.ok("--store", store, "collection", "add", str(user.notes), "--name", "notes")
    made = user.call("--store", store, "backup")
    assert (made.returncode, made.stdout) == (1, "")
    assert f"qmd --store {store} store copy . FILE" in made.stderr
    user.ok("collection", "show", "notes")
    user.ok("store", "copy", store, str(user.home / "copy.sqlite"))
    restored = user.call("--store", store, "restore", str(user.home / "copy.sqlite"))
    assert (restored.returncode, restored.stdout) == (1, "")
    assert f"store copy FILE {store}" in restored.stderr


@pytest.mark.milvus
def test_reading_commands_create_no_milvus_store(user: User) -> None:
    place = user.home / "none.db"
    for args in (["status"], ["search", "words"], ["ls"], ["cleanup", "--dry-run"]):
        user.ok("--store", f"milvus://{place}", *args)
    assert not place.exists()


def test_invalid_store_address_is_a_one_line_error(user: User) -> None:
    result = user.call("--store", "milvus://me:hush@host/db", "status")
    assert (result.returncode, result.stdout) == (1, "")
    assert (
        result.stderr.splitlines()[0] == "Error: the address of a store may not contain a user or a password"
    )
    assert "QMD_MILVUS_TOKEN" in result.stderr and "hush" not in result.stderr


@pytest.mark.milvus
def test_store_copy_moves_an_index_to_milvus_and_back(user: User) -> None:
    milvus = f"milvus://{user.home}/there.db"
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("embed", "-q")
    before = [user.ok("vsearch", query, "--json") for query in QUERIES]
    assert "Copied" in user.ok("store", "copy", ".", milvus)
    assert sorted(user.ok("--store", milvus, "vsearch", QUERIES[0], "--files").splitlines()) == sorted(
        user.ok("vsearch", QUERIES[0], "--files").splitlines()
    )
    assert user.ok("--store", milvus, "embed", "-q").startswith("Nothing to embed")
    assert user.ok("--store", milvus, "update", "--no-embed").strip().endswith("unchanged")
    back = user.home / "back.sqlite"
    user.ok("store", "copy", milvus, str(back))
    user.environ["QMD_INDEX_PATH"] = str(back)
    assert [user.ok("vsearch", query, "--json") for query in QUERIES] == before


# -- several machines --------------------------------------------------------------------------------------


@pytest.mark.milvus
def test_three_machines_share_embedding_and_finish_work_of_a_dead_one(
    make_user: MakeUser,
    served: str,
) -> None:
    texts = 120
    machines = [make_user(f"machine-{number}") for number in range(3)]
    folder = machines[0].home / "many"
    folder.mkdir()
    for number in range(texts):
        line = f"The heron number {number} stands in the water of lake {number % 7}. "
        (folder / f"{number:03}.md").write_text(f"# Note {number}\n\n{line * 6}", encoding="utf-8")
    for user in machines:
        user.environ |= {"QMD_STORE": served, "QMD_EMBED_LEASE": "15"}
        file = Path(user.environ["XDG_CONFIG_HOME"]) / "qmd" / "index.yml"
        editing.add_collection(str(file), Collection("many", str(folder)))
    machines[0].ok("update", "--no-embed")

    with closing(open_store("", served, {})) as store:
        # The second machine has stored a batch and leased the next one when it is killed.
        dead = _embed(machines[1])
        until(
            lambda: store.vector_sets.all_token_frequencies(_fingerprint(store))[0] > 0,
            alive=lambda: dead.poll() is None,
        )
        others = [_embed(machines[0]), _embed(machines[2])]
        os.kill(dead.pid, signal.SIGKILL)
        done = [process.communicate() for process in (dead, *others)]
        assert [process.returncode for process in (dead, *others)] == [-signal.SIGKILL, 0, 0], done
        # The texts of the killed machine are free again when its lease expires.
        while store.pending.count(_fingerprint(store), Scope(("many",))):
            machines[2].ok("embed", "-q")
        assert store.vector_sets.chunk_counts()[_fingerprint(store)] == texts
        # Every text is one chunk, and must be counted once, even if the machine was killed while it counted.
        for _ in range(20):
            chunks, _ = store.vector_sets.all_token_frequencies(_fingerprint(store))
            if chunks == texts:
                break
            machines[2].ok("embed", "-q")
        assert chunks == texts
        assert sum(_texts_of(out) for out, _ in done) in range(1, texts), done


def _embed(user: User) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "qmd", "embed"],
        env=user.environ,
        cwd=user.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _fingerprint(store: Store) -> str:
    return next((each.fingerprint for each in store.vector_sets.all()), "")


def _texts_of(out: str) -> int:
    found = re.search(r"Embedded (\d+) text", out)
    return int(found[1]) if found else 0


@pytest.mark.skipif(os.name == "nt", reason="needs permissions of POSIX")
def test_files_are_for_the_user_alone_whatever_the_umask(user: User) -> None:
    def run(*args: str, cwd: Path) -> None:
        words = [sys.executable, "-m", "qmd", *args]
        subprocess.run(words, env=user.environ, cwd=cwd, check=True, capture_output=True, umask=0)

    project = user.home / "project"
    project.mkdir()
    before = {*user.home.rglob("*")}
    run("collection", "add", str(user.notes), cwd=user.home)
    run("store", "copy", ".", str(user.home / "copy.sqlite"), cwd=user.home)
    for client in ("claude", "codex", "opencode"):
        run("agent", "install", client, "--yes", cwd=user.home)
    run("project", "init", cwd=project)
    run("update", "--no-embed", cwd=project)
    made = {*user.home.rglob("*")} - before
    modes = {path: path.lstat().st_mode & 0o777 for path in made if not path.is_symlink()}
    assert {path for path, mode in modes.items() if mode & 0o022} == set()
    indexes = [path for path in modes if ".sqlite" in path.name and path.suffix != ".lock"]
    assert len(indexes) >= 3
    assert {path for path in indexes if modes[path] != 0o600} == set()

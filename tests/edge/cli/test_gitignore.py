"""Files that git ignores are left out of the collections of work trees, which `add` and `why` say."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.repositories import Repository, needs_git
from tests.users import User

pytestmark = needs_git
_IGNORED = ("out/deep/a.md", "site/über uns/b.md", "draft.tmp.md", "nest/made/c.md")


@pytest.fixture
def folder(user: User) -> Path:
    root = user.home / "work"
    repository = Repository(root)
    repository.commit(
        "2024-01-01T00:00:00Z",
        "First",
        {"kept.md": "# Kept\n", ".gitignore": "out/\n*.tmp.md\n", "site/.gitignore": "über uns\n"},
    )
    (root / "old.tmp.md").write_text("# Old, but committed\n")
    repository.git("add", "-f", "old.tmp.md")
    Repository(root / "nest").commit(
        "2024-01-01T00:00:00Z", "First", {".gitignore": "made\n", "n.md": "# N\n"}
    )
    for name in _IGNORED:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n", encoding="utf-8")
    return root


def _files(user: User) -> set[str]:
    return {line.rpartition("  ")[2].removeprefix("work/") for line in user.ok("ls", "work").splitlines()}


def test_add_leaves_out_what_git_ignores_and_says_so(user: User, folder: Path) -> None:
    said = user.ok("add", str(folder))
    assert (
        "work: left out: 3 paths (draft.tmp.md, out/, site/über uns/), which git ignores. "
        "To index them: qmd collection gitignore work off" in said.splitlines()
    )
    kept = {"kept.md", "old.tmp.md", "nest/n.md"}
    assert _files(user) == kept
    for name in _IGNORED:
        assert "git ignores it" in user.ok("why", str(folder / name), "x")
    assert "0 new" not in user.ok("collection", "gitignore", "work", "off")
    assert "4 new" in user.ok("update", "work")
    assert _files(user) == kept | {*_IGNORED}
    user.ok("collection", "gitignore", "work", "on")
    assert "4 removed" in user.ok("update", "work")


def test_scan_leaves_out_what_git_ignored_before_if_it_does_not_answer(user: User, folder: Path) -> None:
    user.ok("collection", "add", str(folder))
    before = _files(user)
    (folder / "nest" / ".gitignore").unlink()
    os.mkfifo(folder / "nest" / ".gitignore")
    for name in ("nest/n.md", "nest/new.md", "new.md"):
        (folder / name).write_text(f"# New {name}\n")
    for _ in range(2):
        done = user.invoke("update", "work", "--no-embed")
        said = "nest/.gitignore: files that git ignored at the last scan are left out: git took"
        assert said in done.stderr, done
        assert _files(user) == before | {"new.md", "nest/new.md"}
    # The first collection has answered that the clone takes too long, and of this one no list is known.
    nested = user.invoke("collection", "add", str(folder / "nest"))
    assert "the files that git ignores are not known" in nested.stderr
    assert "made" not in user.ok("ls", "nest")
    (folder / "nest" / ".gitignore").unlink()
    (folder / "nest" / ".gitignore").write_text("new.md\n")
    assert user.run("update", "work", "--no-embed").returncode == 0
    assert _files(user) == before | {"new.md", "nest/made/c.md"}


@pytest.mark.slow
def test_add_leaves_out_what_git_ignores_in_each_of_many_clones(user: User, folder: Path) -> None:
    for number in range(201):
        shutil.copytree(folder / "nest", folder / f"nest{number:03}")
    assert "git ignores are not known" not in user.ok("add", str(folder))
    assert not [name for name in _files(user) if "made" in name]
    assert sum(name.endswith("/n.md") for name in _files(user)) == 202


def test_add_reads_gitignore_on_request_alone_if_the_folder_is_no_work_tree(user: User, folder: Path) -> None:
    folder.rename(folder.parent / "all")
    (folder.parent / "all/.git").rename(folder.parent / "gone")
    assert "git ignores" not in user.ok("collection", "add", str(folder.parent / "all"), "--name", "work")
    assert {*_IGNORED} <= _files(user)
    user.ok("collection", "remove", "work")
    user.ok("collection", "add", str(folder.parent / "all"), "--name", "work", "--gitignore")
    assert _files(user) == {"kept.md", "old.tmp.md", "nest/n.md", *_IGNORED[:3]}


def test_add_indexes_a_folder_that_git_ignores(user: User, folder: Path) -> None:
    said = user.ok("collection", "add", str(folder / "out"))
    assert "git ignores" not in said
    assert "1 new" in said
    below = folder / "out" / "deep" / "er"
    below.mkdir()
    (below / "d.md").write_text("# D\n")
    done = user.run("collection", "add", str(below), "--name", "deep")
    assert "git" not in done.stderr.replace(str(folder), "")
    assert "1 new" in done.stdout
    said = user.ok("collection", "add", str(folder / "nest"), "--name", "nest", "--ignore", "!made")
    assert "git ignores" not in said
    assert "2 new" in said


def test_add_names_documents_with_the_same_text(user: User) -> None:
    folder = user.home / "same"
    folder.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).write_text("# One\n")
    said = user.ok("collection", "add", str(folder))
    assert "same: 2 documents with the text of others (b.md = a.md, c.md = a.md): --fold" in said

"""`/documents/{path}/history` and `as_of`: nothing in a collection leads them into another repository."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients import Server, server_of
from tests.repositories import Repository, needs_git
from tests.users import MakeUser

pytestmark = [pytest.mark.slow, needs_git]

SECRET = "zanzibar"
Lead = Callable[[Path, Repository], None]


def own(folder: Path) -> Path:
    """Make a repository without commits in `folder`, and return the folder of its files."""
    Repository(folder)
    return folder / ".git"


def of_private(folder: Path, private: Repository) -> Path:
    """Make a repository that says it is at the commit of the private one, whose objects it lacks."""
    git = own(folder)
    (git / "refs" / "heads" / "main").write_text(private.git("rev-parse", "HEAD"), encoding="utf-8")
    return git


def file_of_git(folder: Path, private: Repository) -> None:
    (folder / ".git").write_text(f"gitdir: {private.folder / '.git'}\n", encoding="utf-8")


def relative_file_of_git(folder: Path, private: Repository) -> None:
    path = os.path.relpath(private.folder / ".git", folder)
    (folder / ".git").write_text(f"gitdir: {path}\n", encoding="utf-8")


def worktree_in_the_collection(folder: Path, private: Repository) -> None:
    shutil.move(own(folder), folder / "files")
    (folder / "files" / "commondir").write_text(f"{private.folder / '.git'}\n", encoding="utf-8")
    (folder / "files" / "gitdir").write_text(f"{folder / '.git'}\n", encoding="utf-8")
    (folder / ".git").write_text("gitdir: files\n", encoding="utf-8")


def submodule_in_the_collection(folder: Path, private: Repository) -> None:
    worktree_in_the_collection(folder, private)
    private.git("config", "--file", str(folder / "files" / "config"), "core.worktree", "..")


def worktree_of_another_folder(folder: Path, private: Repository) -> None:
    private.git("worktree", "add", "-q", "--detach", str(folder.parent.parent / "worktree"))
    shutil.copy(folder.parent.parent / "worktree" / ".git", folder / ".git")


def commondir(folder: Path, private: Repository) -> None:
    (own(folder) / "commondir").write_text(f"{private.folder / '.git'}\n", encoding="utf-8")


def alternates(folder: Path, private: Repository) -> None:
    path = of_private(folder, private) / "objects" / "info" / "alternates"
    path.write_text(f"# objects\n\n{private.folder / '.git' / 'objects'}\n", encoding="utf-8")


def alternates_of_alternates(folder: Path, private: Repository) -> None:
    git = of_private(folder, private)
    (git / "more" / "info").mkdir(parents=True)
    (git / "objects" / "info" / "alternates").write_text("../more\n", encoding="utf-8")
    theirs = f'"{private.folder / ".git" / "objects"}"\n'
    (git / "more" / "info" / "alternates").write_text(theirs, encoding="utf-8")


def link_of_objects(folder: Path, private: Repository) -> None:
    objects = of_private(folder, private) / "objects"
    shutil.rmtree(objects)
    os.symlink(private.folder / ".git" / "objects", objects)


def link_of_each_object(folder: Path, private: Repository) -> None:
    objects = of_private(folder, private) / "objects"
    for path in (private.folder / ".git" / "objects").glob("??"):
        os.symlink(path, objects / path.name)


def link_of_references(folder: Path, private: Repository) -> None:
    git = own(folder)
    shutil.rmtree(git / "refs")
    os.symlink(private.folder / ".git" / "refs", git / "refs")


def link_of_git(folder: Path, private: Repository) -> None:
    os.symlink(private.folder / ".git", folder / ".git")


def link_of_shallow(folder: Path, private: Repository) -> None:
    repository = Repository(folder)
    repository.commit("2024-01-01T10:00:00Z", "Mine", {})
    os.symlink(private.folder / "note.md", folder / ".git" / "shallow")


def link_of_packed_references(folder: Path, private: Repository) -> None:
    os.symlink(private.folder / "note.md", own(folder) / "packed-refs")


def configuration(folder: Path, private: Repository) -> None:
    own(folder)
    config = folder / ".git" / "config"
    private.git("config", "--file", str(config), "core.worktree", str(private.folder))
    private.git("config", "--file", str(config), "include.path", str(private.folder / "note.md"))


LEADS: list[Lead] = [
    file_of_git,
    relative_file_of_git,
    worktree_in_the_collection,
    submodule_in_the_collection,
    worktree_of_another_folder,
    commondir,
    alternates,
    alternates_of_alternates,
    link_of_objects,
    link_of_each_object,
    link_of_references,
    link_of_git,
    link_of_shallow,
    link_of_packed_references,
    configuration,
]


@pytest.fixture(scope="module")
def reader(make_user: MakeUser) -> Iterator[tuple[Server, str]]:
    """A server, and a key that may only read the collection `shared`, beside a private repository."""
    user = make_user("forger")
    private = Repository(user.home / "private")
    private.commit("2024-01-01T10:00:00Z", f"Old {SECRET}", {"note.md": f"{SECRET} of old\n"})
    private.commit("2024-01-02T10:00:00Z", f"New {SECRET}", {"note.md": f"{SECRET} of now\n"})
    for lead in LEADS:
        folder = user.home / "shared" / lead.__name__
        folder.mkdir(parents=True)
        (folder / "note.md").write_text("What may be read.\n", encoding="utf-8")
        lead(folder, private)
    for name in ("private", "shared"):
        user.ok("collection", "add", str(user.home / name), "--name", name)
    key = user.ok("keys", "add", "reader", "-c", "shared", "--read-only").strip()
    with server_of(user) as server:
        yield server, key


@pytest.mark.parametrize("lead", LEADS, ids=[lead.__name__ for lead in LEADS])
def test_history_of_a_forged_clone_leads_into_no_other_repository(
    reader: tuple[Server, str], lead: Lead
) -> None:
    server, key = reader
    name = f"shared/{lead.__name__}/note.md"
    assert "may be read" in server.ask("POST", "/get", {"file": name}, key=key).text
    for answer in (
        server.ask("GET", f"/documents/{name}/history", key=key),
        server.ask("POST", "/get", {"file": name, "as_of": "2024-01-01"}, key=key),
        server.ask("POST", "/get", {"file": name, "as_of": "today"}, key=key),
        server.ask("POST", "/multi_get", {"pattern": name, "as_of": "2024-01-01"}, key=key),
    ):
        assert SECRET not in answer.text
        assert answer.status in (400, 404) or answer.json["errors"]

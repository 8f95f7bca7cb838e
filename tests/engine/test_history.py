"""The commits of documents, and their texts as of a date."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from time import tzset

import pytest

import qmd
from tests.files import NOTEBOOK
from tests.repositories import Repository, needs_git

pytestmark = [pytest.mark.slow, needs_git]

#: Enough lines that git takes a changed file with another name for the same.
REST = "# Rest\n" + "".join(f"Line {number} of the rest.\n" for number in range(16))
FIRST = f"# Plan\n\nOne heron.\n\n{REST}"
SECOND = f"# Plan\n\nTwo herons.\n\n## Costs\n\nTen.\n\n{REST}"
THIRD = f"# Plan\n\nThree herons.\n\n## Budget\n\nMore.\n\n## Costs\n\nTwelve.\n\n{REST}"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with three versions of a note, which was renamed with the second."""
    repository = Repository(tmp_path / "clone")
    repository.commit("2024-05-01T10:00:00Z", "Begin", {"notes/draft.md": FIRST, "notes/b.md": "bittern\n"})
    repository.git("mv", "notes/draft.md", "notes/plan.md")
    repository.commit("2024-05-02T23:30:00Z", "Rename \x1b[31mit", {"notes/plan.md": SECOND})
    repository.commit("2024-06-10T10:00:00Z", "Third", {"notes/plan.md": THIRD})
    return repository


@pytest.fixture
def library(index: qmd.Index, repository: Repository) -> qmd.Index:
    index.add_collection(str(repository.folder / "notes"), "notes")
    return index


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    tzset()
    yield
    monkeypatch.undo()
    tzset()


@pytest.mark.parametrize(
    ("as_of", "text"),
    [
        ("2024-05-01", FIRST),
        ("2024-05-02", SECOND),
        ("2024-05-02T23:29", FIRST),
        ("2024-05-02 23:30", SECOND),
        ("2024-05", SECOND),
        ("2024-06-09", SECOND),
        ("2024", THIRD),
        ("today", THIRD),
        ("昨天", THIRD),
        ("next-week", THIRD),
    ],
)
def test_get_as_of_returns_the_text_of_the_last_commit_of_that_day(
    library: qmd.Index, as_of: str, text: str
) -> None:
    page = library.get("plan.md", as_of=as_of)
    assert page.text == text
    assert page.whole
    assert page.commit is not None
    assert page.commit.path == ("draft.md" if text == FIRST else "plan.md")
    current = library.get("plan.md")
    assert current.commit is None
    assert (page.document.hash == current.document.hash) == (text == THIRD)


@pytest.mark.parametrize("zone", ["Asia/Shanghai"], indirect=True)
@pytest.mark.usefixtures("zone")
def test_day_of_as_of_ends_in_the_zone_of_the_user(library: qmd.Index) -> None:
    # 23:30 in UTC is 7:30 of the next day there.
    assert library.get("plan.md", as_of="2024-05-02").text == FIRST
    assert library.get("plan.md", as_of="2024-05-03").text == SECOND
    assert library.history("plan.md")[1].date == "2024-05-03T07:30:00+08:00"


def test_get_as_of_takes_lines_and_sections_of_the_text_then(library: qmd.Index) -> None:
    page = library.get("plan.md:3:1", as_of="2024-05-02")
    assert (page.text, page.total_lines) == ("Two herons.", 25)
    assert library.get("plan.md#Costs", as_of="2024-05-02").text == "## Costs\n\nTen.\n"
    assert library.get("plan.md", from_line=7, max_lines=1, as_of="2024-05-02").text == "Ten."
    with pytest.raises(qmd.UsageError, match="no section 'Budget'"):
        library.get("plan.md#Budget", as_of="2024-05-02")
    with pytest.raises(qmd.UsageError, match="has 21 lines"):
        library.get("plan.md:22", as_of="2024-05-01")
    page = library.get("plan.md", as_of="2024-05-02", tokens=60)
    assert page.note
    assert page.commit is not None


def test_history_lists_commits_with_their_lines_and_renames(
    library: qmd.Index, repository: Repository
) -> None:
    found = library.history("notes/plan.md")
    assert [(each.subject, each.path, each.added, each.removed) for each in found] == [
        ("Third", "plan.md", 6, 2),
        ("Rename \x1b[31mit", "plan.md", 5, 1),
        ("Begin", "draft.md", 21, 0),
    ]
    assert found[0].commit == repository.git("rev-parse", "HEAD").strip()
    assert found[0].commit.startswith(found[0].short)
    assert {each.author for each in found} == {"Ann Bee"}
    assert library.history("plan.md", limit=1) == found[:1]


def test_history_includes_merges_and_times_without_the_file(index: qmd.Index, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "clone")
    repository.commit("2024-01-01T10:00:00Z", "One", {"a.md": "one\ntwo\nthree\n", "b.md": "b\n"})
    repository.git("switch", "-q", "-c", "other")
    repository.commit("2024-01-02T10:00:00Z", "Other", {"a.md": "ONE\ntwo\nthree\n"})
    repository.git("switch", "-q", "main")
    repository.commit("2024-01-03T10:00:00Z", "Mine", {"a.md": "one\ntwo\nTHREE\n"})
    repository.git("merge", "-q", "-m", "Join", "other", date="2024-01-04T10:00:00Z")
    repository.commit("2024-01-05T10:00:00Z", "Remove", {"a.md": None})
    repository.commit("2024-01-06T10:00:00Z", "Again", {"a.md": "again\n"})
    index.add_collection(str(repository.folder), "notes")
    subjects = [each.subject for each in index.history("a.md")]
    assert subjects[:2] == ["Again", "Remove"]
    assert {"Mine", "Other", "One"} <= {*subjects}
    assert index.get("a.md", as_of="2024-01-06").text == "again\n"
    assert index.get("a.md", as_of="2024-01-02").text == "ONE\ntwo\nthree\n"
    with pytest.raises(qmd.NotFoundError, match=r"was no file after the commit .* 'Remove'"):
        index.get("a.md", as_of="2024-01-05")


def test_other_formats_are_read_by_their_format(index: qmd.Index, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "clone")
    repository.commit("2024-01-01T10:00:00Z", "One", {"a.ipynb": json.dumps(NOTEBOOK)})
    repository.commit(
        "2024-01-02T10:00:00Z", "Two", {"a.ipynb": json.dumps({**NOTEBOOK, "cells": NOTEBOOK["cells"][:1]})}
    )
    index.add_collection(str(repository.folder), "notes", formats=["notebook"])
    latest, first = (index.get("a.ipynb", as_of=f"2024-01-0{day}") for day in (2, 1))
    assert latest.text == index.get("a.ipynb").text
    assert first.total_lines > latest.total_lines
    assert not first.text.startswith("{")


@pytest.mark.parametrize("before", ["secret/plan.md", "notes/private/plan.md", "notes/plan.txt"])
def test_history_ends_where_the_file_was_not_in_the_collection(
    index: qmd.Index, tmp_path: Path, before: str
) -> None:
    repository = Repository(tmp_path / "clone")
    repository.commit("2024-01-01T10:00:00Z", "Hidden", {before: SECOND, "notes/b.md": "b\n"})
    repository.git("mv", before, "notes/plan.md")
    repository.commit("2024-01-02T10:00:00Z", "Publish", {})
    configuration = {"pattern": "**/*.md"}
    index.add_collection(str(repository.folder / "notes"), "notes", **configuration)
    if "private" in before:
        path = Path(index.locations.config)
        path.write_text(path.read_text(encoding="utf-8") + "    ignore: [private/]\n", encoding="utf-8")
    assert [each.subject for each in index.history("plan.md")] == ["Publish"]
    with pytest.raises(qmd.NotFoundError, match=r"git has no notes/plan\.md of 2024-01-01") as raised:
        index.get("plan.md", as_of="2024-01-01")
    assert "first commit is of 2024-01-02" in (raised.value.hint or "")


def test_document_of_a_nested_clone_has_the_history_of_that_clone(index: qmd.Index, tmp_path: Path) -> None:
    outer, inner = Repository(tmp_path / "all"), Repository(tmp_path / "all" / "inner")
    inner.commit("2024-01-01T10:00:00Z", "Inner", {"a.md": "a\n"})
    outer.commit("2024-01-01T10:00:00Z", "Outer", {"b.md": "b\n"})
    index.add_collection(str(outer.folder), "notes")
    assert [each.subject for each in index.history("inner/a.md")] == ["Inner"]


def linked(repository: Repository, folder: Path) -> None:
    repository.git("worktree", "add", "-q", "-b", "other", str(folder))


def moved(repository: Repository, folder: Path) -> None:
    linked(repository, folder.parent / "before")
    repository.git("worktree", "move", str(folder.parent / "before"), str(folder))


def submodule(repository: Repository, folder: Path) -> None:
    outer = Repository(folder.parent)
    outer.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository.folder), folder.name
    )


def submodule_with_settings_of_its_own(repository: Repository, folder: Path) -> None:
    submodule(repository, folder)
    repository.git("-C", str(folder), "sparse-checkout", "set", "notes")


def worktree_of_a_submodule(repository: Repository, folder: Path) -> None:
    submodule(repository, folder.parent / "module")
    repository.git("-C", str(folder.parent / "module"), "worktree", "add", "-q", "-b", "other", str(folder))


def files_of_git_apart(repository: Repository, folder: Path) -> None:
    apart = folder.parent / "apart"
    repository.git("clone", "-q", f"--separate-git-dir={apart}", str(repository.folder), str(folder))
    repository.git("-C", str(folder), "config", "core.worktree", str(folder))


def packed(repository: Repository, folder: Path) -> None:
    repository.git("gc", "-q")
    os.rename(repository.folder, folder)


def link_inside(repository: Repository, folder: Path) -> None:
    os.rename(repository.folder, folder)
    (folder / ".git" / "HEAD").unlink()
    (folder / ".git" / "HEAD").symlink_to("refs/heads/main")


@pytest.mark.parametrize(
    "make",
    [
        linked,
        moved,
        submodule,
        submodule_with_settings_of_its_own,
        worktree_of_a_submodule,
        files_of_git_apart,
        packed,
        link_inside,
    ],
)
def test_clones_whose_files_of_git_belong_to_them_have_a_history(
    index: qmd.Index,
    repository: Repository,
    tmp_path: Path,
    make: Callable[[Repository, Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "outer").mkdir()
    make(repository, tmp_path / "outer" / "folder")
    index.add_collection(str(tmp_path / "outer" / "folder" / "notes"), "notes")
    other = Repository(tmp_path / "other")
    other.commit("2024-06-11T10:00:00Z", "Other", {"notes/plan.md": "other\n"})
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_COMMON_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.folder / ".git" / "objects"))
    assert [each.subject for each in index.history("plan.md")][::2] == ["Third", "Begin"]
    assert index.get("plan.md", as_of="2024-05-02").text == SECOND


def test_clone_that_borrows_objects_is_refused_with_a_remedy(
    index: qmd.Index, repository: Repository, tmp_path: Path
) -> None:
    folder = tmp_path / "shared"
    repository.git("clone", "-q", "--shared", str(repository.folder), str(folder))
    index.add_collection(str(folder), "notes")
    with pytest.raises(qmd.SourceError, match="borrows objects of another repository") as raised:
        index.history("plan.md")
    assert "'git repack -a -d'" in (raised.value.hint or "")
    repository.git("-C", str(folder), "repack", "-q", "-a", "-d")
    (folder / ".git" / "objects" / "info" / "alternates").unlink()
    assert index.history("plan.md")


def test_names_are_no_patterns(index: qmd.Index, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "clone")
    repository.commit("2024-01-01T10:00:00Z", "All", {"*.md": "star\n", "a.md": "a\n", "-n.md": "dash\n"})
    repository.commit("2024-01-02T10:00:00Z", "Other", {"a.md": "b\n", ":(glob)x.md": "x\n"})
    index.add_collection(str(repository.folder), "notes")
    for name, text in (("*.md", "star\n"), ("-n.md", "dash\n"), (":(glob)x.md", "x\n")):
        (only,) = index.history(f"notes/{name}")
        assert index.get(f"notes/{name}", as_of="today").text == text
        assert only.path == name


def test_errors_say_what_to_do(library: qmd.Index, tmp_path: Path, repository: Repository) -> None:
    with pytest.raises(qmd.NotFoundError, match="of 2024-04-30, which ends at 2024-04-30 23:59") as raised:
        library.get("plan.md", as_of="2024-04-30")
    assert raised.value.hint == "its first commit is of 2024-05-01: as of 2024-05-01"
    with pytest.raises(qmd.UsageError, match="as_of must be a date"):
        library.get("plan.md", as_of="soon")
    (repository.folder / "notes" / "new.md").write_text("new\n", encoding="utf-8")
    library.update()
    for read in (library.history, lambda name: library.get(name, as_of="today")):
        with pytest.raises(qmd.NotFoundError, match=r"git has no commit of notes/new\.md"):
            read("new.md")
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "c.md").write_text("c\n", encoding="utf-8")
    library.add_collection(str(plain), "plain")
    with pytest.raises(qmd.NotFoundError, match="in no clone of git"):
        library.history("c.md")
    with pytest.raises(qmd.DocumentNotFoundError):
        library.history("nowhere.md")


def test_missing_git_is_an_error(library: qmd.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(qmd.SourceError, match="git cannot be run") as raised:
        library.history("plan.md")
    assert "install git" in (raised.value.hint or "")


def test_nothing_that_a_clone_names_is_run(
    library: qmd.Index, repository: Repository, tmp_path: Path
) -> None:
    marker, program = tmp_path / "ran", tmp_path / "evil"
    program.write_text(f"#!/bin/sh\necho $0 $* >> {marker}\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    hooks = repository.folder / "hooks"
    hooks.mkdir()
    for hook in ("reference-transaction", "post-checkout", "post-index-change"):
        os.symlink(program, hooks / hook)
    attributes = {"notes/.gitattributes": "*.md diff=evil filter=evil merge=evil\n"}
    repository.commit("2024-07-01T10:00:00Z", "Attributes", attributes)
    repository.sign("notes/plan.md", THIRD + "Signed.\n")
    settings = {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(hooks),
        "core.pager": str(program),
        "pager.log": "true",
        "core.sshCommand": str(program),
        "core.editor": str(program),
        "diff.external": str(program),
        "diff.evil.textconv": str(program),
        "diff.evil.command": str(program),
        "filter.evil.smudge": str(program),
        "filter.evil.clean": str(program),
        "filter.evil.process": str(program),
        "gpg.program": str(program),
        "log.showSignature": "true",
        "alias.log": f"!{program}",
        "alias.cat-file": f"!{program}",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://example.org/clone",
        "remote.origin.uploadpack": str(program),
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "credential.helper": str(program),
    }
    config = repository.folder / ".git" / "config"
    for name, value in settings.items():
        repository.git("config", "--file", str(config), name, value)
    assert library.get("plan.md", as_of="2024-05-02").text == SECOND
    assert len(library.history("plan.md")) == 4
    # An object that is missing is not fetched.
    blob = repository.git("rev-parse", "HEAD:notes/plan.md").strip()
    (repository.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(qmd.SourceError, match="git failed"):
        library.get("plan.md", as_of="today")
    assert not marker.exists()
    # Git alone would run them.
    for words in (("log", "-1"), ("cat-file", "blob", blob), ("status",)):
        subprocess.run(["git", *words], cwd=repository.folder, capture_output=True, check=False)
        assert marker.exists(), words
        marker.unlink()


@pytest.mark.parametrize("name", ["draft.md", "notes/draft.md", "qmd://notes/draft.md", "draft.md:1"])
def test_get_as_of_takes_a_former_name(library: qmd.Index, name: str) -> None:
    page = library.get(name, as_of="2024-06-01")
    assert (page.document.path, page.text) == ("plan.md", SECOND)
    with pytest.raises(qmd.DocumentNotFoundError):
        library.get(name)


def test_get_as_of_refuses_a_name_that_no_file_had(library: qmd.Index) -> None:
    with pytest.raises(qmd.DocumentNotFoundError):
        library.get("never.md", as_of="2024-06-01")


def test_former_name_of_a_hidden_document_is_unknown(library: qmd.Index, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    library.add_collection(str(tmp_path / "other"), "other")
    with pytest.raises(qmd.DocumentNotFoundError):
        library.limited(["other"]).get("notes/draft.md", as_of="2024-06-01")


def test_history_begins_with_changes_that_are_not_committed(
    library: qmd.Index, repository: Repository
) -> None:
    committed = library.history("plan.md")
    assert all(each.commit for each in committed)
    (repository.folder / "notes" / "plan.md").write_text(f"{THIRD}More.\n", encoding="utf-8")
    changed, *others = library.history("plan.md")
    assert (changed.commit, changed.short, changed.subject, changed.path) == (
        "",
        "",
        "(not committed)",
        "plan.md",
    )
    assert others == committed
    (repository.folder / "notes" / "plan.md").write_bytes(THIRD.replace("\n", "\r\n").encode())
    assert library.history("plan.md") == committed

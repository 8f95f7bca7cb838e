"""`index`, `update`, `embed` without models, and `status`."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from qmd.engine.embedding.batches import embedding_lock
from tests.users import FILES, User


@pytest.fixture
def owner(user: User) -> User:
    user.ok("collection", "add", str(user.notes))
    return user


@pytest.mark.parametrize("command", [("index",), ("update", "--no-embed")])
def test_update_prints_changes_in_one_line_for_each_collection(owner: User, command: tuple[str, ...]) -> None:
    (owner.notes / "new.md").write_text("# New\n\nfresh herring\n", encoding="utf-8")
    (owner.notes / "deploy.md").write_text("# Deploy\n\nin another way\n", encoding="utf-8")
    (owner.notes / "it's.md").unlink()
    result = owner.invoke(*command)
    assert result.exit_code == 0
    assert result.stdout == f"notes: 1 new, 1 updated, {len(FILES) - 2} unchanged, 1 removed\n"
    assert result.stderr == ""
    assert owner.ok(*command) == f"notes: {len(FILES)} unchanged\n"
    assert "notes/new.md" in owner.ok("search", "herring")


def test_update_reports_a_missing_folder_and_scans_the_others(owner: User) -> None:
    other = owner.home / "other"
    other.mkdir()
    (other / "a.md").write_text("text\n", encoding="utf-8")
    owner.ok("collection", "add", str(other))
    (other / "b.md").write_text("text b\n", encoding="utf-8")
    owner.notes.rename(owner.home / "away")
    found = owner.call("update", "--no-embed")
    assert found.returncode == 1
    assert found.stdout == "other: 1 new, 1 unchanged\n"
    assert found.stderr.startswith(f"Error: collection 'notes': {owner.notes} does not exist\nHint: ")
    assert "notes/deploy.md" in owner.ok("search", "rollback")
    assert owner.call("update", "--no-embed", "-c", "other").returncode == 0


def test_update_scans_only_the_named_collection(owner: User) -> None:
    other = owner.home / "other"
    other.mkdir()
    owner.ok("collection", "add", str(other), "-q")
    assert owner.ok("update", "-c", "other") == "other: no files\n"


def test_update_without_collections_says_how_to_begin(user: User) -> None:
    assert user.ok("update").startswith("No collections yet.")


def test_update_runs_the_update_command_first_and_reports_its_failure(owner: User) -> None:
    path = owner.home / "config" / "qmd" / "index.yml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "    update: echo '# Made' > made.md && echo made one\n", encoding="utf-8")
    assert owner.ok("index") == f"notes: {len(FILES)} unchanged\n"
    assert owner.ok("update", "--no-embed") == f"notes: made one\nnotes: 1 new, {len(FILES)} unchanged\n"
    path.write_text(text + "    update: echo broken >&2; exit 3\n", encoding="utf-8")
    result = owner.invoke("update", "--no-embed")
    assert result.exit_code == 1
    assert "failed with code 3: broken" in result.stderr
    assert result.stdout == f"notes: {len(FILES) + 1} unchanged\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_update_pull_runs_git_pull(user: User) -> None:
    origin, clone = user.home / "origin", user.home / "clone"
    origin.mkdir()

    def git(*args: str, at: Path = origin) -> None:
        names = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *names, *args], cwd=at, env=user.environ, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    (origin / "one.md").write_text("# One\n", encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "one")
    git("clone", "-q", str(origin), str(clone), at=user.home)
    user.ok("collection", "add", str(clone))
    (origin / "two.md").write_text("# Two\n", encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "two")
    assert user.ok("update", "--no-embed") == "clone: 1 unchanged\n"
    assert user.ok("update", "--no-embed", "--pull").endswith("clone: 1 new, 1 unchanged\n")
    git("reset", "-q", "--hard", "HEAD~1")
    (origin / "two.md").write_text("# Two, otherwise\n", encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "otherwise")
    failed = user.invoke("update", "--no-embed", "--pull")
    assert failed.exit_code == 1
    assert "git pull failed" in failed.stderr
    assert failed.stdout == "clone: 2 unchanged\n"
    without_git = user.call("update", "--no-embed", "--pull", PATH=str(user.home))
    assert without_git.returncode == 1
    assert "git pull failed: git cannot be run" in without_git.stderr


def needs_embedding(user: User) -> int:
    return int(json.loads(user.ok("status", "--json"))["needs_embedding"])


def test_update_makes_the_vectors_that_are_missing(owner: User) -> None:
    assert f"\nEmbedded {len(FILES)} texts (" in owner.ok("update")
    assert needs_embedding(owner) == 0
    (owner.notes / "new.md").write_text("fresh herring\n", encoding="utf-8")
    assert "Embedded" not in owner.ok("update", "--no-embed")
    assert needs_embedding(owner) == 1
    # The next one makes them, although no file has changed since.
    assert f"notes: {len(FILES) + 1} unchanged\nEmbedded 1 text (1 chunk) in " in owner.ok("update")
    assert owner.ok("update") == f"notes: {len(FILES) + 1} unchanged\n"
    assert "notes/new.md" in owner.ok("vsearch", "fresh herring")


def test_update_leaves_vectors_out_that_are_made_on_request_only(owner: User) -> None:
    other = owner.home / "other"
    other.mkdir()
    (other / "a.md").write_text("text\n", encoding="utf-8")
    owner.ok("collection", "add", str(other))
    path = owner.home / "config" / "qmd" / "index.yml"
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace("  notes:\n", "  notes:\n    embed: manual\n"), encoding="utf-8")
    assert "Embedded 1 text (" in owner.ok("update")
    assert "Embedded" not in owner.ok("update")
    assert needs_embedding(owner) == len(FILES)


def test_update_sends_no_text_to_a_server_unasked(owner: User) -> None:
    result = owner.invoke("update", QMD_EMBED_MODEL="openai:m@http://embeddings.invalid/v1")
    assert (result.exit_code, result.stdout) == (0, f"notes: {len(FILES)} unchanged\n")
    assert result.stderr == ""


def test_update_succeeds_without_a_model_and_says_how_to_go_on(owner: User) -> None:
    (owner.notes / "new.md").write_text("fresh herring\n", encoding="utf-8")
    result = owner.invoke("update", "--json", QMD_EMBED_MODEL="some-model")
    assert result.exit_code == 0
    assert [(each["added"], each["error"]) for each in json.loads(result.stdout)] == [(1, None)]
    assert result.stderr.startswith("note: no vectors were made: Unknown model 'some-model'")
    assert result.stderr.endswith("'qmd update --no-embed' does not try\n")
    assert "notes/new.md" in owner.ok("search", "herring")


def test_update_asks_another_process_that_makes_vectors(owner: User) -> None:
    with embedding_lock(str(owner.home / "cache" / "qmd" / "index.sqlite")):
        found = owner.call("update")
    assert (found.returncode, found.stdout) == (0, f"notes: {len(FILES)} unchanged\n")
    assert "was asked to make these vectors too" in found.stderr


def test_embed_asks_another_one_that_is_running(owner: User) -> None:
    location = str(owner.home / "cache" / "qmd" / "index.sqlite")
    with embedding_lock(location):
        found = owner.call("embed")
        quiet = owner.call("embed", "-q")
        forced = owner.call("embed", "--force")
        status = owner.ok("status")
        searched = owner.call("query", "performance")
    assert (found.returncode, found.stdout) == (0, "")
    assert found.stderr == (
        "note: another process is making vectors for this index, and was asked to make these vectors too "
        "('qmd status' says how many are missing)\n"
    )
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    assert "need embedding: they are being made" in status
    assert "texts without vectors: they are being made" in searched.stderr
    assert "need embedding: run 'qmd embed'" in owner.ok("status")
    assert forced.returncode == 1
    assert forced.stderr.startswith("Error: another process is making vectors for this index\n")


def test_notes_and_hints_name_commands_with_their_index(user: User) -> None:
    work = "qmd --index work"
    assert user.ok("ls", "--index", "work") == f"No collections yet. Add one with: {work} add PATH\n"
    assert f"add one with '{work} add PATH'" in user.invoke("--index", "work", "search", "x").stderr
    added = user.ok("collection", "add", str(user.notes), "--index", "work")
    assert f"  {work} embed " in added
    assert f'  {work} search "..." -c notes ' in added
    assert f"run '{work} embed'" in user.ok("status", "--index", "work")
    assert f"Run '{work} embed' first" in user.invoke("vsearch", "rollback", "--index", "work").stderr
    assert f"see '{work} ls'" in user.invoke("get", "qqqqqqqq", "--index", "work").stderr
    # Names of other programs and of documents are not changed.
    assert "--index" not in user.invoke("get", "qmd embedded", "--index", "work").stderr.splitlines()[0]


def test_status_prints_the_index_as_text(owner: User) -> None:
    owner.ok("context", "add", "qmd://notes/2026", "dated")
    text = owner.ok("status")
    assert f"Index:   {owner.home}/cache/qmd/index.sqlite\nSize:    " in text
    assert f"Config:  {owner.home}/config/qmd/index.yml\n" in text
    assert f"  Total:      {len(FILES)} files indexed\n" in text
    assert "  Vectors:    none\n" in text
    assert f"  Pending:    {len(FILES)} need embedding: run 'qmd embed'\n" in text
    assert "  Embedding:  multilingual-e5-small\n" in text
    assert "\n  notes (qmd://notes/)\n" in text
    assert f"    Path:      {owner.notes}\n" in text
    assert "    Contexts:  1\n" in text


def test_status_prints_the_index_as_json(owner: User) -> None:
    state = json.loads(owner.ok("status", "--json"))
    assert state["total_documents"] == state["needs_embedding"] == len(FILES)
    assert state["has_vector_index"] is False
    assert set(state["models"]) == {"embed", "rerank", "expand"}
    (notes,) = state["collections"]
    assert (notes["name"], notes["path"]) == ("notes", str(owner.notes))
    assert notes["last_updated"].endswith("Z")


def test_status_of_an_empty_index_says_how_to_begin(user: User) -> None:
    assert "qmd add" in user.ok("status")
    assert json.loads(user.ok("status", "--json"))["collections"] == []

"""Titles of notes: their sources, and file names that are found like titles."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import qmd
from qmd.store.sqlite.schema import FIRST_VERSION, VERSION
from qmd.text.tokens import index_form
from tests.conftest import Notes

VAULT = {
    "Manage notes.md": "Some words about files.\n\n## Settings\n\nMore words.\n",
    "Appearance.md": "Some words.\n\n# Settings\n\n# More\n\nHow to manage notes, and manage notes again.\n",
    "Sync.md": "---\ntitle: Sync your notes\naliases: [Mirror, mirror]\n---\n\n# Settings\n",
    "hotkeys.md": "# Keyboard\n\nPress a key.\n",
}
TITLES = {
    "Manage notes.md": "Manage notes",
    "Appearance.md": "Appearance",
    "Sync.md": "Sync your notes",
    "hotkeys.md": "Keyboard",
}


def titles(index: qmd.Index) -> dict[str, str]:
    return {document.path: document.title for document in index.documents()}


@pytest.fixture
def vault(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes(VAULT)), "vault")
    return index


def test_section_headings_do_not_become_titles(vault: qmd.Index) -> None:
    assert titles(vault) == TITLES
    assert {hit.path: hit.title for hit in vault.search("settings OR words OR key").hits} == TITLES


@pytest.mark.parametrize("reference", ["Manage notes", "manage notes", "vault/Manage notes"])
def test_get_finds_a_note_by_its_file_name(vault: qmd.Index, reference: str) -> None:
    assert vault.get(reference).document.path == "Manage notes.md"


def test_get_prefers_a_title_to_a_file_name_without_suffix(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "# b\n", "b.md": "# c\n"})), "vault")
    for reference, path in {"b": "a.md", "c": "b.md", "a": "a.md", "b.md": "b.md"}.items():
        assert index.get(reference).document.path == path


def test_search_matches_file_names_like_titles(vault: qmd.Index) -> None:
    assert vault.search("manage notes").hits[0].path == "Manage notes.md"
    first, *_ = vault.search("hotkeys", scores="raw").hits
    other, *_ = vault.search("keyboard", scores="raw").hits
    assert first.path == other.path == "hotkeys.md"
    assert first.score == pytest.approx(other.score, rel=0.15)


def index_again(db: apsw.Connection, path: str, title: str) -> None:
    """Index a document with other words of its title."""
    query = "SELECT d.id, t.text FROM documents d JOIN contents t ON t.id = d.content_id WHERE d.path = ?"
    identity, text = db.execute(query, (path,)).get
    db.execute("DELETE FROM documents_fts WHERE rowid = ?", (identity,))
    forms = map(index_form, (title, text, path))
    db.execute("INSERT INTO documents_fts (rowid, title, body, path) VALUES (?, ?, ?, ?)", (identity, *forms))


def make_former(path: Path, version: int) -> None:
    """Make an index one of a former version, with other titles and without what later versions added."""
    db = apsw.Connection(str(path))
    if version == 12:  # it indexed each of the aliases that differ in case alone
        index_again(db, "Sync.md", "Sync your notes\nMirror\nmirror\nSync")
        db.execute(f"PRAGMA user_version={version}")
        db.close()
        return
    for (name,) in db.execute("SELECT path FROM documents").fetchall():
        db.execute("UPDATE documents SET title = 'Settings' WHERE path = ?", (name,))
        index_again(db, name, "Settings")
    if version < 10:
        db.execute("DROP TABLE field_counts; DROP TRIGGER document_fields_removed")
    if version < 11:
        db.execute("DROP INDEX links_name; CREATE INDEX links_name ON links(name, document_id)")
    db.execute(f"PRAGMA user_version={version}")
    db.close()


@pytest.mark.slow
@pytest.mark.parametrize("version", range(FIRST_VERSION, VERSION))
def test_older_index_gets_titles_and_counts_without_its_files(
    index: qmd.Index, notes: Notes, tmp_path: Path, environ: dict[str, str], version: int
) -> None:
    folder = notes(VAULT)
    index.add_collection(str(folder), "vault")
    index.embed()
    expected = [(hit.path, hit.score) for hit in index.search("manage notes", scores="raw").hits]
    path = tmp_path / "index.sqlite"
    index.close()
    shutil.rmtree(folder)
    make_former(path, version)
    db = apsw.Connection(str(path))
    vectors = db.execute("SELECT * FROM content_vectors").fetchall()
    db.close()
    with qmd.open_index(path, environ=environ) as migrated:
        assert titles(migrated) == TITLES
        assert [
            (hit.path, hit.score) for hit in migrated.search("manage notes", scores="raw").hits
        ] == expected
        assert migrated.status().needs_embedding == 0
        assert {each.level for each in migrated.doctor() if each.check == "index"} == {"ok"}
    db = apsw.Connection(str(path))
    assert db.execute("SELECT * FROM content_vectors").fetchall() == vectors


def test_older_index_is_brought_up_to_date_without_a_home_folder(
    index: qmd.Index,
    notes: Notes,
    tmp_path: Path,
    environ: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index.add_collection(str(notes(VAULT)), "vault")
    index.close()
    make_former(tmp_path / "index.sqlite", VERSION - 1)
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as migrated:
        assert titles(migrated) == TITLES


_KILLED = """
import os, signal, sys
import qmd
from qmd.store.sqlite import titles
extract, left = titles.extract, [int(sys.argv[2])]
def dying(*values):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return extract(*values)
titles.extract = dying
qmd.open_index(sys.argv[1]).search("x")
"""


@pytest.mark.parametrize("documents", [1, 3, 4])
def test_killed_migration_is_finished_by_the_next_process(
    vault: qmd.Index, tmp_path: Path, environ: dict[str, str], documents: int
) -> None:
    vault.close()
    path = tmp_path / "index.sqlite"
    make_former(path, FIRST_VERSION)
    command = [sys.executable, "-c", _KILLED, str(path), str(documents)]
    assert subprocess.run(command, env=environ, check=False).returncode < 0
    with qmd.open_index(path, environ=environ) as index:
        assert titles(index) == TITLES


def test_document_that_is_a_title_is_shown_with_it(index: qmd.Index, notes: Notes) -> None:
    files = {
        "a.org": ":PROPERTIES:\n:ID: x\n:END:\n#+title: The heron\n\n",
        "b.md": "---\ntitle: A heron\n---\n\n<!-- later -->\n",
    }
    index.add_collection(str(notes(files)), "notes", formats=["markdown", "org"])
    shown = {hit.path: (hit.snippet.line, hit.snippet.text) for hit in index.search("heron").hits}
    assert shown == {path: (1, text.strip()) for path, text in files.items()}

"""Scans: which files enter and leave the index, and no document is lost by mistake."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from pathlib import Path

import apsw
import pytest

import qmd
from qmd.store.sqlite.schema import FIRST_VERSION, VERSION
from tests.conftest import Notes


def files(index: qmd.Index) -> list[str]:
    return [document.file for document in index.documents()]


def test_add_collection_makes_documents_searchable(index: qmd.Index, notes: Notes) -> None:
    report = index.add_collection(str(notes({"a.md": "# A\n\nalpha", "sub/b.md": "# B\n\nbeta"})))
    assert (report.added, report.problems) == (2, [])
    assert files(index) == ["notes/a.md", "notes/sub/b.md"]
    assert index.search("beta").hits[0].title == "B"


def test_update_does_not_read_unchanged_files(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha", "b.md": "beta"})
    index.add_collection(str(folder))
    (folder / "a.md").chmod(0o000)  # an unchanged file is not opened
    (report,) = index.update()
    assert (report.unchanged, report.added, report.updated, report.removed) == (2, 0, 0, 0)
    assert report.problems == []


def test_update_follows_edits_renames_and_deletions(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha", "b.md": "beta", "c.md": "gamma"})
    index.add_collection(str(folder))
    (folder / "a.md").write_text("delta and more", encoding="utf-8")
    (folder / "b.md").rename(folder / "moved.md")
    (folder / "c.md").unlink()
    (report,) = index.update()
    assert (report.added, report.updated, report.removed) == (1, 1, 2)
    assert files(index) == ["notes/a.md", "notes/moved.md"]
    assert index.search("gamma").hits == ()
    assert index.search("alpha").hits == ()
    assert index.search("delta").hits[0].path == "a.md"


def test_update_removes_the_only_note_if_it_became_empty(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "# Kestrel\n"})
    index.add_collection(str(folder))
    (folder / "a.md").write_text("")
    (report,) = index.update()
    assert (report.removed, report.error) == (1, None)
    assert not index.documents()


def test_get_by_a_former_name_reads_the_renamed_document(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"old.md": "# Kestrel\n", "b/other.md": "# B\n"})
    index.add_collection(str(folder))
    for former, now in (("old.md", "b/new.md"), ("b/new.md", "newest.md"), ("b/other.md", "c.md")):
        (folder / former).rename(folder / now)
        index.update()
    for name in ("old.md", "notes/old.md", "b/new.md", "qmd://notes/old.md"):
        assert index.get(name).text == "# Kestrel\n"
    assert index.get("other.md").text == "# B\n"
    (folder / "old.md").write_text("# Another\n")
    index.update()
    assert index.get("old.md").text == "# Another\n"


def test_update_removes_a_file_that_became_empty(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha", "b.md": "beta"})
    index.add_collection(str(folder))
    (folder / "a.md").write_text("  \n", encoding="utf-8")
    index.update()
    assert files(index) == ["notes/b.md"]


def test_update_of_a_missing_folder_is_an_error_and_removes_nothing(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha"})
    index.add_collection(str(folder))
    folder.rename(folder.with_name("elsewhere"))
    (report,) = index.update()
    assert report.error is not None
    assert index.search("alpha").hits


def test_add_collection_refuses_a_missing_folder(index: qmd.Index, tmp_path: Path) -> None:
    with pytest.raises(qmd.SourceError):
        index.add_collection(str(tmp_path / "nope"), "notes")
    assert not index.config.collections


def test_add_collection_reports_binary_files_and_indexes_the_others(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha"})
    (folder / "picture.md").write_bytes(b"\x89PNG\x00\x00\x01\x02" * 100)
    report = index.add_collection(str(folder))
    assert report.added == 1
    assert [path for path, _ in report.problems] == ["picture.md"]


NAMES = [
    "with space.md",
    "hash#tag.md",
    "100%20.md",
    "🙂.md",
    "日記.md",
    'it\'s "q".md',
    "[x](y).md",
    "a:12.md",
    "a,b.md",
]


def test_files_with_unusual_names_are_found_and_read(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({name: f"# T{at}\n\nword{at}here" for at, name in enumerate(NAMES)})))
    for at, name in enumerate(NAMES):
        hit = index.search(f"word{at}here").hits[0]
        assert hit.path == name
        assert index.get(hit.file).document.path == name
        assert index.get(f"{hit.file}:3").text == f"word{at}here"


def test_equal_texts_are_stored_once(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "same text", "b.md": "same text"})))
    assert len({hit.docid for hit in index.search("same text").hits}) == 1
    assert len(index.search("same text").hits) == 2
    assert index.status().needs_embedding == 1


def test_remove_collection_removes_only_its_documents(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "alpha"}, "one")), "one")
    index.add_collection(str(notes({"b.md": "alpha beta"}, "two")), "two")
    assert index.remove_collection("one") == 1
    assert files(index) == ["two/b.md"]
    assert [hit.file for hit in index.search("alpha").hits] == ["two/b.md"]


def test_rename_collection_renames_its_documents(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "# 数据库\n\n数据库备份"})), "old")
    index.rename_collection("old", "new")
    assert [hit.file for hit in index.search("数据库").hits] == ["new/a.md"]
    index.update()
    assert files(index) == ["new/a.md"]


def test_update_removes_nothing_if_a_folder_came_back_empty(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha", "b.md": "beta"})
    index.add_collection(str(folder))
    (folder / "a.md").unlink()
    (folder / "b.md").write_text("", encoding="utf-8")
    (report,) = index.update()
    assert report.error is not None
    assert "contains no documents any more; nothing was removed" in report.error.message
    assert "qmd update --allow-empty" in (report.error.hint or "")
    assert files(index) == ["notes/a.md", "notes/b.md"]
    (report,) = index.update(allow_empty=True)
    assert (report.error, report.removed) == (None, 2)
    (report,) = index.update()
    assert report.error is None


def test_update_removes_nothing_if_a_folder_was_replaced(
    index: qmd.Index, notes: Notes, tmp_path: Path
) -> None:
    folder = notes({"a.md": "alpha", "b.md": "beta", "c.md": "gamma"})
    index.add_collection(str(folder))
    other = notes({"a.md": "another alpha", "z.md": "zeta"}, "other")
    folder.rename(tmp_path / "aside")
    folder.symlink_to(other)
    (report,) = index.update()
    assert report.error is not None
    assert "is another folder than before, without 2 of 3 documents" in report.error.message
    assert files(index) == ["notes/a.md", "notes/b.md", "notes/c.md"]
    assert index.search("zeta").hits == ()
    # If the folder has most of the documents, it is the same collection in another place.
    (other / "b.md").write_text("beta", encoding="utf-8")
    (report,) = index.update()
    assert (report.error, report.removed) == (None, 1)
    folder.unlink()
    (tmp_path / "aside").rename(folder)
    for name in ("a.md", "b.md"):
        (folder / name).unlink()
    assert index.update()[0].error is not None
    (report,) = index.update(allow_empty=True)
    assert (report.error, files(index)) == (None, ["notes/c.md"])


@pytest.mark.parametrize("parts", [0, 4, 5, 6, 8, "a list", "packed"])
def test_update_reads_the_records_of_earlier_versions(
    index: qmd.Index, notes: Notes, parts: int | str
) -> None:
    folder = notes({"a.md": "one", "b.md": "two", "c.md": "three"})
    index.add_collection(str(folder), name="n")
    with contextlib.closing(apsw.Connection(index.locations.index)) as db:
        ((stored,),) = db.execute("SELECT root FROM collections")
        record = json.loads(stored)
        assert [type(part) for part in record] == [
            *(
                str,
                str,
                int,
                str,
                dict,
                dict,
                dict,
                int,
                dict,
                int,
                dict,
                dict,
                list,
                int,
                dict,
                int,
                dict,
                list,
            )
        ]
        former = {"a list": [[]], "packed": [{"files": {"damaged": "abcdefgh"}, "cut": 2}, {}, 1]}
        record = [*record[:5], *former[parts]] if isinstance(parts, str) else record[:parts]
        db.execute("UPDATE collections SET root = ?", (json.dumps(record),))
    assert not index.status().notes
    assert [(report.unchanged, report.error) for report in index.update()] == [(3, None)]
    with contextlib.closing(apsw.Connection(index.locations.index)) as db:
        ((now,),) = db.execute("SELECT root FROM collections")
        began = 13  # the place of when the scan began
        assert [*json.loads(now)[:began], json.loads(now)[began + 1]] == [
            *json.loads(stored)[:began],
            json.loads(stored)[began + 1],
        ]


def test_update_follows_renames_and_a_folder_that_the_user_names(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha"})
    index.add_collection(str(folder))
    (folder / "a.md").rename(folder / "b.md")
    (report,) = index.update()
    assert (report.error, report.added, report.removed) == (None, 1, 1)
    other = notes({"z.md": "zeta"}, "other")
    config = Path(index.locations.config)
    config.write_text(config.read_text(encoding="utf-8").replace(str(folder), str(other)), encoding="utf-8")
    (report,) = index.update()
    assert (report.error, files(index)) == (None, ["notes/z.md"])


def test_index_of_another_configuration_keeps_its_collections(
    index: qmd.Index, notes: Notes, tmp_path: Path, environ: dict[str, str]
) -> None:
    index.add_collection(str(notes({"a.md": "alpha"})))
    other = notes({"z.md": "zeta"}, "other")
    config = notes({"foreign.yml": f"collections: {{other: {{path: {other}}}}}"}, "files") / "foreign.yml"
    with qmd.open_index(tmp_path / "index.sqlite", config=config, environ=environ) as foreign:
        with pytest.raises(
            qmd.ConfigError, match=r"belongs to .*index\.yml: .*foreign\.yml would remove .* notes"
        ):
            foreign.update()
        # The name is the same but the folder is not.
        config.write_text(f"collections: {{notes: {{path: {other}}}}}", encoding="utf-8")
        (report,) = foreign.update()
        assert report.error is not None
        assert files(index) == ["notes/a.md"]
        config.write_text("{}", encoding="utf-8")
        with pytest.raises(qmd.ConfigError, match="names no collections"):
            foreign.update()
        assert files(index) == ["notes/a.md"]
        foreign.update(allow_empty=True)
    assert files(index) == []


def test_collection_deleted_from_index_yml_is_removed(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "alpha"}, "one")), "one")
    index.add_collection(str(notes({"b.md": "alpha"}, "two")), "two")
    path = Path(index.locations.config)
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("  two:")], encoding="utf-8")
    assert [hit.file for hit in index.search("alpha").hits] == ["one/a.md"]
    index.update()
    assert files(index) == ["one/a.md"]


def test_broken_configuration_is_an_error_with_its_line(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "alpha"})))
    Path(index.locations.config).write_text("collections:\n  a: [unclosed\n", encoding="utf-8")
    with pytest.raises(qmd.ConfigError, match=r":\d+"):
        index.search("alpha")


def test_open_index_refuses_an_index_of_another_program(tmp_path: Path, environ: dict[str, str]) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(qmd.ForeignIndexError):
        qmd.open_index(path, environ=environ)
    assert path.read_bytes() == before


def test_open_index_refuses_a_file_that_is_no_database(tmp_path: Path, environ: dict[str, str]) -> None:
    path = tmp_path / "notes.sqlite"
    path.write_text("just text", encoding="utf-8")
    with pytest.raises(qmd.ForeignIndexError):
        qmd.open_index(path, environ=environ)
    assert path.read_text(encoding="utf-8") == "just text"


def test_default_index_is_created_beside_that_of_another_program(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    environ |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    folder = tmp_path / "cache" / "qmd"
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "index.sqlite") as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    with qmd.open_index(environ=environ) as index:
        assert index.locations.index == str(folder / "index-python.sqlite")
        assert index.notes
        index.update()
    with qmd.open_index(environ=environ) as index:
        assert index.notes == []
        assert any("another program" in note for note in index.status().notes)


@pytest.mark.parametrize(
    ("version", "message"),
    [(VERSION + 1, "newer"), (FIRST_VERSION - 1, "before 1.0.0"), (-1, "before 1.0.0")],
)
def test_index_of_another_version_is_refused(
    index: qmd.Index, environ: dict[str, str], version: int, message: str
) -> None:
    path = index.locations.index
    index.update()
    index.close()
    connection = apsw.Connection(path)
    connection.execute(f"PRAGMA user_version={version}")
    connection.close()
    with pytest.raises(qmd.StoreError, match=message):
        qmd.open_index(path, environ=environ)


def test_sqlite_tables_have_their_documented_names(index: qmd.Index) -> None:
    index.update()
    connection = apsw.Connection(index.locations.index)
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert {
        "collections",
        "path_contexts",
        "documents",
        "documents_fts",
        "content_vectors",
        "vectors_vec",
        "llm_cache",
    } <= names


def test_context_applies_to_its_folder_and_subfolders(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"talk/a.md": "alpha", "talks/b.md": "alpha"})
    index.add_collection(str(folder), "notes")
    index.add_context("/", "Everything")
    index.add_context("qmd://notes", "Notes")
    assert index.add_context(str(folder / "talk"), "Talks") == "qmd://notes/talk"
    by_path = {hit.path: hit.context for hit in index.search("alpha").hits}
    assert by_path == {"talk/a.md": "Everything\n\nNotes\n\nTalks", "talks/b.md": "Everything\n\nNotes"}
    index.remove_context("qmd://notes/talk")
    with pytest.raises(qmd.NotFoundError):
        index.remove_context("qmd://notes/talk")


def test_update_into_a_read_only_folder_is_an_error(tmp_path: Path, environ: dict[str, str]) -> None:
    if os.geteuid() == 0:
        blocker = tmp_path / "file"
        blocker.write_text("", encoding="utf-8")
        target = blocker / "index.sqlite"
    else:
        folder = tmp_path / "locked"
        folder.mkdir(mode=0o500)
        target = folder / "index.sqlite"
    with pytest.raises((qmd.StoreError, qmd.ConfigError)):
        qmd.open_index(target, environ=environ).update()


@pytest.mark.parametrize("work", ["update", "add"])
def test_missing_configuration_does_not_empty_the_index(index: qmd.Index, notes: Notes, work: str) -> None:
    folder = notes({"a.md": "alpha"})
    index.add_collection(str(folder))
    os.unlink(index.locations.config)
    with pytest.raises(qmd.ConfigError, match="is missing, and the index holds documents of: notes"):
        index.update() if work == "update" else index.add_collection(str(folder), "other")
    Path(index.locations.config).write_text(f"collections: {{notes: {{path: {folder}}}}}")
    assert files(index) == ["notes/a.md"]


def test_deletion_of_a_file_named_like_a_message_keeps_the_note(index: qmd.Index, notes: Notes) -> None:
    root = notes({"a.md": "alpha", "a.md#old.md": "bravo"})
    index.add_collection(str(root))
    (root / "a.md#old.md").unlink()
    (report,) = index.update()
    assert (report.removed, report.unchanged + report.updated) == (1, 1)
    assert [hit.path for hit in index.search("alpha").hits] == ["a.md"]
    assert index.search("bravo").hits == ()

"""Portable index files that are forged, damaged, replaced or of another kind."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import qmd
from tests.edge.cli.portable.library import hits, refusal
from tests.users import User

pytestmark = pytest.mark.slow


@contextmanager
def forged(guest: User, source: str) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Copy a file, and open the copy to change it."""
    path = guest.home / "forged.qmd"
    shutil.copy(source, path)
    path.chmod(0o600)
    connection = sqlite3.connect(path)
    try:
        yield connection, str(path)
        connection.commit()
    finally:
        connection.close()


def test_index_file_of_another_kind_is_refused_in_one_line(guest: User, owner: User, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE t (a)").connection.close()
    owner.ok("backup", str(tmp_path / "backup"))
    (tmp_path / "age").write_bytes(b"age-encryption.org/v1\n-> scrypt " + b"x" * 100)
    expected = {
        "text": "is not an index file",
        "empty": "is empty",
        "pipe": "is not a file",
        "other": "made by another program",
        "backup": "not a portable one",
        "missing": "cannot be read",
        ".": "is not a file",
        "age": "cannot be decrypted",
    }
    for name, message in expected.items():
        said = refusal(guest, "--index-file", str(tmp_path / name), "search", "x", QMD_PASSPHRASE="p")
        assert message in said, name


#: Statements that change a file, and the error that they cause.
FORGERIES = {
    "PRAGMA user_version = 1000": "newer qmd",
    "PRAGMA user_version = 3": "before 1.0.0",
    "PRAGMA user_version = 0": "cannot be portable",
    "CREATE TRIGGER t AFTER INSERT ON meta BEGIN SELECT 1; END": "other tables than an index",
    "CREATE VIEW v AS SELECT 1": "other tables than an index",
    "CREATE INDEX i ON meta(length(value))": "other tables than an index",
    "DROP TABLE links": "other tables than an index",
    "DELETE FROM meta WHERE key = 'portable'": "not a portable one",
    "UPDATE meta SET value = '[' WHERE key = 'portable'": "its description cannot be read",
    f"UPDATE meta SET value = '{'[' * 100_000}' WHERE key = 'portable'": "its description cannot be read",
    "UPDATE meta SET value = 'collections: [' WHERE key = 'portable config'": "index.yml",
    "UPDATE documents SET path = '../../../../../etc/passwd' WHERE title = 'Talk'": "outside its collection",
    "UPDATE documents SET path = '/etc/passwd' WHERE title = 'Talk'": "outside its collection",
    "UPDATE documents SET path = x'2e2e' WHERE title = 'Talk'": "wrong type",
    "UPDATE documents SET title = zeroblob(10)": "wrong type",
    "UPDATE contents SET text = x'ff'": "wrong type",
    "UPDATE collections SET name = x'00' WHERE name = 'talks'": "wrong type",
    "UPDATE collections SET root = '[[['": "a collection has a folder",
}


@pytest.mark.parametrize("statement", FORGERIES, ids=lambda statement: statement[:60])
def test_forged_portable_file_is_refused_in_one_line(guest: User, portable: Path, statement: str) -> None:
    with forged(guest, str(portable)) as (db, path):
        db.execute(statement)
    assert FORGERIES[statement] in refusal(guest, "--index-file", path, "search", "kestrel")


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE OR IGNORE collections SET id = {1 << 62}",
        "UPDATE common_terms SET documents = -1",
        "UPDATE OR IGNORE field_names SET id = -1",
        "UPDATE OR IGNORE field_counts SET value_id = -1",
        "UPDATE field_values SET value = 'x'",
        f"UPDATE contents SET bytes = {1 << 62}",
    ],
)
def test_forged_number_in_a_portable_file_is_an_error_of_the_file(
    guest: User, tmp_path: Path, statement: str
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in "abcd":
        (notes / f"{name}.md").write_text(f"---\nyear: 2024\nx: {name}\n---\n# {name}\n\nkestrel\n")
    source = str(tmp_path / "source.qmd")
    with qmd.open_index(tmp_path / "i.sqlite", config=tmp_path / "i.yml", environ=guest.environ) as index:
        index.add_collection(str(notes))
        index.update()
        index.export(source)
    with forged(guest, source) as (db, path):
        assert db.execute(statement).rowcount
    with (
        pytest.raises(qmd.StoreError, match="is damaged"),
        qmd.open_index_file(path, environ=guest.environ) as index,
    ):
        index.fields()
        index.search("kestrel")
        index.status()


def test_forged_portable_configuration_has_no_effect(guest: User, portable: Path) -> None:
    text = (
        "collections: {notes: {path: /etc, update: touch pwned, ignore: ['*']}, talks: {path: ../..}}\n"
        "models: {embed: 'openai:spy@http://127.0.0.1:9/v1'}\nstore: milvus://127.0.0.1:9/x\n"
        "editor_uri: 'vscode://file/{path}'\narchive: /etc\n"
    )
    with forged(guest, str(portable)) as (db, path):
        db.execute("UPDATE meta SET value = ? WHERE key = 'portable config'", (text,))
    status = json.loads(guest.ok("--index-file", path, "status", "--json"))
    assert [each["path"] for each in status["collections"]] == [f"{path}/notes", f"{path}/talks"]
    assert status["models"]["embed"] == "multilingual-e5-small"
    assert hits(guest, "--index-file", path, "vsearch", "bird of prey")
    assert "/etc" not in guest.ok("--index-file", path, "search", "kestrel", "--full-path")


def test_portable_file_with_absurd_vector_sizes_is_harmless(guest: User, portable: Path) -> None:
    for statement in (
        "UPDATE embedders SET dimension = 1000000000",
        "UPDATE vectors_vec SET slots = 1000000000",
        "UPDATE vectors_vec SET codes = zeroblob(5)",
        "UPDATE vectors_vec SET ids = 'text', scales = 7",
        "UPDATE content_vectors SET vector = x'00', start = 1000000000",
    ):
        with forged(guest, str(portable)) as (db, path):
            db.execute(statement)
        result = guest.invoke("--index-file", path, "vsearch", "bird of prey")
        assert result.exit_code == 0 or result.stderr.startswith("Error: "), result.output
        assert "internal error" not in result.stderr
        assert "Traceback" not in result.stderr


def test_damaged_portable_files_never_cause_a_traceback(guest: User, portable: Path) -> None:
    data, path = portable.read_bytes(), guest.home / "damaged.qmd"
    generator = random.Random(7)
    damaged: list[bytes] = [data[: len(data) * share // 8] for share in range(1, 8)]
    for _ in range(16):
        copy = bytearray(data)
        for _ in range(generator.choice((1, 30, 300))):
            copy[generator.randrange(100, len(copy))] = generator.randrange(256)
        damaged.append(bytes(copy))
    for copy in damaged:
        path.write_bytes(copy)
        for command in ("search kestrel", "get notes/plan.md"):
            result = guest.invoke("--index-file", str(path), *command.split())
            if result.exit_code:
                assert re.match("Error: (?!internal)", result.stderr), result.output


def test_portable_file_replaced_while_open_is_reported(guest: User, portable: Path) -> None:
    path = guest.home / "replaced.qmd"
    shutil.copy(portable, path)
    with qmd.open_index_file(path, environ=guest.environ) as index:
        assert index.search("kestrel").hits
        shutil.copy(portable, guest.home / "new")
        (guest.home / "new").replace(path)
        with pytest.raises(qmd.StoreError, match="has changed since it was opened"):
            index.search("falcons")


def test_portable_file_of_the_first_version_can_be_read(guest: User, portable: Path) -> None:
    # The file of an earlier version is migrated in memory.
    with forged(guest, str(portable)) as (db, path):
        (version,) = db.execute("PRAGMA user_version").fetchone()
    assert version >= 9
    assert hits(guest, "--index-file", path, "search", "falcons") == ["qmd://notes/plan.md"]

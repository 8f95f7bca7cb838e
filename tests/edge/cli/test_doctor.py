"""`qmd doctor`: it finds and reports problems."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import apsw
import pytest

import qmd
from qmd.features.diagnosis.doctor.program import VARIABLES
from tests.edge.cli.indexes import change, config_of, findings, index_of
from tests.users import FILES, User

pytestmark = pytest.mark.slow


def the(found: list[dict[str, str]], level: str) -> dict[str, str]:
    """Return the only finding of a level."""
    (one,) = [each for each in found if each["level"] == level]
    return one


def test_doctor_prints_one_line_for_each_check_of_a_healthy_index(embedded: User) -> None:
    text = embedded.ok("doctor")
    *lines, empty, verdict = text.splitlines()
    assert (empty, verdict) == ("", "No problems found.")
    assert all(line.startswith("ok       ") for line in lines)
    for part in (
        "SQLite 3.",
        "index.yml can be read",
        f"intact: {len(FILES)} documents",
        "recomputed vectors equal the stored ones",
    ):
        assert part in text
    for model in ("embed: multilingual-e5-small works", "rerank: late-interaction works"):
        assert model in text


def test_doctor_succeeds_with_warnings_only(owner: User) -> None:
    found = the(findings(owner), "warning")
    assert found["message"] == f"{len(FILES)} texts have no vectors, so only words find them"
    assert found["hint"] == "run 'qmd embed'"
    assert owner.ok("doctor").endswith("\n1 warning.\n")


def test_doctor_suggests_the_correct_spelling_of_a_variable(embedded: User) -> None:
    found = findings(embedded, QMD_THREAD="2", QMD_THREADS="2")
    assert the(found, "warning")["hint"] == "did you mean QMD_THREADS?"
    assert "QMD_THREADS=2" in [each["message"] for each in found if each["check"] == "environment"]


def test_doctor_reports_an_invalid_value_of_a_variable(owner: User) -> None:
    found = the(findings(owner, code=1, QMD_THREADS="many"), "problem")
    assert found["message"].startswith("QMD_THREADS must be a whole number")


def test_doctor_knows_every_variable_that_the_program_reads() -> None:
    source = Path(qmd.__file__).parent
    read = {
        name
        for path in source.rglob("*.py")
        if path.name != "program.py"
        for name in re.findall(r'"(QMD_[A-Z_]+)"', path.read_text(encoding="utf-8"))
    }
    assert read == VARIABLES


def test_doctor_reports_a_broken_configuration_and_checks_the_index(owner: User) -> None:
    config_of(owner).write_text("collections:\n  notes:\n    path: [unclosed\n", encoding="utf-8")
    found = findings(owner, code=1)
    assert the(found, "problem")["message"].startswith(f"{config_of(owner)}:")
    assert any("is intact" in each["message"] for each in found)


def test_doctor_reports_unknown_keys_with_line_and_suggestion(embedded: User) -> None:
    text = config_of(embedded).read_text(encoding="utf-8")
    config_of(embedded).write_text(f"# mine\nrankign: tuned\n{text}", encoding="utf-8")
    found = the(findings(embedded), "warning")
    assert found["message"] == f"{config_of(embedded)}:2: unknown key 'rankign'"
    assert found["hint"] == "did you mean 'ranking'?"


def test_doctor_reports_missing_folders_and_patterns_without_files(embedded: User) -> None:
    other = embedded.home / "other"
    other.mkdir()
    (other / "a.txt").write_text("text", encoding="utf-8")
    embedded.invoke("collection", "add", str(other))
    embedded.notes.rename(embedded.home / "away")
    found = findings(embedded, code=1)
    assert the(found, "problem")["message"] == f"collection 'notes': {embedded.notes} does not exist"
    assert the(found, "warning")["message"] == f"other: no file matches {other} (**/*.md)"


def test_doctor_warns_about_similar_names_and_shared_folders(embedded: User) -> None:
    with config_of(embedded).open("a", encoding="utf-8") as file:
        file.write(f"  Notes:\n    path: {embedded.notes}\n")
    found = [each["message"] for each in findings(embedded) if each["level"] == "warning"]
    assert found == [
        f"'Notes' and 'notes' contain the same files of {embedded.notes}",
        "the names 'Notes' and 'notes' differ only in case",
        "collection 'Notes' was never scanned",
    ]


def test_doctor_reports_a_file_of_another_program(user: User) -> None:
    path = user.home / "other.sqlite"
    path.write_text("theirs", encoding="utf-8")
    found = the(findings(user, code=1, QMD_INDEX_PATH=str(path)), "problem")
    assert "was made by another program" in found["message"]


def test_doctor_reports_a_damaged_file(owner: User) -> None:
    data = bytearray(index_of(owner).read_bytes())
    for page in range(8, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    index_of(owner).write_bytes(data)
    found = the(findings(owner, code=1), "problem")
    assert "damaged" in found["message"]
    assert found["hint"].startswith("restore a backup with")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM documents WHERE path = 'deploy.md'", "entries of the full-text index"),
        ("DELETE FROM documents_fts WHERE rowid IN (SELECT max(id) FROM documents)", "1 documents are not"),
        ("UPDATE contents SET text = text || '!'", "texts are not what was indexed"),
        ("UPDATE content_vectors SET vector = x'00' WHERE seq = 0", "vectors do not have the dimension"),
        ("UPDATE vectors_vec SET slots = slots - 1", "vector blocks are incomplete"),
        ("PRAGMA foreign_keys=OFF; DELETE FROM contents", "rows refer to rows that no longer exist"),
        ("UPDATE documents SET title = title || ' more' WHERE path = 'deploy.md'", "what the texts say"),
        ("UPDATE documents SET path = 'other.md' WHERE path = 'deploy.md'", "what the texts say"),
        ("DELETE FROM document_fields WHERE value_id % 2 = 0", "the fields of"),
        ("UPDATE field_counts SET documents = documents + 1", "counts of values"),
        (
            "UPDATE content_vectors SET vector = CAST(substr(vector, 1, 100) || zeroblob(4) || "
            "substr(vector, 105) AS BLOB)",
            "vectors are not what",
        ),
        ("UPDATE content_vectors SET last_line = last_line + 1", "texts have wrong chunks"),
        ("UPDATE content_vectors SET end = end - 1", "texts have wrong chunks"),
    ],
    ids=[
        *("documents", "entries", "texts", "vectors", "blocks", "references"),
        *("title", "path", "author", "counts", "numbers", "lines", "ends"),
    ],
)
def test_doctor_reports_tables_that_contradict_each_other(embedded: User, statement: str, words: str) -> None:
    change(embedded, "PRAGMA foreign_keys=OFF", statement)
    messages = [each["message"] for each in findings(embedded, code=1) if each["level"] == "problem"]
    assert any(words in message for message in messages), messages


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE documents SET title = title || ' more'",
        "DELETE FROM documents_fts WHERE rowid IN (SELECT max(id) FROM documents)",
        "INSERT INTO documents_fts (rowid, title, body, path) VALUES (1, 'foreign', 'words', 'here')",
        "INSERT INTO documents_fts(documents_fts) VALUES ('delete-all')",
    ],
)
def test_cleanup_indexes_words_again_that_are_not_those_of_the_texts(embedded: User, statement: str) -> None:
    expected = embedded.ok("search", "performance", "--json")
    change(embedded, statement)
    problems = [each for each in findings(embedded, code=1) if each["level"] == "problem"]
    assert problems and all("qmd store compact" in each["hint"] for each in problems)
    embedded.ok("cleanup")
    assert not [each for each in findings(embedded) if each["check"] == "index" and each["level"] != "ok"]
    assert embedded.ok("search", "performance", "--json") == expected


def test_doctor_reports_a_changed_byte_in_the_full_text_index(embedded: User) -> None:
    change(embedded, "INSERT INTO documents_fts(documents_fts) VALUES ('optimize')")
    whole = index_of(embedded).read_bytes()
    chance = random.Random(5)
    for _ in range(8):
        index_of(embedded).write_bytes(whole)
        db = apsw.Connection(str(index_of(embedded)))
        # Rows up to 10 are internal records of FTS5.
        pages = db.execute("SELECT id, block FROM documents_fts_data WHERE id > 10").fetchall()
        page, block = chance.choice(pages)
        at = chance.randrange(len(block))
        damaged = block[:at] + bytes([block[at] ^ chance.randrange(1, 256)]) + block[at + 1 :]
        db.execute("UPDATE documents_fts_data SET block = ? WHERE id = ?", (damaged, page))
        db.close()
        problems = [each for each in findings(embedded, code=1) if each["level"] == "problem"]
        assert any(each["hint"].startswith("restore a backup with") for each in problems), (page, at)


def test_every_command_reports_a_damaged_table_in_one_line(embedded: User) -> None:
    whole = index_of(embedded).read_bytes()
    db = apsw.Connection(str(index_of(embedded)))
    roots = list(db.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"))
    size = db.pragma("page_size")
    db.close()
    commands = ["search database", "vsearch database", "query database", "status", "ls notes", "update"]
    commands += ["get notes/deploy.md", "embed", "cleanup", "why notes/deploy.md database", "doctor"]
    told = 0
    for number, (table, page) in enumerate(roots):
        at = (page - 1) * size
        index_of(embedded).write_bytes(whole[:at] + b"\xff" * size + whole[at + size :])
        # Every second command, so that each meets half of the tables.
        for command in commands[number % 2 :: 2]:
            result = embedded.invoke(*command.split())
            assert result.exit_code in (0, 1), (table, command, result.output)
            assert "internal error" not in result.output, (table, command, result.output)
            told += result.exit_code
        index_of(embedded).write_bytes(whole)
    assert told > len(roots)


def test_doctor_finds_wrong_vector_blocks_and_cleanup_repairs_them(embedded: User) -> None:
    before = embedded.ok("vsearch", "databases", "--json")
    change(embedded, "UPDATE vectors_vec SET ids = zeroblob(length(ids))")
    found = the(findings(embedded, code=1), "problem")
    assert f"{len(FILES)} chunks are missing" in found["message"]
    assert found["hint"].startswith("run 'qmd store compact'")
    embedded.ok("cleanup")
    assert embedded.ok("doctor").endswith("No problems found.\n")
    assert embedded.ok("vsearch", "databases", "--json") == before


def test_doctor_reports_vectors_that_differ_from_the_models(embedded: User) -> None:
    change(
        embedded,
        "UPDATE content_vectors SET vector = (SELECT vector FROM content_vectors ORDER BY id LIMIT 1)",
        "DELETE FROM vectors_vec",
    )
    embedded.ok("cleanup")
    found = the(findings(embedded, code=1), "problem")
    assert found["message"].startswith("of 5 recomputed vectors, one differs from the stored one (cosine ")
    assert found["hint"] == "run 'qmd embed --force'"


def test_doctor_reports_an_unknown_model(owner: User) -> None:
    found = findings(owner, code=1, QMD_EMBED_MODEL="word2vec")
    problems = {each["check"]: each["message"] for each in found if each["level"] == "problem"}
    assert problems["model embed"] == "embed: Unknown model 'word2vec' for the role 'embed'"


def test_doctor_reports_a_damaged_model_and_keeps_it(embedded: User, model_cache: str) -> None:
    models = embedded.home / "cache" / "qmd" / "models"
    models.unlink()
    shutil.copytree(Path(model_cache) / "qmd" / "models", models)
    (folder,) = [path for path in models.iterdir() if (path / "pieces.txt").exists()]
    harmed = (folder / "pieces.txt").read_bytes()[:-1] + b"?"
    (folder / "pieces.txt").write_bytes(harmed)
    found = findings(embedded, code=1)
    assert {each["check"] for each in found if each["level"] == "problem"} == {"model embed"}
    assert (folder / "pieces.txt").read_bytes() == harmed


def test_doctor_prints_findings_in_every_format(embedded: User) -> None:
    assert embedded.ok("doctor", "--csv").startswith("level,check,message,hint\n")
    assert embedded.ok("doctor", "--format", "xml").count("<finding>") == len(findings(embedded))

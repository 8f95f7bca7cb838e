"""`qmd search`: queries, options and output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.users import FILES, User


def hits(user: User, *args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(user.ok("search", "--json", *args))
    return found


def test_search_all_ignores_n(reader: User) -> None:
    every = reader.ok("search", "performance", "--all", "--files")
    assert len(every.splitlines()) > 1
    assert reader.ok("search", "performance", "--all", "-n", "1", "--files") == every


def test_search_prints_path_title_context_score_and_snippet(reader: User) -> None:
    hit = hits(reader, "review", "led")[0]
    assert reader.ok("search", "review", "led") == (
        f"notes/2026/old notes.md:3 {hit['docid']}\n"
        "Title: Old\n"
        "Context: Everything\n"
        '         Notes of "2026", dated\n'
        f"Score: {round(hit['score'] * 100)}%\n"
        "\n"
        f"{hit['snippet']}\n"
    )


def test_search_separates_results_by_a_blank_line(reader: User) -> None:
    text = reader.ok("search", "performance", "-n", "3")
    assert text.count("\nTitle: ") == 3
    assert "\n\nnotes/" in text
    assert "\n\n\n" not in text


@pytest.mark.parametrize("query", ["zzzzqqqq", "-only -negatives", "( ", "*", '"'])
def test_search_without_results_succeeds(reader: User, query: str) -> None:
    result = reader.invoke("search", "--", query)
    assert (result.exit_code, result.stdout) == (0, "No results found.\n")


def test_search_refuses_queries_over_10000_characters(reader: User) -> None:
    assert hits(reader, "performance " + "word " * 1000)
    refused = reader.invoke("search", "x" * 10_001)
    assert refused.exit_code == 2
    assert "10000" in refused.stderr


def test_search_joins_words_around_options(reader: User) -> None:
    together = hits(reader, "cache performance", "-n", "2")
    assert hits(reader, "cache", "-n", "2", "performance") == together
    assert json.loads(reader.ok("search", "-n", "2", "cache", "performance", "--json")) == together


def test_global_options_may_follow_the_command(reader: User) -> None:
    assert reader.ok("--index", "other", "ls") == reader.ok("ls", "--index", "other")
    assert "No collections" in reader.ok("ls", "--index", "other")
    assert "No collections" in reader.ok("collection", "--index", "other", "list")


def test_search_takes_excluded_words_after_two_dashes(reader: User) -> None:
    files = [hit["file"] for hit in hits(reader, "-n", "50", "--", "performance", "-band", "-cache")]
    assert files
    assert not any("emoji" in file or "deploy" in file for file in files)


def test_search_dash_reads_the_query_from_stdin(reader: User) -> None:
    assert "notes/deploy.md" in reader.ok("search", "-", input="rollback release\n")
    found = reader.call("search", "-", stdin=b"x" * 50_000)
    assert found.returncode == 2
    assert "longer than 10000 characters" in found.stderr
    assert reader.call("search", "-", stdin=b"").returncode == 2


def test_search_shows_five_results_and_twenty_for_programs(user: User) -> None:
    for number in range(25):
        (user.notes / f"more{number}.md").write_text(f"# More {number}\n\nherring\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    counts = {
        name: user.ok("search", "herring", "--format", name).count(mark)
        for name, mark in [("cli", "Title: "), ("csv", "\n#"), ("md", "**docid:**"), ("xml", "<file ")]
    }
    assert counts == {"cli": 5, "csv": 5, "md": 5, "xml": 5}
    assert len(hits(user, "herring")) == 20
    assert len(user.ok("search", "herring", "--files").splitlines()) == 20
    assert len(hits(user, "herring", "-n", "3")) == 3
    assert len(hits(user, "herring", "--all")) == 25


def test_search_line_numbers_are_those_of_the_file(reader: User) -> None:
    text = reader.ok("search", "rollback", "--line-numbers")
    assert "\n7: Run `make rollback` to return to the last release.\n" in text
    hit = hits(reader, "rollback", "--line-numbers")[0]
    lines = FILES["deploy.md"].split("\n")
    for numbered in hit["snippet"].split("\n"):
        number, _, line = numbered.partition(": ")
        assert lines[int(number) - 1] == line


def test_search_full_prints_the_whole_document(reader: User) -> None:
    hit = hits(reader, "rollback", "--full")[0]
    assert hit["body"] == FILES["deploy.md"].removesuffix("\n")
    assert "snippet" not in hit
    assert FILES["deploy.md"] in reader.ok("search", "rollback", "--full")
    assert "1: # Deploying the service\n2: \n3: Deploy" in reader.ok(
        "search", "rollback", "--full", "--line-numbers"
    )


def test_search_full_path_prints_files_on_disk(reader: User) -> None:
    for args in (["--json"], ["--csv"], ["--md"], ["--xml"], ["--files"], []):
        assert f"{reader.notes}/deploy.md" in reader.ok("search", "rollback", "--full-path", *args)


def test_search_full_path_is_relative_to_the_current_folder(reader: User) -> None:
    def found(*args: str) -> str:
        return reader.call("search", "rollback", "--full-path", *args, cwd=reader.notes).stdout

    hit = json.loads(found("--json"))[0]
    assert hit["file"] == "./deploy.md"
    assert "docid" not in hit
    assert found().startswith("./deploy.md:5\nTitle: ")
    assert found("--files").split(",")[1] == "./deploy.md"
    assert found("--csv").splitlines()[1].startswith(",0.")
    assert "**file:** ./deploy.md\n**section:** Deploying the service > Rollback\n**context:**" in found(
        "--md"
    )
    assert '<file name="./deploy.md"' in found("--xml")
    for reference in ("./deploy.md:5:1", "./2026/../deploy.md:5:1", "../notes/deploy.md:5:1"):
        read = reader.call("get", reference, cwd=reader.notes)
        assert read.stdout.startswith("## Rollback\n"), read.stderr


def test_full_path_of_a_deleted_file_is_its_address_with_a_note(user: User) -> None:
    user.ok("collection", "add", str(user.notes))
    (user.notes / "deploy.md").unlink()
    for args in (
        ("search", "rollback"),
        ("get", "deploy.md"),
        ("multi-get", "deploy.md"),
        ("ls", "notes/deploy.md"),
    ):
        result = user.invoke(*args, "--full-path", "--files")
        assert "qmd://notes/deploy.md" in result.stdout
        assert ("#" in result.stdout) == (args[0] != "ls")
        assert "note: 1 file has gone since the last 'qmd update': shown by address\n" in result.stderr


def test_search_explain_prints_scores_and_stages(reader: User) -> None:
    text = reader.ok("search", "rollback", "--explain")
    assert "\n  BM25  " in text
    assert "\nStages:\n  lexical  ran " in text
    assert set(hits(reader, "rollback", "--explain")[0]["explain"]["lexical"]) == {
        "bm25",
        "bound",
        "tier",
        "scattered",
    }


def test_search_before_indexing_hints_at_collection_add(user: User) -> None:
    result = user.invoke("search", "anything", "--json")
    assert result.stdout == "[]\n"
    assert "qmd add" in result.stderr
    assert user.invoke("search", "anything", "--json", "-q").stderr == ""


def test_search_without_documents_says_why(user: User) -> None:
    config = user.home / "config" / "qmd" / "index.yml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f"collections:\n  notes:\n    path: {user.notes}\n    pattern: '*.rst'\n", encoding="utf-8"
    )
    for command in ("search", "query"):
        assert "never scanned: notes: run 'qmd update'" in user.invoke(command, "anything").stderr
    assert "never scanned: notes: run 'qmd update'" in user.invoke("vsearch", "anything").stderr
    user.ok("update", "--no-embed")
    for command in ("search", "query", "vsearch"):
        told = user.invoke(command, "anything").stderr
        assert "no documents in notes: 'qmd collection list' shows which files they take" in told


def test_file_of_another_program_is_kept_and_noted_once(user: User) -> None:
    foreign = user.home / "cache" / "qmd" / "index.sqlite"
    foreign.write_bytes(b"SQLite format 3\x00" + b"\x00" * 1000)
    before = foreign.read_bytes()
    first = user.call("collection", "add", str(user.notes))
    assert "belongs to another program" in first.stderr
    assert user.call("ls").stderr == ""
    assert foreign.read_bytes() == before


#: A matcher that tries every possibility would need years for this.
ENDLESS = "**?" * 24 + "Z"


def test_glob_with_many_possible_matches_is_fast(user: User) -> None:
    (user.notes / f"{'n' * 60}.md").write_text("# Heron\n\nThe heron waits.\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes), "--ignore", ENDLESS)
    assert hits(user, f"heron path:{ENDLESS}") == []
    assert len(hits(user, f"heron path:{'**/' * 30}{'?*' * 20}")) == 1
    assert "No documents match" in user.call("multi-get", ENDLESS).stderr


def test_glob_that_is_too_long_is_refused(reader: User) -> None:
    for arguments in (("search", f"budget path:{'*a' * 600}"), ("multi-get", "*a" * 600)):
        assert "longer than 1,000 characters" in reader.invoke(*arguments).stderr


def test_fold_makes_room_for_other_documents_in_every_search(user: User) -> None:
    folder = user.home / "copies"
    folder.mkdir()
    for number in range(60):
        for copy in "abc":
            (folder / f"{number}{copy}.md").write_text(f"# Note {number}\n\nA kestrel.\n", encoding="utf-8")
    user.ok("collection", "add", str(folder))
    for command in (("search",), ("query", "--no-rerank", "-q")):
        results = json.loads(user.ok(*command, "kestrel", "--fold", "-n", "60", "--json"))
        assert len(results) == 60
        assert {len(result["also"]) for result in results} == {2}


def test_names_vimgrep_and_short_are_lines_for_other_programs(user: User) -> None:
    (user.notes / "herons, and more.md").write_text("---\na: 1\n---\n# Birds\n\nText.\n\nA heron: here.\n")
    user.ok("collection", "add", str(user.notes))
    assert user.ok("search", "heron", "--names") == "qmd://notes/herons, and more.md\n"
    whole = user.notes / "herons, and more.md"
    assert user.ok("search", "heron", "--names", "--full-path") == f"{whole}\n"
    assert user.ok("search", "heron", "--vimgrep") == f"{whole}:8:1:A heron: here.\n"
    assert (
        user.ok("search", "heron", "--short") == "qmd://notes/herons, and more.md:8\tBirds\tA heron: here.\n"
    )
    below = user.call("search", "heron", "--vimgrep", cwd=user.notes).stdout
    assert below.startswith("./herons, and more.md:8:")
    assert user.ok("get", "deploy.md", "--vimgrep") == f"{user.notes}/deploy.md:1:1:Deploying the service\n"
    every = user.ok("search", "performance", "--names")
    assert len(every.splitlines()) > 5
    for name in every.splitlines():
        assert user.ok("get", name)
    assert "--names prints names only" in user.invoke("search", "x", "-l").stderr
    assert user.ok("ls", "notes", "--names").splitlines()[-1] == "qmd://notes/検索#1.md"


def test_collection_is_a_filter_as_typed(user: User) -> None:
    user.ok("collection", "add", str(user.notes))
    other = user.home / "other"
    other.mkdir()
    (other / "a.md").write_text("# Performance elsewhere\n")
    user.ok("collection", "add", str(other))
    for key in ("collection:other", "in:other", "collection:other,none", "in:qmd://other/"):
        assert user.ok("search", f"performance {key}", "--names") == "qmd://other/a.md\n"
    assert "qmd://other/a.md" not in user.ok("search", "performance -collection:other", "--names")
    assert user.ok("search", "performance collection:none", "--names") == ""


def test_search_says_since_when_a_folder_has_changed(user: User) -> None:
    user.ok("add", str(user.notes), "--no-embed")
    quiet = user.invoke("search", "heron")
    assert "has changed" not in quiet.stderr
    (user.notes / ".draft.md.swp").write_text("heron")
    (user.notes / "picture.png").write_bytes(b"heron")
    assert "has changed" not in user.invoke("search", "heron").stderr
    (user.notes / "2026" / "new.md").write_text("A heron.")
    told = user.invoke("search", "heron")
    assert told.stdout == "No results found.\n"
    assert "note: notes has changed since 20" in told.stderr
    assert "(1 change): run 'qmd update', or add --fresh" in told.stderr
    assert "has changed" not in user.invoke("search", "heron", "--quiet").stderr
    assert user.ok("search", "heron", "--fresh", "--names") == "qmd://notes/2026/new.md\n"
    assert "has changed" not in user.invoke("search", "heron").stderr
    # A new folder, and a file that is gone.
    (user.notes / "pictures").mkdir()
    assert "has changed" not in user.invoke("search", "heron").stderr
    (user.notes / "birds").mkdir()
    (user.notes / "birds" / "b.md").write_text("A second heron.")
    (user.notes / "deploy.md").unlink()
    assert "(2 changes)" in user.invoke("query", "heron", "--no-rerank").stderr
    assert "notes: 1 new, 11 unchanged, 1 removed\n" in user.ok("update", "--no-embed")
    assert "has changed" not in user.invoke("search", "heron").stderr


def test_query_without_vectors_says_that_words_were_searched(user: User) -> None:
    user.ok("add", str(user.notes), "--no-embed")
    told = user.invoke("query", "performance", "--no-rerank").stderr
    assert "note: searched by words alone: 11 texts without vectors: run 'qmd embed'" in told


def test_search_divides_a_word_of_a_long_query_that_no_document_has(user: User) -> None:
    folder = user.home / "travel"
    folder.mkdir()
    (folder / "norway.md").write_text("The road trip through Norway took two weeks.\n")
    (folder / "closed.md").write_text("The road was closed. A trip to the museum, with small children.\n")
    user.ok("collection", "add", str(folder))
    question = "roadtrip with small children, wooden cabins, museums, lakes, mountains, bears, plenty of rain"
    assert "road trip" in user.ok("search", question, "-c", "travel", "--vimgrep")

"""`qmd fields`, `tags`, `links` and `outline`, filters of `ls` and `multi-get`, facets and sections."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from tests.users import MakeUser, User

NOTES = {
    "plan.md": "---\nstatus: draft\npriority: 2\ntags: [work/planning, Home]\naliases: [Q1 plan]\n"
    "author: Ann Bee\ndate: 2026-01-05\n---\n# Plan\n\n## Budget\n\nHerons cost little. See [[ops]], "
    "[[lost]], ![[heron.png]]\nand <https://example.org>.\n",
    "ops.md": "---\nstatus: done\npriority: 10\ntags: work/meeting, work/planning\ndate: 2025-03-01\n---\n"
    "# Operations\n\n## Backups\n\nHerons nest above.\n\n### Restoring\n\nRead [[Q1 plan]] to restore herons."
    "\n\n## End\n\nBye.\n",
    "笔记/数据库.md": "---\nstatus: draft\ntags: [工作/会议]\n---\n# 数据库\n\n"
    "## 备份\n\n每天备份苍鹭数据。\n",
    "broken.md": "---\nstatus: [open\n---\n# Broken\n\nherons\n",
}
FORMATS = ["cli", "json", "csv", "md", "xml", "files"]


@pytest.fixture(scope="module")
def keeper(make_user: MakeUser) -> User:
    """A user with notes that have fields, tags and links. Shared: tests only read."""
    user = make_user("keeper")
    for path, text in NOTES.items():
        file = user.home / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(user.home / "vault"), "--name", "vault")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    return user


def printed(user: User, *args: str) -> Any:
    return json.loads(user.ok(*args, "--json"))


def files(user: User, *args: str) -> list[str]:
    return [row["file"].removeprefix("qmd://") for row in printed(user, *args)]


def test_fields_lists_types_counts_and_the_most_frequent_values(keeper: User) -> None:
    by_name = {row["name"]: row for row in printed(keeper, "fields", "-c", "vault")}
    assert by_name["status"] == {
        "name": "status",
        "types": ["text"],
        "documents": 3,
        "values": 2,
        "top": [{"value": "draft", "documents": 2}, {"value": "done", "documents": 1}],
    }
    assert by_name["priority"]["types"] == ["number"]
    assert "status" not in {row["name"] for row in printed(keeper, "fields", "-c", "notes")}
    lines = keeper.ok("fields", "-c", "vault").splitlines()
    assert lines[0].split() == ["Field", "Type", "Documents", "Values", "Most", "frequent"]
    assert any(line.split() == ["status", "text", "3", "2", "draft", "2,", "done", "1"] for line in lines)
    assert max(map(len, lines)) <= 80


def test_fields_lists_the_values_of_one_field(keeper: User) -> None:
    assert printed(keeper, "fields", "Priority") == [
        {"value": 2, "documents": 1},
        {"value": 10, "documents": 1},
    ]
    assert keeper.ok("fields", "status", "--csv") == "value,documents\ndraft,2\ndone,1\n"
    limited = keeper.invoke("fields", "status", "-n", "1", "--files")
    more = "note: 1 of 2 values: -n shows more, --offset 1 the next\n"
    assert (limited.stdout, limited.stderr) == ("draft\n", more)
    following = keeper.invoke("fields", "status", "-n", "1", "--offset", "1", "--files")
    assert (following.stdout, following.stderr) == ("done\n", "")
    assert {row["value"]: row["documents"] for row in printed(keeper, "fields", "collection")} == {
        "vault": 4,
        "notes": 11,
    }


def test_unknown_field_is_an_error_with_a_suggestion(keeper: User) -> None:
    for args in (("fields", "statos"), ("ls", "--where", "statos=x"), ("search", "x", "--where", "statos")):
        refused = keeper.invoke(*args)
        assert refused.exit_code == 2
        assert "no document has the field 'statos'" in refused.stderr
        assert "did you mean 'status'?" in refused.stderr


def test_tags_prints_a_tree_with_cumulative_counts(keeper: User) -> None:
    assert keeper.ok("tags") == (
        "work        2\n  planning  2\n  meeting   1\nHome        1\n工作        1\n  会议      1\n"
    )
    assert printed(keeper, "tags")[:2] == [
        {"tag": "work", "documents": 2},
        {"tag": "work/planning", "documents": 2},
    ]
    assert keeper.ok("tags", "-c", "notes") == "No tags.\n"


def test_tags_counts_a_document_once_for_several_spellings(user: User) -> None:
    (user.notes / "tags.md").write_text("---\ntags: [Bird, BIRD]\n---\n#bird\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    assert printed(user, "tags") == [{"tag": "Bird", "documents": 1}]


def test_links_lists_lines_and_targets(keeper: User) -> None:
    rows = [
        (row["line"], row["kind"], row["target"], row["to"]) for row in printed(keeper, "links", "plan.md")
    ]
    assert rows == [
        (13, "wikilink", "ops", "qmd://vault/ops.md"),
        (13, "wikilink", "lost", None),
        (13, "embed", "heron.png", None),
        (14, "url", "https://example.org", None),
    ]
    assert keeper.ok("links", "plan.md") == (
        "vault/plan.md\n    13  ops -> vault/ops.md\n    13  lost (unresolved)\n    13  heron.png\n"
        "    14  https://example.org\n"
    )
    assert keeper.ok("links", "plan.md", "--files") == "qmd://vault/ops.md\n"


def test_links_lists_backlinks_unresolved_links_and_orphans(keeper: User) -> None:
    (back,) = printed(keeper, "links", "plan.md", "--backlinks")
    assert (back["file"], back["target"], back["line"]) == ("qmd://vault/ops.md", "Q1 plan", 15)
    assert [row["target"] for row in printed(keeper, "links", "--unresolved")] == ["lost"]
    assert [row["target"] for row in printed(keeper, "links", "plan.md", "--unresolved")] == ["lost"]
    assert keeper.ok("links", "ops.md", "--unresolved") == "No unresolved links.\n"
    assert keeper.ok("links", "--orphans", "-c", "vault") == "vault/broken.md\nvault/笔记/数据库.md\n"
    assert keeper.ok("links", "deploy.md") == "No links.\n"


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--backlinks",),
        ("plan.md", "--orphans"),
        ("plan.md", "-c", "vault"),
        ("plan.md", "--backlinks", "--unresolved"),
    ],
    ids=str,
)
def test_links_refuses_options_that_contradict_each_other(keeper: User, args: tuple[str, ...]) -> None:
    assert keeper.invoke("links", *args).exit_code == 2


def test_outline_prints_headings_that_get_accepts(keeper: User) -> None:
    assert keeper.ok("outline", "ops.md") == (
        "vault/ops.md\n     7  Operations\n     9    Backups\n    13      Restoring\n    17    End\n"
    )
    for row in printed(keeper, "outline", "ops.md"):
        text = keeper.ok("get", f"vault/ops.md#{row['heading']}")
        assert text.startswith(f"{'#' * row['level']} {row['heading']}\n")
        assert len(text.splitlines()) in (row["last_line"] - row["first_line"] + extra for extra in (0, 1))
    assert keeper.ok("get", "vault/ops.md#Backups#Restoring").startswith("### Restoring\n")
    assert keeper.ok("get", "数据库.md#备份") == "## 备份\n\n每天备份苍鹭数据。\n"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("args", "rows"),
    [
        (("fields",), None),
        (("fields", "status"), 2),
        (("tags",), 6),
        (("links", "ops.md"), 1),
        (("links", "--orphans", "-c", "vault"), 2),
        (("outline", "ops.md"), 4),
    ],
    ids=str,
)
def test_listing_has_every_format(keeper: User, args: tuple[str, ...], rows: int | None, name: str) -> None:
    count = len(printed(keeper, *args)) if rows is None else rows
    text = keeper.ok(*args, "--format", name)
    match name:
        case "json":
            assert len(json.loads(text)) == count
        case "csv":
            assert len([*csv.reader(io.StringIO(text, newline=""))]) == count + 1
        case "xml":
            assert len(ElementTree.fromstring(text)) == count
        case "md":
            assert len(text.splitlines()) == count + 2
        case "files":
            assert len(text.splitlines()) == count
        case _:
            assert text


def test_fields_xml_has_an_element_for_each_value(keeper: User) -> None:
    root = ElementTree.fromstring(keeper.ok("fields", "-c", "vault", "--xml"))
    status = next(field for field in root if field.findtext("name") == "status")
    assert [(top.findtext("value"), top.findtext("documents")) for top in status.findall("top")] == [
        ("draft", "2"),
        ("done", "1"),
    ]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--tag", "work"), ["ops.md", "plan.md"]),
        (("--tag", "#工作"), ["笔记/数据库.md"]),
        (("--where", "status=draft", "--where", "priority<5"), ["plan.md"]),
        (("--where", "priority"), ["ops.md", "plan.md"]),
        (("--path", "笔记/"), ["笔记/数据库.md"]),
        (("--author", "ann bee"), ["plan.md"]),
        (("--after", "2026", "--before", "2026-02"), ["plan.md"]),
        (("--filter", '{"field": "priority", "operator": "gte", "value": 3}'), ["ops.md"]),
    ],
    ids=str,
)
def test_ls_and_multi_get_take_the_filters_of_searches(
    keeper: User, args: tuple[str, ...], expected: list[str]
) -> None:
    documents = [f"vault/{path}" for path in expected]
    assert files(keeper, "ls", *args) == files(keeper, "ls", "vault", *args) == documents
    assert files(keeper, "multi-get", "**", *args) == documents
    assert sorted(files(keeper, "search", "herons OR 苍鹭", *args)) == sorted(documents)


def test_ls_says_how_many_documents_pass_each_filter_if_none_passes_all(keeper: User) -> None:
    found = keeper.invoke("ls", "--tag", "work", "--where", "status=drfat")
    assert (found.exit_code, found.stdout) == (0, "No files with these filters.\n")
    assert found.stderr == "note: No documents: tag:work 2, [status:drfat] 0. Did you mean draft?\n"
    assert keeper.ok("ls", "vault/笔记", "--tag", "work", "--json") == "[]\n"
    assert "path:笔记 1, tag:work 2" in keeper.invoke("ls", "vault/笔记", "--tag", "work").stderr


def test_multi_get_leaves_out_documents_that_do_not_pass_filters(keeper: User) -> None:
    assert files(keeper, "multi-get", "plan.md, ops.md", "--where", "status=done") == ["vault/ops.md"]
    missing = keeper.invoke("multi-get", "notes/**", "--tag", "work")
    assert missing.exit_code == 1
    assert "No documents match: notes/** (with these filters)" in missing.stderr
    none = keeper.invoke("multi-get", "**", "--tag", "play")
    assert (none.exit_code, none.stderr) == (1, "Error: No document passes the filter tag:play.\n")


def test_search_names_filters_that_nothing_passes_but_no_stage(keeper: User) -> None:
    found = keeper.invoke("search", "herons tag:work [status:drfat]")
    assert found.stdout == "No results found.\n"
    assert found.stderr == "note: No documents: tag:work 2, [status:drfat] 0. Did you mean draft?\n"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--tag", ""),
        ("--path", " "),
        ("--where", "a b="),
        ("--filter", "{"),
        ("--filter", '{"field": "a", "operator": "is", "value": 1}'),
        ("--after", "soon"),
        ("--before", "2024-13"),
        ("--author", ""),
        ("--facets", ","),
    ],
)
def test_invalid_filter_value_names_its_option(keeper: User, option: str, value: str) -> None:
    commands = (
        ["search x", "query x"]
        if option == "--facets"
        else ["search x", "why plan.md x", "ls", "multi-get x"]
    )
    for command in commands:
        refused = keeper.invoke(*command.split(), option, value)
        assert refused.exit_code == 2
        assert refused.stderr.startswith(f"Error: {option}")


def test_search_facets_are_printed_below_hits_and_beside_them_in_json(keeper: User) -> None:
    shown = keeper.ok("search", "herons", "-n", "1", "--facets", "tag,status,year,nosuch")
    assert shown.count("Score:") == 1
    assert shown.endswith(
        "\nFacets:\n  tag:    work/planning 2, Home 1, work/meeting 1\n  status: done 1, draft 1\n"
        f"  year:   {shown.partition('year:   ')[2]}"
    )
    assert shown.endswith("  nosuch: none\n")
    hits = printed(keeper, "search", "herons")
    with_facets = printed(keeper, "search", "herons", "--facets", "status, priority")
    assert with_facets["results"] == hits
    assert with_facets["facets"]["priority"] == [{"value": 2, "documents": 1}, {"value": 10, "documents": 1}]
    assert keeper.invoke("search", "herons", "--facets", "tag", "--csv").exit_code == 2


def test_vsearch_and_query_facets_count_related_candidates(seer: User) -> None:
    counted = {}
    for command in ("vsearch", "query"):
        hits = printed(seer, command, "deploy", "-n", "100", "--min-score", "0")
        related = sum(hit["score"] >= 0.3 for hit in hits)
        assert related < len(hits)
        shown = seer.ok(command, "deploy", "-n", "1", "--facets", "ext")
        assert shown.partition("\nFacets ")[2].startswith(
            f"(counted among the {related} related candidates, "
        )
        counted[command] = printed(seer, command, "deploy", "-n", "1", "--facets", "ext")["facets"]["ext"]
        assert counted[command] == ([{"value": "md", "documents": related}] if related else [])
    assert counted["query"]


def test_hits_name_their_section_without_the_title(keeper: User) -> None:
    hit = printed(keeper, "search", "restore")[0]
    assert hit["section"] == "Operations > Backups > Restoring"
    shown = keeper.ok("search", "restore")
    assert "\nTitle: Operations\nSection: Backups > Restoring\nState: done\nScore:" in shown
    (file,) = ElementTree.fromstring(keeper.ok("search", "restore", "--xml"))
    assert file.attrib["section"] == hit["section"]
    assert f"**section:** {hit['section']}\n" in keeper.ok("search", "restore", "--md")
    header = "docid,score,file,title,context,line,snippet,state\n"
    assert keeper.ok("search", "restore", "--csv").startswith(header)
    plain = keeper.ok("search", "percent", "-c", "notes")
    assert "Section:" not in plain


def test_why_shows_fields_and_the_filter_that_excludes_a_document(keeper: User) -> None:
    answer = printed(keeper, "why", "plan.md", "herons", "--search", "search", "--where", "priority>3")
    assert (answer["verdict"], answer["reason"]) == (
        "not_searched",
        "it does not pass the filter [priority>3]: its priority is 2",
    )
    assert answer["fields"]["tag"] == ["work/planning", "Home"]
    assert answer["fields"]["priority"] == [2]
    text = keeper.ok("why", "plan.md", "herons", "--search", "search", "--path", "笔记/")
    assert "Not shown: it does not pass the filter path:笔记/: its path is plan.md.\n" in text
    assert "\nFields:\n" in text
    assert any(line.split() == ["tag", "work/planning,", "Home"] for line in text.splitlines())
    (note,) = printed(keeper, "why", "broken.md", "herons", "--search", "search")["notes"]
    assert note.startswith("left out: front matter that is not valid YAML in line ")


def test_bench_searches_only_documents_that_pass_the_filters(keeper: User) -> None:
    fixture = keeper.home / "questions.json"
    question = {"id": "1", "query": "herons", "expected_files": ["plan.md"]}
    fixture.write_text(json.dumps({"version": 1, "queries": [question]}), encoding="utf-8")
    for value, recall in (("draft", 1), ("done", 0)):
        ran = printed(keeper, "bench", str(fixture), "--ways", "bm25", "--where", f"status={value}")
        assert ran["ways"][0]["measures"]["recall@10"] == recall


@pytest.mark.parametrize("command", ["search", "query"])
def test_note_says_which_brackets_are_text(keeper: User, command: str) -> None:
    for query, note in {
        "herons [prioriti>=2]": "[prioriti>=2], because no document has the field 'prioriti'. "
        "Did you mean [priority>=2]?",
        "[title] of herons": "[title]. A filter among words needs a value: [title:*]",
    }.items():
        found = keeper.invoke(command, query, "--files")
        assert (found.exit_code, found.stderr.splitlines()[-1]) == (0, f"note: read as text: {note}")
        assert "vault/ops.md" in found.stdout
    assert "as text" not in keeper.invoke(command, "herons [word]", "--files").stderr
    refused = keeper.invoke(command, "herons", "--where", "prioriti>=2")
    assert "did you mean 'priority'?" in refused.stderr
    assert refused.exit_code != 0


@pytest.mark.parametrize("command", ["search", "vsearch", "query"])
@pytest.mark.parametrize("typed", ["after:someday", "-before:2024-13", 'AFTER:"next time"'])
def test_typed_date_filter_without_a_date_is_an_error(keeper: User, command: str, typed: str) -> None:
    result = keeper.invoke(command, "--", "herons", typed)
    assert result.exit_code == 2
    assert re.match(r"Error: (after|before) must be a date, such as 2024", result.stderr), result.stderr
    assert "in quotes it is text" in result.stderr
    assert "No results" in keeper.ok("search", f'"{typed.strip("-")}"')


@pytest.mark.parametrize("command", ["search", "vsearch", "query"])
def test_search_with_filters_only_lists_documents(keeper: User, command: str) -> None:
    expected = files(keeper, command, "tag:work")
    assert expected == ["vault/plan.md", "vault/ops.md"]
    assert files(keeper, command, "--tag", "work") == expected
    assert files(keeper, command, "--where", "status=done") == ["vault/ops.md"]
    assert "QUERY" in keeper.invoke(command).stderr


def test_nested_front_matter_maps_are_fields(user: User) -> None:
    (user.notes / "menu.md").write_text(
        "---\nmenu: {main: {weight: 5, names: [left, top]}}\nx: y\n---\nkestrel\n",
        encoding="utf-8",
    )
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    assert files(user, "search", "[menu.main.weight>=5]") == ["notes/menu.md"]
    assert files(user, "search", "kestrel", "--where", "menu.main.names=top") == ["notes/menu.md"]
    (row,) = (row for row in printed(user, "fields") if row["name"] == "menu.main.weight")
    assert (row["types"], row["documents"]) == (["number"], 1)


def test_search_and_ls_authors_know_each_of_several_authors(user: User) -> None:
    (user.notes / "several.md").write_text(
        "---\nauthor: [Ann Bee, Bob]\ndate: 2024-05-01\n---\nkestrel\n", encoding="utf-8"
    )
    (user.notes / "one.md").write_text("---\nauthor: BOB\ndate: 2025-05-01\n---\nkestrel\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    assert set(files(user, "search", "kestrel", "--author", "bob")) == {"notes/several.md", "notes/one.md"}
    listed = {row["name"].casefold(): row for row in printed(user, "ls", "--authors")}
    assert (listed["bob"]["documents"], listed["bob"]["first"][:4], listed["bob"]["last"][:4]) == (
        2,
        "2024",
        "2025",
    )
    assert listed["ann bee"]["documents"] == 1

"""Fields, tags, links and sections, from files to the answers of an index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

import qmd
from qmd.text import predicates
from tests.conftest import Notes

FILES = {
    "plan.md": (
        "---\nstatus: draft\npriority: 2\ndue: 2026-03-01\ntags: [work/planning]\n"
        "aliases: [Q1 roadmap]\n---\n"
        "# Plan\n\nHerons first. See [[Budget]] and #finance.\n\n## Risks\n\nNone.\n\n### Floods\n\nWater.\n"
    ),
    "money/budget.md": "---\nStatus: Done\npriority: high\ntags: finance\n---\n# Budget\n\nHerons cost.\n",
    "money/old.md": (
        "---\nstatus: done\npriority: 7\n---\n# Old\n\n[up](../plan.md#risks) [no](none.md) herons\n"
    ),
    "loose.md": "# Loose\n\nA heron. [[Q1 roadmap]] [[Nowhere]] https://example.org ../../etc/passwd\n",
}


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes(FILES)), "notes")
    return index


def paths(response: qmd.SearchResponse) -> set[str]:
    return {hit.path for hit in response.hits}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("heron [status:draft]", {"plan.md"}),
        ("heron [status:done]", {"money/budget.md", "money/old.md"}),
        ("heron -[status:*]", {"loose.md"}),
        ("heron [priority>=2]", {"plan.md", "money/old.md"}),
        ("heron [priority:high]", {"money/budget.md"}),
        ("heron [due:2026] [due<2026-04]", {"plan.md"}),
        ("heron tag:work", {"plan.md"}),
        ("heron tag:finance", {"plan.md", "money/budget.md"}),
        ("heron -tag:finance", {"money/old.md", "loose.md"}),
        ("heron path:money/", {"money/budget.md", "money/old.md"}),
        ("heron path:**/o*.md", {"money/old.md"}),
        ("heron file:plan", {"plan.md"}),
        ("heron title:bud", {"money/budget.md"}),
        ("heron ext:md [format:markdown]", set(FILES)),
        ("heron link:plan.md", {"money/old.md", "loose.md"}),
        ("heron [status:draft,done] -path:money/", {"plan.md"}),
    ],
)
def test_filters_limit_searches_by_words(library: qmd.Index, query: str, expected: set[str]) -> None:
    assert paths(library.search(query)) == expected
    assert {each.path for each in library.documents(where=[])} == set(FILES)


def test_filters_limit_vsearch_and_query(library: qmd.Index) -> None:
    library.embed()
    assert paths(library.vsearch("birds [status:done]", min_score=0.0)) == {"money/budget.md", "money/old.md"}
    assert paths(library.query("heron", tag="finance")) == {"plan.md", "money/budget.md"}


def test_where_and_json_filters_equal_typed_filters(library: qmd.Index) -> None:
    assert paths(library.search("heron", where=["status=done", "priority>=2"])) == {"money/old.md"}
    tree = {"operator": "not", "operands": [{"field": "status", "operator": "exists"}]}
    assert paths(library.search("heron", filter=tree)) == {"loose.md"}
    assert [each.path for each in library.documents("notes/money", where="priority=high")] == [
        "money/budget.md"
    ]


def test_search_matches_aliases_like_titles(library: qmd.Index) -> None:
    assert library.search("roadmap").hits[0].path == "plan.md"
    assert not any(finding.level == "problem" for finding in library.doctor())


def test_unknown_field_of_an_option_is_an_error_with_a_suggestion(library: qmd.Index) -> None:
    with pytest.raises(qmd.UsageError) as error:
        library.search("heron", where="statsu=draft")
    assert "did you mean 'status'?" in (error.value.hint or "")


def test_search_without_passing_documents_counts_each_filter(library: qmd.Index) -> None:
    response = library.search("heron tag:work [status:drfat]")
    stage = response.stage("filter")
    assert stage is not None
    assert stage.reason == "No documents: tag:work 1, [status:drfat] 0. Did you mean draft?"


def test_fields_lists_types_and_values(library: qmd.Index) -> None:
    found = {each.summary.name: each for each in library.fields()}
    assert (found["status"].summary.documents, found["priority"].summary.types) == (3, ("text", "number"))
    assert [(each.value, each.documents) for each in found["status"].values] == [("Done", 2), ("draft", 1)]
    assert {each.value for each in library.field_values("tag").values} == {"finance", "work/planning"}
    assert library.field_values("STATUS", path="money/").summary.documents == 2
    with pytest.raises(qmd.UsageError):
        library.field_values("nothing")


def test_field_counts_follow_changed_moved_and_deleted_documents(library: qmd.Index, notes: Notes) -> None:
    def counts() -> list[tuple[object, int]]:
        return [(each.value, each.documents) for each in library.field_values("status", ["notes"]).values]

    folder = notes(
        {"plan.md": FILES["plan.md"].replace("draft", "DONE"), "new.md": "---\nstatus: new\n---\nx\n"}
    )
    (folder / "money" / "budget.md").rename(folder / "budget.md")
    library.add_collection(str(notes({"a.md": "---\nstatus: Draft\n---\nheron\n"}, "other")), "other")
    library.update()
    assert counts() == [("DONE", 3), ("new", 1)]
    (folder / "money" / "old.md").unlink()
    library.update()
    assert counts() == [("DONE", 2), ("new", 1)]
    assert [(each.value, each.documents) for each in library.field_values("status").values] == [
        *[("DONE", 2), ("Draft", 1), ("new", 1)]
    ]
    library.remove_collection("other")
    library.cleanup()
    assert counts() == [("DONE", 2), ("new", 1)]
    assert {each.level for each in library.doctor() if each.check == "index"} == {"ok"}


def test_facets_count_all_matching_documents(library: qmd.Index) -> None:
    response = library.search("heron", limit=1, facets=["tag", "ext", "nothing"])
    assert {
        name: [(each.value, each.documents) for each in values] for name, values in response.facets.items()
    } == {
        "tag": [("finance", 2), ("work/planning", 1)],
        "ext": [("md", 4)],
        "nothing": [],
    }


def test_links_resolve_by_path_name_and_alias(library: qmd.Index) -> None:
    assert [(link.target, link.to) for link in library.links("plan.md")] == [
        ("Budget", "notes/money/budget.md")
    ]
    assert [(link.file, link.line) for link in library.backlinks("plan.md")] == [
        ("notes/loose.md", 3),
        ("notes/money/old.md", 7),
    ]
    assert [link.target for link in library.unresolved_links()] == ["Nowhere", "none.md"]
    assert library.orphans() == ["notes/loose.md", "notes/money/old.md"]


def test_links_follow_moved_files(library: qmd.Index, tmp_path: Path) -> None:
    (tmp_path / "notes" / "money" / "budget.md").rename(tmp_path / "notes" / "Budget.md")
    library.update()
    assert [link.to for link in library.links("plan.md")] == ["notes/Budget.md"]
    (tmp_path / "notes" / "Budget.md").unlink()
    library.update()
    assert [link.to for link in library.links("plan.md")] == [None]


def test_get_reads_a_section_by_its_heading(library: qmd.Index) -> None:
    assert library.get("plan.md#risks").text == "## Risks\n\nNone.\n\n### Floods\n\nWater."
    for address in ("plan.md#Floods", "notes/plan.md#Risks/Floods", "plan.md#Plan#Floods"):
        assert library.get(address).text.startswith("### Floods")
    with pytest.raises(qmd.UsageError, match="no section 'Flood'"):
        library.get("plan.md#Flood")
    document, sections = library.outline("plan.md")
    assert (document.path, [each.heading for each in sections]) == ("plan.md", ["Plan", "Risks", "Floods"])


def test_hit_names_its_section(library: qmd.Index) -> None:
    assert library.search("water").hits[0].section == "Plan > Risks > Floods"


def test_restricted_index_knows_only_fields_of_its_collections(library: qmd.Index, notes: Notes) -> None:
    library.add_collection(
        str(notes({"a.md": "---\nsecret: x\nstatus: Draft\n---\nheron\n"}, "other")), "other"
    )
    own = library.limited(["notes"])
    assert "secret" not in {each.summary.name for each in own.fields()}
    assert own.field_values("status").summary.documents == 3
    with pytest.raises(qmd.UsageError) as error:
        own.search("heron", where="secert")
    assert "secret" not in (error.value.hint or "")
    for query, reason in {
        "heron [secert:x]": "read as text: [secert:x], because no document has the field 'secert'",
        "heron [secret:x]": "read as text: [secret:x], because no document has the field 'secret'",
        "heron [secret]": "read as text: [secret], because no document has the field 'secret'",
    }.items():
        assert [each.reason for each in own.search(query).stages if each.stage == "filter"] == [reason]


def test_operator_refuses_an_invalid_operand(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add_collection(str(notes({"a.md": "---\nstatus: draft\n---\npelicans\n"})), "n")
    monkeypatch.setitem(
        cast("Any", predicates.PATTERNS), "suffix", lambda text, end: bool(re.search(f"{end}$", text))
    )
    given = {"field": "status", "operator": "suffix", "value": "a.t"}
    assert index.search("pelicans", filter=given).hits
    for field in ("status", "nothing"):
        with pytest.raises(qmd.UsageError, match=rf"invalid value for suffix of {field}: \(\(: missing \)"):
            index.search("pelicans", filter={**given, "field": field, "value": "(("})


@pytest.mark.parametrize(
    ("query", "options", "expected"),
    [
        ("heron ext:md", {}, {"a.md", "upper.MD"}),
        ("heron ext:.TXT,md", {}, {"a.md", "upper.MD", "b.txt"}),
        ("heron -ext:md,txt", {}, {"c.markdown"}),
        ("heron", {"ext": "*.txt"}, {"b.txt"}),
        ("heron", {"ext": ["txt", ".markdown"]}, {"b.txt", "c.markdown"}),
        ("heron", {"ext": "md,txt", "path": "b"}, {"b.txt"}),
    ],
)
def test_suffixes_of_files_are_alternatives_of_one_filter(
    index: qmd.Index, notes: Notes, query: str, options: dict[str, Any], expected: set[str]
) -> None:
    files = dict.fromkeys(("a.md", "upper.MD", "b.txt", "c.markdown"), "A heron.\n")
    index.add_collection(str(notes(files)), "notes", pattern="**/*")
    assert {hit.path for hit in index.search(query, **options).hits} == expected
    with pytest.raises(
        qmd.errors.UsageError, match="ext must be a suffix such as md, or several with commas between"
    ):
        index.search("heron", ext=", .")

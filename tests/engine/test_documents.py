"""Fetching documents by path, docid, address, title and link, whole or by lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import qmd
from tests.conftest import Notes


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    numbered = "".join(f"line {n}\n" for n in range(1, 101))
    folder = notes(
        {
            "TAX.md": "tax",
            "SYNTAX.md": "syntax",
            "facade": "no ending",
            "deep/readme.md": numbered,
            "other/readme.md": "another",
            "colon:12.md": "named with a colon",
            "at:7": "ends like a line",
            "comma, name.md": "a comma",
            "big.md": "x" * 20_000,
        }
    )
    index.add_collection(str(folder), "notes", pattern="**/*")
    return index


def test_get_matches_the_end_of_a_path_only_at_a_slash(library: qmd.Index) -> None:
    assert library.get("TAX.md").text == "tax"
    assert library.get("deep/readme.md").document.path == "deep/readme.md"


def test_get_of_an_ambiguous_name_lists_the_candidates(library: qmd.Index) -> None:
    with pytest.raises(qmd.AmbiguousReferenceError) as caught:
        library.get("readme.md")
    assert caught.value.candidates == ("notes/deep/readme.md", "notes/other/readme.md")


def test_get_takes_lines_from_the_reference_or_the_arguments(library: qmd.Index) -> None:
    page = library.get("deep/readme.md", from_line=20, max_lines=3)
    assert (page.text, page.first_line, page.more) == ("line 20\nline 21\nline 22", 20, 78)
    assert library.get("deep/readme.md:99").text == "line 99\nline 100"
    assert library.get("deep/readme.md:5:2", from_line=50).text == "line 5\nline 6"


def test_get_refuses_a_line_past_the_end(library: qmd.Index) -> None:
    with pytest.raises(qmd.UsageError, match="100 lines"):
        library.get("deep/readme.md:101")


def test_get_prefers_an_exact_name_to_other_readings(library: qmd.Index) -> None:
    assert library.get("facade").text == "no ending"
    assert library.get("colon:12.md").text == "named with a colon"
    assert library.get("notes/at:7").text == "ends like a line"
    assert library.multi_get("comma, name.md").items[0].document.path == "comma, name.md"


def test_get_takes_a_docid_an_address_and_an_absolute_path(library: qmd.Index) -> None:
    page = library.get("TAX.md")
    root = library.config.collections["notes"].path
    for reference in (page.document.docid, page.document.hash[:8], "qmd://notes/TAX.md", f"{root}/TAX.md"):
        assert library.get(reference).document.path == "TAX.md"
    assert library.get("qmd://notes/comma%2C%20name.md").text == "a comma"


def test_get_takes_a_docid_in_quotes(library: qmd.Index) -> None:
    docid = library.get("TAX.md").document.docid
    for reference in (f'"{docid}"', f"'{docid}'", f'"{docid[1:]}"', f'"{docid}":1'):
        assert library.get(reference).document.path == "TAX.md"
    with pytest.raises(qmd.DocumentNotFoundError):
        library.get(f"\"{docid}'")


def test_get_takes_a_path_in_another_case_and_a_title(library: qmd.Index, notes: Notes) -> None:
    notes(
        {
            "ROADMAP.md": "# Where we go",
            "plans/Next.md": "# Roadmap",
            "École.md": "# x",
            "a/twice.md": "# Two",
        }
    )
    notes({"a/twice.md": "# Two", "b/Twice.md": "# two"})
    library.update()
    for reference, path in {
        "roadmap.md": "ROADMAP.md",
        "NOTES/Roadmap.md": "ROADMAP.md",
        "Roadmap": "plans/Next.md",
        "roadmap": "plans/Next.md",
        "where we go": "ROADMAP.md",
        "where we go:1": "ROADMAP.md",
        "PLANS/next.md": "plans/Next.md",
        "e\u0301cole.md": "École.md",
        "twice.md": "a/twice.md",
    }.items():
        assert library.get(reference).document.path == path, reference
    for reference in ("TWICE.md", "Two"):
        with pytest.raises(qmd.AmbiguousReferenceError) as caught:
            library.get(reference)
        assert caught.value.candidates == ("notes/a/twice.md", "notes/b/Twice.md")
    for reference in ("road", "oadmap.md", "s/next.md"):
        with pytest.raises(qmd.DocumentNotFoundError):
            library.get(reference)
    pages = library.multi_get("roadmap.md, Roadmap, nothing")
    assert [item.document.path for item in pages.items] == ["ROADMAP.md", "plans/Next.md"]
    assert pages.errors == ("Document not found: nothing",)


@pytest.mark.parametrize(
    "reference", ["../../etc/passwd", "/etc/passwd", "qmd://../../etc/passwd", "a\x00b", "%2e%2e"]
)
def test_get_reads_nothing_outside_the_collections(library: qmd.Index, reference: str) -> None:
    with pytest.raises(qmd.DocumentNotFoundError):
        library.get(reference)


def test_get_suggests_only_similar_names(library: qmd.Index) -> None:
    with pytest.raises(qmd.DocumentNotFoundError) as caught:
        library.get("notes/SYNTX.md")
    assert "notes/SYNTAX.md" in caught.value.suggestions
    with pytest.raises(qmd.DocumentNotFoundError) as caught:
        library.get("notes/SYNTX#A heading of some length")
    assert "notes/SYNTAX.md" in caught.value.suggestions
    # A common folder and suffix alone do not make names similar.
    for reference in ("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq", "notes/nosuch.md", "notes/deep/zzz.md"):
        with pytest.raises(qmd.DocumentNotFoundError) as caught:
            library.get(reference)
        assert caught.value.suggestions == ()


def test_get_suggests_names_in_similar_folders_first(library: qmd.Index) -> None:
    with pytest.raises(qmd.DocumentNotFoundError) as caught:
        library.get("othr/raedme.md")
    assert caught.value.suggestions[:2] == ("notes/other/readme.md", "notes/deep/readme.md")


def test_get_finds_a_document_by_a_link_to_it(index: qmd.Index, notes: Notes, tmp_path: Path) -> None:
    folder = notes({"work/x.md": "# X\n"})
    (folder / "worklink").symlink_to("work")
    (folder / "y.md").symlink_to("work/x.md")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "z.md").write_text("# Z\n", encoding="utf-8")
    (folder / "out").symlink_to(outside)
    index.add_collection(str(folder), "notes")
    assert [document.file for document in index.documents()] == ["notes/work/x.md"]
    for reference in ("notes/worklink/x.md", "worklink/x.md", f"{folder}/worklink/x.md", "qmd://notes/y.md"):
        assert index.get(reference).document.file == "notes/work/x.md"
    with pytest.raises(qmd.DocumentNotFoundError):
        index.get("notes/out/z.md")


def test_multi_get_matches_globs_with_and_without_the_collection(library: qmd.Index) -> None:
    for pattern in ("notes/**/readme.md", "{deep,other}/readme.md"):
        pages = library.multi_get(pattern)
        assert [item.document.path for item in pages.items] == ["deep/readme.md", "other/readme.md"]


def test_multi_get_reports_missing_names_and_skips_large_documents(library: qmd.Index) -> None:
    pages = library.multi_get("TAX.md, nope.md, big.md, readme.md")
    assert [item.document.path for item in pages.items] == ["TAX.md", "big.md"]
    assert isinstance(pages.items[1], qmd.Skipped)
    assert pages.errors[0] == "Document not found: nope.md"
    assert "could be any of" in pages.errors[1]


def test_multi_get_list_takes_globs_and_names_with_brackets(library: qmd.Index, notes: Notes) -> None:
    notes({"[x] done.md": "brackets"})
    library.update()
    pages = library.multi_get("TAX.md, [x] done.md, deep/*.md")
    assert [item.document.path for item in pages.items] == ["TAX.md", "[x] done.md", "deep/readme.md"]


def test_multi_get_without_matches_is_an_error(library: qmd.Index) -> None:
    with pytest.raises(qmd.DocumentNotFoundError):
        library.multi_get("*.rst")


def test_recent_returns_the_last_changed_documents(index: qmd.Index, notes: Notes) -> None:
    folder = notes({f"{number}.md": f"# Note {number}\n" for number in range(5)})
    for number in range(5):
        os.utime(folder / f"{number}.md", (1_700_000_000 + number, 1_700_000_000 + number))
    index.add_collection(str(folder))
    assert [document.path for document in index.recent(2)] == ["4.md", "3.md"]
    assert [document.path for document in index.limited(["notes"]).recent(1)] == ["4.md"]


def test_recent_goes_by_dates_if_all_files_were_written_at_once(index: qmd.Index, notes: Notes) -> None:
    years = {"a": 2021, "b": 2023, "c": 2022, "d": 2090}
    folder = notes({f"{name}.md": f"---\ndate: {year}-05-01\n---\n{name}\n" for name, year in years.items()})
    for name in years:
        os.utime(folder / f"{name}.md", (1_700_000_000, 1_700_000_000))
    index.add_collection(str(folder))
    # A date in the future is none of a change.
    assert [document.path for document in index.recent(3)] == ["b.md", "c.md", "a.md"]


def test_fields_of_leaves_out_missing_documents(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "---\ntags: [x, y]\nrank: 2\n---\n\nText.\n"})))
    found = index.fields_of(["notes/a.md", "notes/none.md"])
    assert [*found] == ["notes/a.md"]
    assert (found["notes/a.md"]["tag"], found["notes/a.md"]["rank"]) == (("x", "y"), (2.0,))


def test_set_pattern_applies_at_the_next_update(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "# A\n", "b.txt": "B\n"})))
    index.set_pattern("notes", "**/*.{md,txt}")
    index.update()
    assert [document.path for document in index.documents()] == ["a.md", "b.txt"]
    for wrong in ("", "  "):
        with pytest.raises(qmd.UsageError):
            index.set_pattern("notes", wrong)
    assert index.collection("notes").pattern == "**/*.{md,txt}"

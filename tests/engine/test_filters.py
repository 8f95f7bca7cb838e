"""Authors and dates, from files to the searches that filter by them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import qmd
from qmd.engine.requests import SearchRequest, make_request
from qmd.types import TypedSearch
from tests.conftest import Notes

pytestmark = pytest.mark.slow

ANN = "---\nauthor: Ann Bee\ndate: 2024-05-01\n---\n\n# Herons\n\nThe heron stands in the water.\n"
FILES = {
    "birds/heron.md": ANN,
    "birds/copy.md": ANN.replace("Ann Bee", "ANN BEE").replace("2024-05-01", "2025-01-01"),
    "journal/2024-06-30.md": "# Journal\n\nA heron in the garden.\n",
    "林中/motions/2022-06-01_07_00_00_鹭.md": "# 鹭\n\nheron 站在水里。\n",
    "林中/album/undated.md": "# Old\n\nA heron without a date of its own.\n",
    "about.md": "# About\n\nNo bird is here.\n",
}
DAY = 86_400


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    folder = notes(FILES)
    for name in FILES:
        os.utime(folder / name, (10 * DAY, 10 * DAY))
    index.add_collection(str(folder), "notes")
    return index


def paths(response: qmd.SearchResponse) -> set[str]:
    return {hit.path for hit in response.hits}


def test_documents_have_author_and_date(library: qmd.Index) -> None:
    assert {each.path: (each.author, each.date) for each in library.documents()} == {
        "birds/heron.md": ("Ann Bee", "2024-05-01T00:00:00"),
        "birds/copy.md": ("ANN BEE", "2025-01-01T00:00:00"),
        "journal/2024-06-30.md": ("", "2024-06-30T00:00:00"),
        "林中/motions/2022-06-01_07_00_00_鹭.md": ("林中", "2022-06-01T07:00:00"),
        "林中/album/undated.md": ("林中", "1970-01-11T00:00:00"),
        "about.md": ("", "1970-01-11T00:00:00"),
    }


def test_authors_have_counts_and_dates_of_their_documents(library: qmd.Index, notes: Notes) -> None:
    both = [
        qmd.Author("ANN BEE", 2, "2024-05-01T00:00:00", "2025-01-01T00:00:00"),
        qmd.Author("林中", 2, "1970-01-11T00:00:00", "2022-06-01T07:00:00"),
    ]
    assert library.authors() == both
    library.add_collection(str(notes({"a.md": "---\nauthor: Eve\n---\nheron\n"}, "other")), "other")
    assert library.authors(["notes"]) == both
    assert [each.name for each in library.authors()] == ["ANN BEE", "Eve", "林中"]
    assert [each.name for each in library.limited(["other"]).authors()] == ["Eve"]
    with pytest.raises(qmd.CollectionNotFoundError):
        library.limited(["other"]).authors(["notes"])
    library.include_collection("other", False)
    assert library.authors() == both


ANNS = {"birds/heron.md", "birds/copy.md"}
FILTERED = [
    ("heron author:林中", {}, {"林中/motions/2022-06-01_07_00_00_鹭.md", "林中/album/undated.md"}),
    ("heron", {"author": "ann bee"}, ANNS),
    ('author:"Ann Bee" heron', {"before": "2025"}, {"birds/heron.md"}),
    ("heron after:2024-06", {}, {"birds/copy.md", "journal/2024-06-30.md"}),
    ("heron after:2024-06-30 before:2024-07", {}, {"journal/2024-06-30.md"}),
    ("heron before:2024-06-30", {"after": "2022-06-01T07:00:01"}, {"birds/heron.md"}),
    ("heron author:林中", {"author": "林中", "after": "2022"}, {"林中/motions/2022-06-01_07_00_00_鹭.md"}),
    ("heron author:Eve", {"author": "林中"}, set()),
    ("heron author:Eve", {}, set()),
    ("heron author:ann", {}, ANNS),
    (
        "heron -author:BEE",
        {"author": "林中"},
        {"林中/motions/2022-06-01_07_00_00_鹭.md", "林中/album/undated.md"},
    ),
    ("heron", {"author": "bee"}, ANNS),
    ("heron", {"filter": {"field": "author", "operator": "contains", "value": "ann"}}, ANNS),
    ("heron author:an", {}, set()),
    ('heron author:"Ann"', {}, set()),
    ("heron", {"author": '"ann"'}, set()),
    ("heron", {"author": "Ann B"}, set()),
    ("heron", {"filter": {"field": "author", "operator": "eq", "value": "ann"}}, set()),
]


@pytest.mark.parametrize(("text", "fields", "expected"), FILTERED)
def test_search_applies_author_and_date_filters(
    library: qmd.Index, text: str, fields: dict[str, Any], expected: set[str]
) -> None:
    assert paths(library.search(text, limit=None, **fields)) == expected


@pytest.mark.parametrize(("text", "fields", "expected"), FILTERED)
def test_vsearch_and_query_apply_author_and_date_filters(
    library: qmd.Index, text: str, fields: dict[str, Any], expected: set[str]
) -> None:
    library.embed()
    for response in (
        library.vsearch(text, limit=None, min_score=0.0, **fields),
        library.query(text, limit=None, **fields),
    ):
        assert paths(response) == expected
        assert response.query == text


def test_typed_filters_are_removed_from_the_embedded_query(library: qmd.Index) -> None:
    library.embed()
    plain = library.vsearch("a bird in the water", author="Ann Bee", limit=None, min_score=0.0)
    typed = library.vsearch('a bird author:"Ann Bee" in the water', limit=None, min_score=0.0)
    assert typed.hits == plain.hits
    plain = library.query("a bird in the water", author="Ann Bee", limit=None)
    typed = library.query('a bird author:"Ann Bee" in the water', limit=None)
    assert typed.hits == plain.hits


def test_filters_of_a_lexical_line_apply_to_the_whole_query_document(library: qmd.Index) -> None:
    library.embed()
    text = "lex: heron author:林中 after:2020\nvec: a bird in the water"
    assert paths(library.query(text)) == {"林中/motions/2022-06-01_07_00_00_鹭.md"}
    searches = [TypedSearch("vec", "a bird in the water"), TypedSearch("lex", "author:林中 after:2020")]
    assert paths(library.query(searches=searches)) == {"林中/motions/2022-06-01_07_00_00_鹭.md"}
    # In a vector line they are words of the question.
    assert len(paths(library.query("lex: heron\nvec: author:林中"))) > 2


@pytest.mark.parametrize("kind", ["search", "vsearch", "query"])
def test_filters_without_words_list_the_newest_documents_first(library: qmd.Index, kind: str) -> None:
    for text in ("author:林中 after:1970", *(["lex: author:林中"] if kind == "query" else [])):
        response = library.run(kind, SearchRequest(text))
        assert [hit.path.rpartition("/")[2] for hit in response.hits] == [
            "2022-06-01_07_00_00_鹭.md",
            "undated.md",
        ]
        assert {hit.score for hit in response.hits} == {1.0}
        assert [each.stage for each in response.stages] == ["filter"]
        assert "newest first" in (response.stages[0].reason or "")


@pytest.mark.parametrize("kind", ["search", "vsearch", "query"])
@pytest.mark.parametrize("fields", [{"after": "nonsense"}, {"before": "2024-13"}, {"author": " "}], ids=str)
def test_invalid_author_or_date_filter_is_an_error_that_names_it(
    library: qmd.Index, kind: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(qmd.UsageError, match=next(iter(fields))):
        getattr(library, kind)("heron", **fields)


def test_why_names_the_filter_that_excludes_a_document(library: qmd.Index) -> None:
    def reason(text: str, path: str = "birds/heron.md", **fields: str) -> str:
        found = library.why(path, "search", make_request("search", text, fields))
        assert found.verdict == "not_searched"
        return found.reason

    assert reason("heron author:Eve") == 'it does not pass the filter author:Eve: its author is "Ann Bee"'
    assert reason("bird", "about.md", author="Eve") == (
        "it does not pass the filter author:Eve: it has no author"
    )
    assert reason("heron", after="2024-06") == (
        "it does not pass the filter after:2024-06: its date is 2024-05-01T00:00:00"
    )
    assert reason("heron -tag:x before:2024-05") == (
        "it does not pass the filter before:2024-05: its date is 2024-05-01T00:00:00"
    )
    request = make_request("query", "heron author:'ann bee'".replace("'", '"'), {"author": "ann bee"})
    shown = library.why("birds/heron.md", "query", request)
    assert shown.verdict == "shown"
    # The parts of a hybrid search have the same filters.
    assert {(item.query, item.total) for item in shown.standings} == {
        ("heron", 2),
        ('heron author:"ann bee"', 2),
    }


def test_update_notices_a_changed_author_or_date(library: qmd.Index, tmp_path: Path) -> None:
    file = tmp_path / "notes" / "about.md"
    os.utime(file, (20 * DAY, 20 * DAY))
    (report,) = library.update()
    assert (report.updated, report.unchanged) == (0, len(FILES))
    assert library.get("about.md").document.date == "1970-01-21T00:00:00"
    file.write_text("---\nauthor: Eve\n---\n\n# About\n", encoding="utf-8")
    library.update()
    assert [hit.path for hit in library.search("about author:eve").hits] == ["about.md"]


def test_new_author_folder_gives_its_files_their_author(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"Ann/album/heron.md": "# Heron\n", "Bob/album/heron.md": "# Heron of Bob\n"})
    index.add_collection(str(folder), "notes")
    assert index.authors() == []
    post = folder / "Ann" / "motions" / "first.md"
    post.parent.mkdir()
    post.write_text("# First\n", encoding="utf-8")
    (report,) = index.update()
    assert (report.added, report.updated, report.unchanged) == (1, 0, 2)
    assert paths(index.search("heron author:ann")) == {"Ann/album/heron.md"}
    post.unlink()
    index.update()
    assert index.authors() == []

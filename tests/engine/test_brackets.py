"""Brackets in a query: conditions on fields, and texts that look like one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

import qmd
from qmd.engine.requests import SearchRequest
from qmd.features.page import search as page
from qmd.text import filters, question
from qmd.types import TypedSearch
from tests.conftest import Notes

FILES = {
    "plan.md": "---\nstatus: draft\npriority: 2\n---\n# Plan\n\nThe heron waits. [word] array[0] error\n",
    "done.md": "---\nstatus: done\nreviewed: yes\n---\n# Done\n\nThe heron has left.\n",
    "page.md": "# Page\n\nThe title of the page names a heron. [ ] call [x] write status draft\n",
}
ALL = set(FILES)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qmd.Index]:
    """An index that the tests only read."""
    folder = tmp_path_factory.mktemp("brackets")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with qmd.open_index(folder / "index.sqlite", environ={"HOME": str(folder)}) as index:
        index.add_collection(str(folder), "notes")
        yield index


def paths(response: qmd.SearchResponse) -> set[str]:
    return {hit.path for hit in response.hits}


def told(response: qmd.SearchResponse, *, notable: bool = True) -> list[str]:
    stages = [stage for stage in response.stages if "as text" in (stage.reason or "")]
    return [stage.reason or "" for stage in stages if stage.notable or not notable]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("heron [status:draft]", {"plan.md"}),
        ("heron -[status:draft]", {"done.md", "page.md"}),
        ("heron [reviewed:*]", {"done.md"}),
        ("heron -[reviewed:*]", {"plan.md", "page.md"}),
        ("[reviewed]", {"done.md"}),
        ("[status] -[reviewed]", {"plan.md"}),
        ("[status] ext:md [priority>=2]", {"plan.md"}),
        ("heron [title~pla]", {"plan.md"}),
    ],
)
def test_brackets_filter_with_an_operator_or_beside_filters(
    library: qmd.Index, query: str, expected: set[str]
) -> None:
    response = library.search(query)
    assert (paths(response), told(response, notable=False)) == (expected, [])


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("[title] of the page", "[title]. A filter among words needs a value: [title:*]"),
        ("heron -[status]", "-[status]. A filter among words needs a value: -[status:*]"),
        ("[Status] [statsu]", "[Status]. A filter among words needs a value: [status:*]"),
        (
            "heron [statsu:draft]",
            "[statsu:draft], because no document has the field 'statsu'. Did you mean [status:draft]?",
        ),
        (
            "heron -[Priorty>=2]",
            "-[Priorty>=2], because no document has the field 'priorty'. Did you mean -[priority>=2]?",
        ),
        ("[revewed]", "[revewed], because no document has the field 'revewed'. Did you mean [reviewed]?"),
        ("heron [level: error]", "[level: error], because no document has the field 'level'"),
    ],
)
def test_stage_says_which_brackets_are_text_and_how_to_filter(
    library: qmd.Index, query: str, reason: str
) -> None:
    response = library.search(query)
    assert told(response)[0] == f"read as text: {reason}"
    assert "page.md" in paths(response) or "heron" not in query


@pytest.mark.parametrize("query", ["[statsu:drafft]", "heron [statsu:drafft]", "[priorrity>=2] [statsu:x]"])
def test_words_in_brackets_are_told_of_once(library: qmd.Index, query: str) -> None:
    stages = library.search(query).stages
    assert [stage.stage for stage in stages if stage.stage == "spelling"] == []
    assert [stage.stage for stage in stages].count("filter") == query.count("[")


@pytest.mark.parametrize("query", ["find the [word] heron", "- [x] write", "heron [a-z]", "-[word] heron"])
def test_word_in_brackets_of_a_text_needs_no_notice(library: qmd.Index, query: str) -> None:
    response = library.search(query)
    assert response.hits
    assert told(response) == []
    (reason,) = told(response, notable=False)
    assert "because no document has the field" in reason


@pytest.mark.parametrize(
    "query",
    [
        *(
            "heron [ ]",
            "[[plan]] heron",
            "[heron](https://example.org)",
            "array[0]",
            "heron[12]",
            "[12] heron",
        ),
        *(
            "[a-z]+ heron",
            "heron #tag",
            "【status:draft】 heron",
            '"[status:draft]" heron',
            "“[status]” heron",
        ),
        *("heron [status:]", "heron []", "heron ]status[", "[10:30] heron", "![heron](a.png)"),
    ],
)
def test_brackets_of_another_form_are_text(library: qmd.Index, query: str) -> None:
    response = library.search(query)
    assert response.hits
    assert told(response, notable=False) == []


def test_words_in_brackets_are_searched(library: qmd.Index) -> None:
    assert [hit.path for hit in library.search("[word] [nothing:error]").hits] == ["plan.md"]
    assert paths(library.search("[word]")) == {"plan.md"}


def test_pasted_text_with_many_brackets_gets_few_notices(library: qmd.Index) -> None:
    query = " ".join(f"[key{number}:value]" for number in range(500)) + " heron"
    assert len(told(library.search(query))) == 3


def test_brackets_of_typed_searches(library: qmd.Index) -> None:
    library.embed()
    assert paths(library.query("heron [title]", rerank=False)) == ALL
    assert paths(library.vsearch("[nothing:1] heron", min_score=0.0)) == ALL
    searches = [TypedSearch("lex", "[status:draft]"), TypedSearch("vec", "[status] of a heron")]
    assert paths(library.query("", searches=searches)) == {"plan.md"}
    (reason,) = told(library.query("lex: heron [statsu:draft]\nvec: a heron"))
    assert reason.endswith("Did you mean [status:draft]?")


def test_field_of_another_collection_exists(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(FILES)), "notes")
    index.add_collection(str(notes({"a.md": "# A\n\nheron\n"}, "other")), "other")
    response = index.search("heron [status:draft]", collections=["other"])
    assert [stage.reason for stage in response.stages] == [
        None,
        "No document passes the filter [status:draft].",
    ]
    assert paths(index.search("heron [status:draft]")) == {"plan.md"}


def test_field_exists_as_long_as_a_document_has_it(index: qmd.Index, notes: Notes) -> None:
    folder = notes(FILES)
    index.add_collection(str(folder), "notes")
    (folder / "done.md").unlink()
    index.update()
    assert told(index.search("heron [reviewed:*]"))


def test_why_reads_brackets_like_the_search(library: qmd.Index) -> None:
    why = library.why("done.md", "search", SearchRequest("heron [statsu:done]"))
    assert (why.verdict, len(why.stages)) == ("shown", 1)
    left_out = library.why("done.md", "search", SearchRequest("heron [status:draft]"))
    assert left_out.reason == "it does not pass the filter [status:draft]: its status is done"


BRACKETS = st.from_regex(r"-?\[[a-z ]{0,6}([:=<>~]|!=|>=)?[a-z*\d\",]{0,4}\]", fullmatch=True)
WORDS = st.sampled_from(["heron", "tag:x", "status", "-ext:md", '"', "[status:draft]", "[reviewed]", "[a]"])
QUERIES = st.lists(BRACKETS | WORDS | st.text(max_size=8), max_size=6).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(query=QUERIES)
@example(query="[word]")
@example(query="[statsu:draft] -[nope]")
def test_no_query_is_refused_for_its_fields(library: qmd.Index, query: str) -> None:
    try:
        library.search(query)
    except qmd.QmdError as error:
        assert "field" not in str(error)


@pytest.mark.parametrize(
    "query", ["heron [status:draft]", "heron [call:x] array [word]", "heron -title:page"]
)
def test_query_is_read_once_for_search_and_pins_and_once_for_the_page(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    index.add_collection(str(notes(FILES)), "notes")
    index.pin("heron", "notes/page.md")
    index.search("heron")  # what is stored was read before
    read: Counter[str] = Counter()
    for module, name in ((filters, "scan"), (question, "parse")):
        original = getattr(module, name)

        def counted(text: str, name: str = name, original: Callable[[str], Any] = original) -> Any:
            read[name] += 1
            return original(text)

        monkeypatch.setattr(module, name, counted)
    index.search(query)
    # Pins are of words alone: with brackets that are text they have other words than the search.
    searched = {"scan": 1, "parse": 1 + ("call" in query)}
    assert read == searched
    page.run(index, page.Wishes(query), lambda: False, facets=True)
    assert read == {name: 2 * count + 1 for name, count in searched.items()}

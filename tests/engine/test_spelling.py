"""Words in one or two, and words that no document has: what they may mean is told, and searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

import qmd
from qmd.text.spelling import edits, edits_twice
from tests.conftest import Notes

FILES = {
    "boxes.md": "# Callouts\n\nA callout is a box. The front matter. Kubernetes deployment, turn-key.\n",
    "post.md": "Send an e-mail to the databases server, find accommodation in Österreich and a pot.\n",
    "joined.md": "frontmatter only, email, turnkey, backup\n",
    "access.md": "the database logs in\n\npostgres://bob:grapplewood@host/db\n",
    "cafe.md": "Кофейня работает. Straßenbahn fährt. 数据库备份\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qmd.Index]:
    """An index that the tests only read."""
    folder = tmp_path_factory.mktemp("spelling")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "other").mkdir()
    (folder / "other" / "hidden.md").write_text("grommet and mrs. zylophant\n")
    with qmd.open_index(folder / "index.sqlite", environ={"HOME": str(folder)}) as index:
        index.add_collection(str(folder), "notes", ignore=["other/**"])
        index.add_collection(str(folder / "other"), "other")
        yield index


def paths(response: qmd.SearchResponse) -> list[str]:
    return sorted(hit.path for hit in response.hits)


def told(response: qmd.SearchResponse) -> Sequence[str | None]:
    return [stage.reason for stage in response.stages if stage.stage == "spelling"]


@pytest.mark.parametrize(
    ("queries", "found"),
    [
        ("front matter,frontmatter,front-matter", ["boxes.md", "joined.md"]),
        ("e-mail,email,e mail", ["joined.md", "post.md"]),
        ("turn key,turnkey,turn-key", ["boxes.md", "joined.md"]),
        ("back up,backup", ["joined.md"]),
        ("data base,database", ["access.md", "post.md"]),
    ],
)
def test_words_are_found_in_one_word_or_two(library: qmd.Index, queries: str, found: list[str]) -> None:
    for query in queries.split(","):
        response = library.search(query)
        assert (paths(response), told(response)) == (found, []), query


def test_word_as_it_was_typed_is_before_its_other_form(index: qmd.Index, notes: Notes) -> None:
    files = {
        "one.md": "Our roadtrip along the coast went well.\n",
        "two.md": "A road trip is a trip on a road. The road trip was long. Road trip songs.\n",
        "three.md": "A road trip is planned, and a tocopheryl cream.\n",
        "oil.md": "Tocopherol is in oil.\n",
    }
    index.add_collection(str(notes(files)), "notes")
    assert [hit.path for hit in index.search("roadtrip").hits] == ["one.md", "two.md", "three.md"]
    assert "road trip" in index.search("roadtrip").hits[2].snippet.text
    response = index.search("tocopheryl")
    assert ([hit.path for hit in response.hits], told(response)) == (["three.md"], [])


def test_words_in_one_that_are_everywhere_do_not_count_as_a_rare_word(index: qmd.Index, notes: Notes) -> None:
    files = {f"{number}.md": f"The setup of part {number}, and its pins.\n" for number in range(40)}
    long = "A set of pins, and some more of what there is to tell about them.\n"
    files |= {"rare.md": long, "up.md": "The up pin of it.\n"}
    index.add_collection(str(notes(files)), "notes")
    first, second = index.search("set up", limit=2).hits
    assert (first.path, first.score > 3 * second.score) == ("rare.md", True)


@pytest.mark.parametrize(
    ("word", "meant", "path"),
    [
        ("calout", "callout", "boxes.md"),
        ("kuberntes", "Kubernetes", "boxes.md"),
        ("deploymnet", "deployment", "boxes.md"),
        ("acomodation", "accommodation", "post.md"),
        ("Osterriech", "Österreich", "post.md"),
        ("кофийня", "Кофейня", "cafe.md"),
        ("strassenbahm", "Straßenbahn", "cafe.md"),
    ],
)
def test_word_that_no_document_has_is_told_and_what_it_may_mean_searched(
    library: qmd.Index, word: str, meant: str, path: str
) -> None:
    response = library.search(word)
    assert paths(response) == [path]
    assert told(response) == [f'No document has "{word}": searched for "{meant}"']
    (hit,) = response.hits
    assert meant.lower() in hit.snippet.text.lower()


def test_repeated_word_is_corrected_once_and_everywhere(library: qmd.Index) -> None:
    response = library.search(" ".join(["grapplewod"] * 5 + ["kubernetse"] * 300))
    assert told(response) == [
        'No document has "grapplewod" or "kubernetse": searched for "grapplewood" and "Kubernetes"'
    ]
    assert paths(response) == ["access.md", "boxes.md"]


def test_word_is_only_told_if_something_else_is_found(library: qmd.Index) -> None:
    response = library.search("calout server")
    assert paths(response) == ["post.md"]
    assert told(response) == ['No document has "calout": did you mean "callout"?']


@pytest.mark.parametrize(
    "query", ['"calout"', "calout*", "calout7", "-calout box", "poe", "数据厍", "xyzzyq"]
)
def test_quoted_words_beginnings_and_codes_are_not_corrected(library: qmd.Index, query: str) -> None:
    assert told(library.search(query)) == []


def test_restricted_index_learns_nothing_of_words_that_it_may_not_see(library: qmd.Index) -> None:
    assert told(library.search("gromet")) == ['No document has "gromet": searched for "grommet"']
    for hidden in (
        library.limited(collections=["notes"]),
        library.limited(collections=["notes"], agent=True),
    ):
        for query in ("gromet", "grommet", "zylophent"):
            response = hidden.search(query)
            assert (paths(response), told(response)) == ([], [])
        assert told(hidden.search("calout")) == ['No document has "calout": searched for "callout"']


def test_agent_is_told_no_word_of_a_secret(library: qmd.Index) -> None:
    assert told(library.search("graplewood")) == ['No document has "graplewood": searched for "grapplewood"']
    response = library.limited(agent=True).search("graplewood")
    assert (paths(response), told(response)) == ([], [])


def test_word_is_searched_in_hybrid_search_too(library: qmd.Index) -> None:
    typed = [qmd.TypedSearch("lex", "calout"), qmd.TypedSearch("lex", "pot")]
    for response in (library.query("calout", rerank=False), library.query(searches=typed, rerank=False)):
        assert "boxes.md" in paths(response)
        assert told(response) == ['No document has "calout": searched for "callout"']


def test_edits_are_few_and_other_words() -> None:
    for word in ("callout", "a" * 24, "кофе"):
        for found, most in ((edits(word), 6_000), (edits_twice(word), 1_500)):
            assert word not in found
            assert len(found) <= most

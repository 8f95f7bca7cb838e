"""States of documents: old ones say so, and come below what replaces them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import qmd
from tests.conftest import Notes

Add = Callable[..., qmd.Index]
HERON = "The heron stands in the water.\n"
MANY = "heron heron heron heron\n"


def front(text: str, body: str = HERON) -> str:
    return f"---\n{text}\n---\n# Heron\n\n{body}"


@pytest.fixture
def found(index: qmd.Index, notes: Notes) -> Add:
    """Return a function that indexes files and returns the index."""

    def add(files: dict[str, str], name: str = "notes") -> qmd.Index:
        index.add_collection(str(notes(files, name)), name)
        return index

    return add


def states(response: qmd.SearchResponse) -> list[tuple[str, str]]:
    return [(hit.path, hit.state.line) for hit in response.hits]


def test_a_superseded_document_comes_directly_below_what_replaces_it(found: Add) -> None:
    index = found(
        {
            "old.md": front("superseded_by: new.md", MANY),
            "other.md": front("a: b", MANY + HERON),
            "new.md": front("a: b", "A heron among many words that are about other birds.\n" * 5),
        }
    )
    response = index.search("heron", explain=True)
    assert states(response) == [
        ("new.md", "current"),
        ("old.md", "superseded by notes/new.md"),
        ("other.md", "current"),
    ]
    assert response.hits[0].score == response.hits[1].score
    assert response.hits[0].explain["replaces"] == "notes/old.md"


def test_a_replacement_that_is_not_found_takes_its_place_before_the_old_document(found: Add) -> None:
    index = found(
        {"old.md": front("replaced: x\nstatus: superseded by [New](new.md)"), "new.md": "# Egret\n\nBirds.\n"}
    )
    assert states(index.search("heron")) == [("new.md", "current"), ("old.md", "superseded by notes/new.md")]
    assert states(index.search("heron", limit=1)) == [("new.md", "current")]


def test_chains_end_at_the_last_and_cycles_count_for_nothing(found: Add) -> None:
    index = found(
        {
            "a.md": front("superseded_by: '[[b]]'"),
            "b.md": front("x: y", MANY),
            "c.md": front("supersedes: b"),
            "d.md": front("superseded_by: e"),
            "e.md": front("superseded_by: d"),
        }
    )
    found_states = dict(states(index.search("heron", limit=None)))
    assert found_states == {
        "a.md": "superseded by notes/c.md",
        "b.md": "superseded by notes/c.md",
        "c.md": "current",
        "d.md": "current",
        "e.md": "current",
    }
    order = [path for path, _ in states(index.search("heron", limit=None))]
    assert order.index("c.md") < order.index("b.md") < order.index("a.md")


def test_filters_by_state_apply_before_the_cut(found: Add) -> None:
    index = found(
        {f"{number:02}.md": front("status: deprecated", MANY) for number in range(30)}
        | {"new.md": front("a: b", "many other words, a heron.\n" * 9), "draft.md": front("status: draft")}
    )
    assert states(index.search("heron", limit=1, current=True)) == [("new.md", "current")]
    assert states(index.search("heron", limit=1, state="draft")) == [("draft.md", "draft")]
    assert states(index.search("heron state:draft", limit=1)) == [("draft.md", "draft")]
    assert states(index.search("[state:draft,current] heron")) == states(
        index.search("heron", state=["draft", "current"])
    )
    assert len(index.search("heron [state:deprecated]", limit=None).hits) == 30

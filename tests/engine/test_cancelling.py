"""Cancelled calls stop at their next step."""

from __future__ import annotations

import pytest

import qmd
from qmd.engine.requests import SearchRequest
from qmd.models.base import CancelledError
from tests.conftest import Notes


class After:
    """A function that returns true after the first `questions` calls."""

    def __init__(self, questions: int) -> None:
        self.questions = questions

    def __call__(self) -> bool:
        self.questions -= 1
        return self.questions < 0


@pytest.fixture
def embedded(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes({f"{n}.md": f"# River {n}\n\nA river and a lake.\n" for n in range(5)})))
    index.embed()
    return index


@pytest.mark.parametrize("kind", ["vsearch", "query"])
def test_cancelled_search_raises_cancelled_error(embedded: qmd.Index, kind: str) -> None:
    with pytest.raises(CancelledError):
        embedded.run(kind, SearchRequest("water"), cancelled=lambda: True)


def test_cancelled_query_stops_at_its_next_step(embedded: qmd.Index) -> None:
    with pytest.raises(CancelledError):
        embedded.run("query", SearchRequest("water"), cancelled=After(1))


def test_search_with_a_cancel_function_returns_the_usual_answer(embedded: qmd.Index) -> None:
    request = SearchRequest("water", limit=3)
    answer = embedded.run("query", request, cancelled=lambda: False)
    assert [hit.file for hit in answer.hits] == [hit.file for hit in embedded.run("query", request).hits]


def test_cancelled_multi_get_stops_at_the_next_document(embedded: qmd.Index) -> None:
    assert len(embedded.multi_get("*.md", cancelled=After(100)).items) == 5
    with pytest.raises(CancelledError):
        embedded.multi_get("*.md", cancelled=After(3))


def test_cancelled_multi_get_stops_among_missing_names(embedded: qmd.Index) -> None:
    with pytest.raises(CancelledError):
        embedded.multi_get("x.md, y.md, z.md", cancelled=After(2))


def test_indexed_at_is_the_oldest_scan(index: qmd.Index, notes: Notes) -> None:
    assert index.indexed_at() is None
    index.add_collection(str(notes({"a.md": "alpha\n"}, "first")))
    index.add_collection(str(notes({"b.md": "bravo\n"}, "second")))
    scans = {each.name: each.last_updated for each in index.status().collections}
    # The oldest scan counts, because no result is older than that.
    assert index.indexed_at() == scans["first"]
    assert index.indexed_at(["second"]) == scans["second"]
    with pytest.raises(qmd.CollectionNotFoundError):
        index.indexed_at(["third"])

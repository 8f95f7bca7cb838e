"""`Index.why` explains a search with the terms of the full-text index, and does not rank itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import qmd
from tests.conftest import Notes

pytestmark = pytest.mark.slow

FILES = {
    "agents.md": "# Multi-agent systems\n\nWe run multi-agent pipelines on 2026.4.10 with key:value.",
    "path.md": "# Paths\n\nSee src/lib/i18n.ts or write to user@example.com about the agent.",
    "cafe.md": "# Vienna\n\nThe cafés were running late; naïve résumé. A performer sings.",
    "database.md": "# 数据库管理\n\n每天备份数据库，并检查API接口。",
    "traditional.md": "# 檢索系統\n\n這個系統用於檢索資料。",
    "japanese.md": "# 検索エンジン\n\nログインできない場合は検索してください。",
    "performance.md": "# Performance\n\nMeasuring performance of running things.",
    "cafe/read.md": "# Read\n\nnothing else",
}
#: Queries of one term each, by the grammar.
TERMS = [
    "agent",
    "agents",
    "RUN",
    '"multi-agent"',
    '"agent multi"',
    "i18n.ts",
    "user@example.com",
    "2026.4.10",
    "cafe",
    "café",
    "naive",
    "perform*",
    "performanc*",
    '"measuring perf"*',
    "数据",
    "数据库",
    "库",
    "检索",
    '"検索エンジン"',
    "API接口",
    "zebra",
    "perf",
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qmd.Index]:
    folder = tmp_path_factory.mktemp("notes")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    place = tmp_path_factory.mktemp("index") / "index.sqlite"
    with qmd.open_index(place, environ={"HOME": str(folder)}) as opened:
        opened.add_collection(str(folder), "notes")
        yield opened


@pytest.mark.parametrize("query", TERMS)
def test_why_finds_terms_exactly_as_search_does(library: qmd.Index, query: str) -> None:
    hits = library.search(query, limit=None, explain=True).hits
    tiers = {hit.path: hit.explain["lexical"]["tier"] for hit in hits if hit.explain is not None}
    having = {path for path, tier in tiers.items() if tier == "all"}
    for path in FILES:
        answer = library.why(f"notes/{path}", "search", qmd.SearchRequest(query))
        required = [term for term in answer.terms if not term.part]
        assert all(term.found for term in required) is (path in having)
        assert (answer.verdict == "shown") is (path in tiers)
        if len(required) == 1:
            assert required[0].documents == len(having)
            assert required[0].longer is (tiers.get(path) == "longer")


def test_why_explains_typed_searches_like_a_query_document(library: qmd.Index) -> None:
    searches = (qmd.TypedSearch("lex", "running"), qmd.TypedSearch("lex", "performance"))
    answer = library.why("performance.md", "query", qmd.SearchRequest(searches=searches))
    assert answer.query == "lex: running\nlex: performance"
    assert [place.query for place in answer.standings] == ["running", "performance", answer.query]
    assert answer.verdict == "shown"


def test_why_names_the_words_that_headings_of_the_passage_have(library: qmd.Index) -> None:
    (note,) = (
        note for note in library.why("performance.md", "search", qmd.SearchRequest("performance")).notes
    )
    assert note.endswith("have 'Performance': Performance")


def test_why_takes_a_request_without_a_limit(library: qmd.Index) -> None:
    answer = library.why("performance.md", "search", qmd.SearchRequest("running", limit=None))
    assert (answer.verdict, answer.shown, answer.standings[-1].complete) == ("shown", 3, True)


def test_why_refuses_an_invalid_query_document(library: qmd.Index) -> None:
    with pytest.raises(qmd.QueryError):
        library.why("performance.md", "query", qmd.SearchRequest("lex: a\nb"))


def test_why_works_without_collections(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "# A\n"})
    answer = index.why(str(folder / "a.md"), "search", qmd.SearchRequest("a"))
    assert (answer.verdict, answer.document) == ("not_indexed", None)

"""Lexical search through the public API."""

from __future__ import annotations

from typing import Any

import pytest

import qmd
from tests.conftest import Notes


def found(index: qmd.Index, query: str, **options: object) -> list[str]:
    return [hit.path for hit in index.search(query, **options).hits]  # type: ignore[arg-type]


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    folder = notes(
        {
            "agents.md": "# Multi-agent systems\n\nWe run multi-agent pipelines on 2026.4.10 with key:value.",
            "path.md": "# Paths\n\nSee src/lib/i18n.ts or write to user@example.com about @scope/package.",
            "cafe.md": "# Vienna\n\nThe cafés were running late; naïve résumé.",
            "database.md": "# 数据库管理\n\n每天备份数据库，并检查API接口。",
            "traditional.md": "# 檢索系統\n\n這個系統用於檢索資料。",
            "japanese.md": "# 検索エンジン\n\nログインできない場合は検索してください。",
            "korean.md": "# 한국어 문서\n\n검색 엔진을 만들었습니다.",
            "performance.md": "# Performance\n\nMeasuring performance of things.",
            "hindi.md": "# हिन्दी\n\nयह हिन्दी में एक दस्तावेज़ है।",
            "calendar.md": "# Next\n\n📅 Friday → 👩\u200d💻 pairing, ❤️ at 5€",
            "contract.md": "這是中文合約的草稿。",
        }
    )
    index.add_collection(str(folder), "notes")
    return index


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("multi-agent", "agents.md"),
        ('"multi-agent"', "agents.md"),
        ("agent", "agents.md"),
        ("2026.4.10", "agents.md"),
        ("key:value", "agents.md"),
        ("src/lib/i18n.ts", "path.md"),
        ("i18n.ts", "path.md"),
        ("user@example.com", "path.md"),
        ("@scope/package", "path.md"),
        ("cafe", "cafe.md"),
        ("CAFÉ", "cafe.md"),
        ("run", "cafe.md"),
        ("naive", "cafe.md"),
        ("数据库", "database.md"),
        ("据库", "database.md"),
        ("库", "database.md"),
        ("API接口", "database.md"),
        ("數據庫", "database.md"),
        ("检索", "traditional.md"),
        ("검색", "korean.md"),
        ("हिन्दी", "hindi.md"),
        ("perform*", "performance.md"),
        ("performanc*", "performance.md"),
        ('"検索エンジン"', "japanese.md"),
        ("📅", "calendar.md"),
        ("📅 friday", "calendar.md"),
        ('"📅 friday"', "calendar.md"),
        ("→", "calendar.md"),
        ("5€", "calendar.md"),
        ("❤", "calendar.md"),
        ("👩\u200d💻", "calendar.md"),
        ("💻", "calendar.md"),
        ('"中文 合約"', "contract.md"),
        ('"中文合約"', "contract.md"),
    ],
)
def test_search_finds_the_document_that_contains_the_query(
    library: qmd.Index, query: str, expected: str
) -> None:
    assert expected in found(library, query)


def test_search_distinguishes_symbols(library: qmd.Index) -> None:
    (hit,) = library.search("📅").hits
    assert "📅 Friday" in hit.snippet.text
    assert hit.line == 3
    assert found(library, "🎉") == found(library, "👨\u200d💻") == []
    assert found(library, "friday -📅") == []
    assert found(library, '"合約 中文"') == []


def test_search_matches_phrases_only_as_adjacent_words(library: qmd.Index) -> None:
    assert found(library, '"agent multi"') == []
    assert found(library, '"multi agent pipelines"') == ["agents.md"]


def test_minus_excludes_a_word_or_a_phrase(library: qmd.Index) -> None:
    assert "agents.md" not in found(library, "pipelines performance -multi-agent")
    assert "performance.md" not in found(library, 'pipelines performance -"measuring performance"')


def test_query_of_exclusions_only_has_no_results(library: qmd.Index) -> None:
    response = library.search("-agent")
    assert response.hits == ()
    assert response.stages[0].status == "skipped"


def test_option_like_words_exclude_nothing(library: qmd.Index) -> None:
    assert "performance.md" in found(library, "performance --performance -p")


def test_question_words_are_ignored(library: qmd.Index) -> None:
    assert found(library, "what is the performance of things?") == found(library, "performance things")


def test_query_of_stop_words_is_still_searched(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"who.md": "# Band\n\nThe Who played."})), "notes")
    assert found(index, "the who") == ["who.md"]


def test_longer_words_rank_below_the_exact_word(index: qmd.Index, notes: Notes) -> None:
    folder = notes(
        {"long.md": "# Long\n\nperformance " * 20, "short.md": "# Short\n\none perf here " + "x " * 200}
    )
    index.add_collection(str(folder), "notes")
    assert found(index, "perf") == ["short.md", "long.md"]
    assert found(index, "perf", limit=1) == ["short.md"]


def test_documents_with_all_terms_rank_before_those_with_some(index: qmd.Index, notes: Notes) -> None:
    files = {f"one{number}.md": "# Apple\n\n" + "apple " * 50 for number in range(30)}
    files["both.md"] = "# Long\n\n" + "filler text " * 400 + "apple banana"
    index.add_collection(str(notes(files)), "notes")
    hits = index.search("apple banana", limit=10).hits
    assert hits[0].path == "both.md"
    assert len(hits) == 10
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_document_whose_name_the_query_contains_ranks_before_texts_with_all_terms(
    index: qmd.Index, notes: Notes
) -> None:
    files = {f"Guide {n}.md": "Inside the vault are notes. " * 20 for n in range(9)}
    files["Sync.md"] = "Other things of a text. " * 40 + "To search inside a vault, open it."
    files["Search.md"] = "Type some words. " + "Options of the panel follow here. " * 20
    index.add_collection(str(notes(files)), "notes")
    assert found(index, "search inside vault", limit=1) == ["Search.md"]


@pytest.mark.parametrize(
    ("name", "query"),
    [("Tags", "tags"), ("标签视图", "标签视图"), ("タグ一覧", "タグ一覧"), ("태그", "태그")],
)
def test_document_with_the_query_as_its_name_has_the_highest_score(
    index: qmd.Index, notes: Notes, name: str, query: str
) -> None:
    files = {f"{name}.md": "A text about something else.", "Long.md": f"{name} " * 40}
    index.add_collection(str(notes(files)), "notes")
    hit = index.search(query, scores="raw").hits[0]
    assert hit.path == f"{name}.md"
    assert hit.score == pytest.approx(1.0)


def test_search_by_date_of_many_words_lists_documents_with_all_of_them(
    index: qmd.Index, notes: Notes
) -> None:
    colours = "red " + "filler " * 300 + "green blue"
    files = {f"old{n}.md": f"---\ndate: 2020-01-0{n}\n---\n{colours}" for n in range(1, 4)}
    files["Red green.md"] = "---\ndate: 2024-01-01\n---\nred green"
    index.add_collection(str(notes(files)), "notes")
    assert found(index, "red green blue", limit=1) == ["Red green.md"]
    assert found(index, "red green blue", sort="date") == ["old3.md", "old2.md", "old1.md"]


def test_search_limits_by_collection_before_ranking(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(
        str(notes({f"{n}.md": "# Zebra\n\nzebra zebra zebra" + f" {n}" for n in range(300)}, "big")), "big"
    )
    index.add_collection(
        str(notes({"one.md": "# Other\n\nA long text that names a zebra once."}, "small")), "small"
    )
    assert found(index, "zebra", collections=["small"], limit=1) == ["one.md"]


def test_search_in_an_unknown_collection_lists_the_known_ones(library: qmd.Index) -> None:
    with pytest.raises(qmd.CollectionNotFoundError) as caught:
        library.search("x", collections=["nope"])
    assert "notes" in str(caught.value.hint)


def test_scores_do_not_depend_on_the_number_of_documents(index: qmd.Index, notes: Notes) -> None:
    text = "# Heron\n\nA heron stands in the water and waits."
    index.add_collection(str(notes({"a.md": text, "b.md": "# Other\n\nnothing"}, "few")), "few")
    few = index.search("heron", collections=["few"]).hits[0].score
    index.add_collection(
        str(notes({f"{n}.md": f"# Note {n}\n\nsome text {n}" for n in range(400)}, "many")), "many"
    )
    many = index.search("heron", collections=["few"]).hits[0].score
    assert 0.3 < few <= 1.0
    assert many == pytest.approx(few, abs=0.1)


@pytest.mark.parametrize(
    "query",
    [
        "AND OR NOT NEAR(",
        '"unbalanced',
        "a\x00b\x07",
        "col:{x} ^y",
        "*",
        "((((",
        "-",
        "🙂",
        "'",
        "a^b performance\tcache\nreview",
        "\x01\x02performance\x7f",
        "'; DROP TABLE documents; --",
        "%s %d {0}",
        "per\u0301formance \u202eecnamrofrep",
        "x" * 5000,
        "数" * 5000,
    ],
)
def test_search_accepts_any_query(library: qmd.Index, query: str) -> None:
    library.search(query)


@pytest.mark.parametrize("limit", [0, -1])
def test_search_refuses_a_limit_below_one(library: qmd.Index, limit: int) -> None:
    with pytest.raises(qmd.UsageError):
        library.search("x", limit=limit)


@pytest.mark.parametrize("min_score", [-0.1, 1.1, float("nan")])
def test_search_refuses_a_min_score_outside_0_to_1(library: qmd.Index, min_score: float) -> None:
    with pytest.raises(qmd.UsageError):
        library.search("x", min_score=min_score)


def test_search_refuses_an_empty_query(library: qmd.Index) -> None:
    with pytest.raises(qmd.UsageError):
        library.search("   ")


def test_min_score_leaves_out_lower_scores(library: qmd.Index) -> None:
    hits = library.search("performance agents", min_score=0.3).hits
    assert all(hit.score >= 0.3 for hit in hits)


def test_snippet_shows_a_match_deep_in_a_long_line(index: qmd.Index, notes: Notes) -> None:
    line = "padding " * 12_000 + "the needleword is here " + "padding " * 12_000
    index.add_collection(str(notes({"long.md": f"# Long\n\nfirst\n{line}\n"})), "notes")
    hit = index.search('"needleword"').hits[0]
    assert "needleword" in hit.snippet.text
    assert hit.line == 4
    assert len(hit.snippet.text) < 400


def test_line_of_a_hit_is_that_of_the_file(index: qmd.Index, notes: Notes) -> None:
    text = "---\ntitle: Café notes\n---\n\n" + "filler\n" * 40 + "we met at the cafés\n" + "filler\n" * 10
    index.add_collection(str(notes({"a.md": text})), "notes")
    hit = index.search("met cafe").hits[0]
    assert text.split("\n")[hit.line - 1] == "we met at the cafés"
    first = hit.snippet.first_line
    assert text.split("\n")[first - 1] == hit.snippet.text.split("\n")[0]


def test_snippet_shows_a_chinese_match_instead_of_the_title(index: qmd.Index, notes: Notes) -> None:
    text = "# 笔记\n\n" + "这里没有什么。\n" * 60 + "备份策略在这一行说明。\n"
    index.add_collection(str(notes({"a.md": text})), "notes")
    hit = index.search("备份策略").hits[0]
    assert "备份策略" in hit.snippet.text
    assert hit.line == 63


def test_search_full_returns_the_whole_text(library: qmd.Index) -> None:
    hit = library.search("naive", full=True).hits[0]
    assert hit.body is not None
    assert hit.body.startswith("# Vienna")


@pytest.mark.slow
def test_common_words_do_not_change_order_or_scores(index: qmd.Index, notes: Notes) -> None:
    # Common terms are planned for if there are more than 4,000 documents. The results must equal those of
    # scoring all.
    common = "system data value report"
    files = {f"{n}.md": f"# Item {n}\n\n{common} word{n % 50} extra{n % 7}" for n in range(4200)}
    index.add_collection(str(notes(files)), "notes")
    planned = index.search("system data word7", limit=20).hits
    assert {int(hit.path[:-3]) % 50 for hit in planned} == {7}
    assert len(planned) == 20
    only_common = index.search("system data", limit=5).hits
    assert len(only_common) == 5


def test_search_takes_a_request_in_place_of_a_query(library: qmd.Index) -> None:
    request = qmd.SearchRequest("performance running", limit=1)
    assert library.search(request).hits == library.search("performance running", limit=1).hits
    assert library.search(request, limit=None).hits == library.search("performance running", limit=None).hits


def test_search_refuses_options_that_it_does_not_have(library: qmd.Index) -> None:
    options: dict[str, Any] = {"rerank": False}
    with pytest.raises(TypeError, match="unexpected keyword argument 'rerank'"):
        library.search("performance", **options)


@pytest.mark.parametrize("query", ["GPT4", "gpt-4", "GPT 4"])
@pytest.mark.parametrize("text", ["GPT4", "GPT-4", "GPT 4"])
def test_letters_and_digits_match_however_they_are_joined(
    index: qmd.Index, notes: Notes, query: str, text: str
) -> None:
    index.add_collection(str(notes({"a.md": f"We tried {text} first.", "b.md": "We tried 4 others."})), "x")
    if (query, text) != ("GPT 4", "GPT4"):
        assert found(index, query)[0] == "a.md"


def test_chinese_function_characters_are_ignored_except_in_words(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "数据库备份", "b.md": "他的备用车", "c.md": "存在问题"})), "zh")
    assert found(index, "数据库的备份") == ["a.md"]
    assert found(index, "存在") == ["c.md"]


def test_hits_have_the_dates_of_their_documents(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"old.md": "---\ndate: 2015-02-03\n---\n\nA heron.\n"})))
    assert index.search("heron").hits[0].date == "2015-02-03T00:00:00"

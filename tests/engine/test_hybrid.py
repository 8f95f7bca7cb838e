"""Vector and hybrid search with the default models: stages, scores, query documents and expansion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import qmd
from qmd.types import TypedSearch
from tests.conftest import Notes
from tests.model_server import Server, serving

pytestmark = pytest.mark.slow

TEXTS = {
    "deploy.md": "# Releasing\n\nTo ship a new version, tag the commit and push; the pipeline rolls it out.",
    "backup.md": "# 数据库备份\n\n每天凌晨两点备份数据库，保留三十天。",
    "bread.md": "# Sourdough\n\nFeed the starter, mix flour and water, and bake at 240 degrees.",
    "login.md": "# ログイン\n\nパスワードを忘れた場合は再設定してください。",
    "garden.md": "# Garden\n\nTomatoes want sun; water them in the morning.",
}


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes(TEXTS)), "notes")
    index.embed()
    return index


def stage(response: qmd.SearchResponse, name: str) -> qmd.Stage:
    found = response.stage(name)
    assert found is not None, response.stages
    return found


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how do I publish the software", "deploy.md"),
        ("how often is the database saved", "backup.md"),
        ("忘记密码怎么办", "login.md"),
        ("baking at home", "bread.md"),
    ],
)
def test_vsearch_and_query_find_meaning_without_shared_words(
    library: qmd.Index, question: str, expected: str
) -> None:
    assert library.vsearch(question).hits[0].path == expected
    assert library.query(question).hits[0].path == expected


@pytest.mark.parametrize("options", [{}, {"ranking": "contract"}, {"rerank": False}])
def test_document_without_vectors_yet_is_judged_by_its_words(
    library: qmd.Index, notes: Notes, options: dict[str, Any]
) -> None:
    notes({"new.md": "# Watering plan\n\nThe tomatoes and the bread of the heron are in the new plan.\n"})
    library.update()
    for query in ("watering plan", "heron tomatoes", "plan of the heron bread"):
        by_words = library.search(query).hits[0]
        assert by_words.path == "new.md"
        found = library.query(query, **options).hits
        assert found[0].path == "new.md"
        assert found[0].score >= by_words.score - 0.05
        assert library.query(f"{query} version", **options).hits[0].score >= 0.3


def test_pages_of_vsearch_and_query_neither_repeat_nor_lose_documents(library: qmd.Index) -> None:
    for search in (library.vsearch, library.query):
        pages = [search("how do I publish the software", limit=2, offset=offset) for offset in (0, 2, 4)]
        found = [hit.path for page in pages for hit in page.hits]
        assert sorted(found) == sorted(TEXTS)
        assert [page.next_offset for page in pages] == [2, 4, None]
        assert [hit.path for hit in pages[0].hits] == [
            hit.path for hit in search("how do I publish the software", limit=2).hits
        ]


def test_vsearch_before_embed_says_what_to_do(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(TEXTS)), "notes")
    with pytest.raises(qmd.VectorIndexMissingError) as caught:
        index.vsearch("anything")
    assert str(caught.value) == "Vector index not found. Run 'qmd embed' first to create embeddings."


def test_query_without_vectors_searches_by_words_and_reports_it(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(TEXTS)), "notes")
    response = index.query("sourdough starter", rerank=False)
    assert response.hits[0].path == "bread.md"
    assert stage(response, "vector").status == "skipped"
    assert "qmd embed" in (stage(response, "vector").reason or "")


def test_query_without_vectors_finds_longer_words_like_search(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(TEXTS)), "notes")
    assert [hit.path for hit in index.query("sourd").hits] == ["bread.md"]
    assert [hit.path for hit in index.search("sourd").hits] == ["bread.md"]


def test_query_reports_every_stage(library: qmd.Index) -> None:
    response = library.query("tomatoes")
    assert response.ranking == "tuned"
    assert {entry.stage: entry.status for entry in response.stages} == {
        "lexical": "ran",
        "expand": "skipped",
        "vector": "ran",
        "fuse": "ran",
        "rerank": "ran",
    }


@pytest.mark.parametrize("ranking", ["tuned", "contract"])
def test_query_scores_are_between_0_and_1_and_descending(library: qmd.Index, ranking: str) -> None:
    response = library.query("water in the morning", ranking=ranking, explain=True)  # type: ignore[arg-type]
    scores = [hit.score for hit in response.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    explained = response.hits[0].explain
    assert explained is not None
    assert explained["ranking"] == ranking
    assert {"fused", "lists", "rerank", "blend"} <= explained.keys()


def test_query_reports_documents_without_vectors(library: qmd.Index, notes: Notes) -> None:
    notes({"new.md": "# Kites\n\nFlying kites on the beach."})
    library.update()
    assert "1 document" in (stage(library.query("kites"), "embedding").reason or "")
    assert library.status().needs_embedding == 1
    report = library.embed()
    assert (report.texts, library.status().needs_embedding) == (1, 0)
    assert library.query("kites").stage("embedding") is None


def test_renamed_and_moved_files_keep_their_vectors(library: qmd.Index, tmp_path: Path, notes: Notes) -> None:
    folder = tmp_path / "notes"
    (folder / "bread.md").rename(folder / "loaf.md")
    other = notes({}, "other")
    library.add_collection(str(other), "other")
    (folder / "garden.md").rename(other / "garden.md")
    library.update()
    assert library.status().needs_embedding == 0
    assert library.vsearch("baking at home").hits[0].path == "loaf.md"
    assert library.vsearch("growing vegetables", collections=["other"]).hits[0].file == "other/garden.md"
    assert all(hit.path != "garden.md" for hit in library.vsearch("tomatoes", collections=["notes"]).hits)


def test_deleted_documents_leave_vsearch_immediately(library: qmd.Index, tmp_path: Path) -> None:
    (tmp_path / "notes" / "bread.md").unlink()
    library.update()
    assert all(hit.path != "bread.md" for hit in library.vsearch("baking at home").hits)


def test_vsearch_searches_only_the_named_collection(library: qmd.Index, notes: Notes) -> None:
    library.add_collection(str(notes({"x.md": "# Sky\n\nClouds pass over the hills."}, "few")), "few")
    library.embed()
    hits = library.vsearch("baking bread", collections=["few"], min_score=0.0).hits
    assert [hit.file for hit in hits] == ["few/x.md"]


def test_embed_force_gives_the_same_answers(library: qmd.Index) -> None:
    before = [(hit.path, round(hit.score, 3)) for hit in library.vsearch("baking at home").hits]
    assert library.embed().texts == 0
    assert library.embed(force=True).texts == len(TEXTS)
    assert [(hit.path, round(hit.score, 3)) for hit in library.vsearch("baking at home").hits] == before


@pytest.mark.slow
def test_vsearch_finds_a_passage_deep_inside_a_long_document(index: qmd.Index, notes: Notes) -> None:
    filler = "".join(f"Paragraph {n} speaks about accounting rules and invoices.\n\n" for n in range(200))
    text = f"# Handbook\n\n{filler}## Pets\n\nDogs may come to the office on Fridays.\n\n{filler}"
    index.add_collection(str(notes({"book.md": text, **TEXTS})), "notes")
    index.embed()
    hit = index.vsearch("can I bring my puppy to work").hits[0]
    assert hit.path == "book.md"
    assert "Dogs may come" in hit.snippet.text or "Pets" in hit.snippet.text
    assert abs(text[: text.index("## Pets")].count("\n") + 1 - hit.snippet.first_line) < 25


def test_query_document_searches_each_of_its_lines(library: qmd.Index) -> None:
    response = library.query("lex: sourdough\nvec: watering plants\nintent: cooking")
    assert {"bread.md", "garden.md"} <= {hit.path for hit in response.hits}
    assert stage(response, "expand").reason == "searches were given"
    only_words = library.query(searches=[TypedSearch("lex", "sourdough")])
    assert [hit.path for hit in only_words.hits] == ["bread.md"]
    assert stage(only_words, "vector").status == "skipped"


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ("lex: a\nplain words", "line 2"),
        ("intent: x", "line 1"),
        ("lex: a\nintent: x\nintent: y", "line 3"),
        ("lex: a\nexpand: b", "line 2"),
        ("vec:", "line 1"),
        ("lex: a\n" * 51, "51 lines; the maximum is 50"),
        ("lex: a\nvec: -foo bar", "vec: cannot exclude '-foo'"),
        ('hyde: a list of "words" -"and phrases"', "hyde: cannot exclude"),
    ],
)
def test_invalid_query_document_is_an_error_with_its_line(
    library: qmd.Index, document: str, line: str
) -> None:
    with pytest.raises(qmd.QueryError, match=line):
        library.query(document)


def test_vec_and_hyde_lines_take_hyphens_but_no_exclusions(library: qmd.Index) -> None:
    for kind in ("vec", "hyde"):
        assert library.query(f"{kind}: real-time well-being - and 5-6", rerank=False).hits
        with pytest.raises(qmd.QueryError, match="cannot exclude '-bread'"):
            library.query(searches=[TypedSearch(kind, "baking -bread")])
    assert library.query("lex: flour -tomatoes\n" * 50, rerank=False).hits


def test_search_without_results_before_the_timeout_is_an_error(library: qmd.Index) -> None:
    with pytest.raises(qmd.TimedOutError, match="not ready within 1e-06 s"):
        library.vsearch("tomatoes want sun", timeout=1e-6)
    with pytest.raises(qmd.TimedOutError, match="not ready within 1e-06 s"):
        library.query("vec: tomatoes want sun", timeout=1e-6)


def test_vsearch_without_a_searched_collection_is_an_error(library: qmd.Index) -> None:
    library.include_collection("notes", False)
    with pytest.raises(qmd.NotFoundError, match="every collection is excluded"):
        library.vsearch("tomatoes")
    assert library.vsearch("tomatoes", collections=["notes"]).hits
    library.remove_collection("notes")
    for search in (library.vsearch, lambda text: library.query(f"vec: {text}")):
        with pytest.raises(qmd.NotFoundError, match="there are no collections yet"):
            search("tomatoes")


def test_query_document_with_only_vec_lines_needs_vectors(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(TEXTS)), "notes")
    with pytest.raises(qmd.VectorIndexMissingError):
        index.query("vec: sourdough")
    assert index.query("lex: sourdough\nvec: sourdough", rerank=False).hits


@pytest.fixture
def expander(environ: dict[str, str]) -> Iterator[Server]:
    """A server whose model knows one word."""
    with serving() as server:
        server.lines = "lex: tomatoes\nvec: growing tomatoes\nhyde: tomatoes grow in the garden"
        environ["QMD_GENERATE_MODEL"] = f"openai:synonyms@{server.url}"
        yield server


def test_query_variants_are_searched_cached_and_explained(expander: Server, library: qmd.Index) -> None:
    first = library.query("pommes d'amour", intent="tomatoes", explain=True, rerank=False)
    assert stage(first, "lexical variants").status == stage(first, "vector variants").status == "ran"
    assert first.hits[0].path == "garden.md"
    explained = first.hits[0].explain
    assert explained is not None
    names = {share["list"] for share in explained["lists"]}
    assert {"lexical:variant 1", "vector:variant 2", "vector:variant 3"} <= names
    second = library.query("pommes d'amour", intent="tomatoes", rerank=False)
    assert stage(second, "expand").reason == "from the cache"
    assert len(expander.requests) == 1


def test_strong_keyword_match_skips_expansion(expander: Server, library: qmd.Index) -> None:
    library.query("sourdough", intent="tomatoes", rerank=False)
    second = library.query("sourdough", intent="tomatoes", rerank=False)
    reason = stage(second, "expand").reason or ""
    assert "keywords" in reason or len(expander.requests) == 1

"""The scale of scores has two named places, in the notes of the tutorial and in small indexes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import qmd
from qmd.features.agents import skill
from qmd.mcp.instructions import instructions
from qmd.mcp.prompt import GUIDE
from qmd.ranking.calibration import ABOUT, RELATED
from tests.conftest import Notes

pytestmark = pytest.mark.slow

NOTES = Path(__file__).parent.parent.parent / "examples/notes"
NOTHING = "nothing here seems to answer this"


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qmd.Index]:
    with qmd.open_index(tmp_path_factory.mktemp("scale") / "index.sqlite") as index:
        index.add_collection(str(NOTES), "tutorial")
        index.embed()
        yield index


@pytest.mark.parametrize(
    ("kind", "query", "path"),
    [
        ("search", "nightly dump", "ops/backup.md"),
        ("search", "用户忘记密码怎么办", "笔记/登录问题.md"),
        ("vsearch", "I cannot log in any more", "ops/sign-in.md"),
        ("vsearch", "how do we get our data back", "ops/backup.md"),
        ("vsearch", "what did we learn from the outage", "meetings/2026-04-10-retro.md"),
        ("query", "how do we get our data back", "ops/backup.md"),
        ("query", "I cannot log in any more", "ops/sign-in.md"),
        ("query", "how long are backups kept", "ops/backup.md"),
        ("query", "roll back a release", "ops/deploy.md"),
        ("query", "how do I deploy a new version", "ops/deploy.md"),
        ("query", "数据库怎么恢复", "笔记/数据库备份.md"),
        ("query", "如何发布新版本", "笔记/发布流程.md"),
    ],
)
def test_right_answers_are_not_doubted(tutorial: qmd.Index, kind: str, query: str, path: str) -> None:
    response = tutorial.run(kind, qmd.SearchRequest(query))
    assert response.hits[0].path == path
    assert response.hits[0].score >= 0.3
    assert response.stage("answer") is None


@pytest.mark.parametrize("kind", ["search", "vsearch", "query"])
@pytest.mark.parametrize(
    "query",
    [
        "the second law of thermodynamics",
        "who won the world cup in 1998",
        "symptoms of vitamin D deficiency",
        "train a neural network on images",
        "guitar chords for beginners",
        "红烧肉怎么做才好吃",
        "莎士比亚的戏剧",
    ],
)
def test_questions_about_other_subjects_find_nothing_related(
    tutorial: qmd.Index, kind: str, query: str
) -> None:
    response = tutorial.run(kind, qmd.SearchRequest(query))
    assert all(hit.score < 0.3 for hit in response.hits)
    if response.hits:
        assert (stage := response.stage("answer")) is not None and stage.reason == NOTHING


@pytest.mark.parametrize("kind", ["search", "query"])
@pytest.mark.parametrize("word", ["archive", "customers", "pipeline", "thirty", "locked", "commit"])
def test_document_with_a_word_that_no_other_has_answers(tutorial: qmd.Index, kind: str, word: str) -> None:
    assert tutorial.run(kind, qmd.SearchRequest(word)).hits[0].score >= 0.5


@pytest.mark.parametrize("kind", ["search", "vsearch", "query"])
def test_scores_do_not_depend_on_how_good_others_are(index: qmd.Index, notes: Notes, kind: str) -> None:
    recipe = (
        "# Bread {n}\n\nKneading bread dough of kind {n}: mix flour and water, and let it rise for {n} hours."
    )
    index.add_collection(str(notes({f"{n}.md": recipe.format(n=n) for n in range(1, 41)})), "bread")
    index.embed()
    response = index.run(kind, qmd.SearchRequest("kneading bread dough", limit=40))
    assert len(response.hits) == 40
    assert all(hit.score >= 0.5 for hit in response.hits[:30])  # those that are reranked
    assert response.stage("answer") is None
    nothing = index.run(kind, qmd.SearchRequest("quarterly tax return"))
    assert all(hit.score < 0.3 for hit in nothing.hits)


@pytest.mark.parametrize("kind", ["vsearch", "query"])
def test_note_stands_exactly_where_the_best_result_is_below_the_first_place(
    tutorial: qmd.Index, kind: str
) -> None:
    queries = [
        "backup",
        "servers on fire",
        "lunch menu",
        "passwords and keys",
        "database",
        "holiday plans",
        "备份",
        "天气",
    ]
    for query in queries:
        response = tutorial.run(kind, qmd.SearchRequest(query))
        assert (response.stage("answer") is not None) == (response.hits[0].score < 0.3)


def test_texts_name_the_two_places_of_the_scale(tutorial: qmd.Index) -> None:
    guides = [instructions(tutorial), GUIDE, skill.text()]
    pages = [(NOTES.parent.parent / "docs" / f"{name}.md").read_text("utf-8") for name in ("cli", "ranking")]
    for text in (*guides, *pages):
        assert f"from {ABOUT}" in text.lower() or f"{ABOUT} and above" in text
        assert f"{RELATED}" in text
        assert "likely the result answers" not in text and "probably" not in text

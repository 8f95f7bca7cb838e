"""Scores estimate how likely a document answers the query, on one scale for all searches."""

from __future__ import annotations

from pathlib import Path

import pytest

import qmd
from tests.conftest import Notes

pytestmark = pytest.mark.slow

TEXTS = {
    "deploy.md": "# Deploying\n\nTo roll out a new version of the service, run the release script.",
    "backup.md": "# Backups\n\nEvery night a snapshot of the database is written to another disk.",
    "bread.md": "# Sourdough\n\nFeed the starter, mix flour and water, and bake at 240 degrees.",
    "login.md": "# ログイン\n\nパスワードを忘れた場合は再設定してください。",
    "garden.md": "# Garden\n\nTomatoes want sun; water them in the morning.",
}
NOTHING = "nothing here seems to answer this"


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes(TEXTS)), "notes")
    index.embed()
    return index


@pytest.mark.parametrize("kind", ["search", "vsearch", "query"])
def test_scores_of_answers_exceed_half_and_of_nonsense_do_not(library: qmd.Index, kind: str) -> None:
    good = library.run(kind, qmd.SearchRequest("sourdough starter"))
    assert good.hits[0].path == "bread.md"
    assert good.hits[0].score > 0.5
    assert good.stage("answer") is None
    bad = library.run(kind, qmd.SearchRequest("the second law of quantum physics"))
    assert all(hit.score < 0.3 for hit in bad.hits)
    if bad.hits:
        assert (stage := bad.stage("answer")) is not None and stage.reason == NOTHING


@pytest.mark.parametrize("kind", ["search", "vsearch", "query"])
def test_pinned_document_counts_as_an_answer(library: qmd.Index, kind: str) -> None:
    query = "quantum chromodynamics of heavy water in stars"
    assert library.run(kind, qmd.SearchRequest(query)).stage("answer") is not None
    library.pin(query, "garden.md")
    assert library.run(kind, qmd.SearchRequest(query)).stage("answer") is None


@pytest.mark.parametrize("options", [{"rerank": False}, {"ranking": "contract"}, {"candidate_limit": 2}])
def test_scores_have_the_same_scale_in_all_hybrid_searches(
    library: qmd.Index, options: dict[str, object]
) -> None:
    assert library.query("sourdough starter", **options).hits[0].score > 0.5  # type: ignore[arg-type]
    assert library.query("quantum chromodynamics", **options).hits[0].score < 0.3  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["search", "vsearch", "query"])
def test_score_does_not_depend_on_the_limit(library: qmd.Index, kind: str) -> None:
    one, all_of_them = (
        library.run(kind, qmd.SearchRequest("water the tomatoes", limit=limit)).hits for limit in (1, 20)
    )
    assert one[0] == all_of_them[0]


@pytest.mark.parametrize("kind", ["search", "vsearch", "query"])
def test_raw_scores_keep_the_order_and_follow_the_formulas(library: qmd.Index, kind: str) -> None:
    raw = library.run(kind, qmd.SearchRequest("water", scores="raw", explain=True))
    calibrated = library.run(kind, qmd.SearchRequest("water", explain=True))
    assert [hit.path for hit in raw.hits] == [hit.path for hit in calibrated.hits]
    for one, other in zip(raw.hits, calibrated.hits, strict=True):
        assert one.explain is not None and other.explain is not None
        assert "likelihood" not in one.explain
        assert other.explain["likelihood"]["raw"] == pytest.approx(one.score, abs=1e-4)
    first = raw.hits[0].explain or {}
    if kind == "search":
        assert raw.hits[0].score == pytest.approx(
            first["lexical"]["bm25"] / first["lexical"]["bound"], abs=1e-3
        )
    if kind == "vsearch":
        assert raw.hits[0].score == pytest.approx(1 / (2 - first["vector"]["cosine"]), abs=1e-3)


def test_scores_setting_chooses_the_scale(tmp_path: Path, notes: Notes) -> None:
    (tmp_path / "index.yml").write_text("scores: raw\n", encoding="utf-8")
    with qmd.open_index(tmp_path / "index.sqlite", config=tmp_path / "index.yml") as index:
        index.add_collection(str(notes(TEXTS)), "notes")
        assert "likelihood" not in (index.search("water", explain=True).hits[0].explain or {})
    (tmp_path / "index.yml").write_text("scores: good\n", encoding="utf-8")
    with pytest.raises(qmd.QmdError, match="scores must be calibrated or raw"):
        qmd.open_index(tmp_path / "index.sqlite", config=tmp_path / "index.yml")


def test_answer_stage_names_the_best_score_below_the_minimum(library: qmd.Index) -> None:
    response = library.vsearch("quantum chromodynamics", min_score=0.9)
    assert response.hits == ()
    stage = response.stage("answer")
    assert stage is not None and (stage.reason or "").startswith(f"{NOTHING}: the best result scores 0.")


ACROSS = {
    "eiffel.md": "# Eiffel Tower\n\nThe tower in Paris was finished in 1889 and is 330 metres tall.",
    "volcano.md": "# Vesuvius\n\nThe volcano destroyed Pompeii in the year 79; ash buried the whole town.",
    "honey.md": "# Bees\n\nBees collect nectar from flowers and turn it into honey in their hive.",
    "whale.md": "# Blue whale\n\nThe blue whale is the largest animal; it eats four tons of krill a day.",
    **TEXTS,
}


def test_recall_speaks_across_languages_if_vectors_and_reranker_agree(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(ACROSS)), "notes")
    index.embed()
    questions = {
        "蜜蜂怎样把花蜜变成蜂蜜？": "nectar",
        "哪座火山在公元79年摧毁了庞贝城？": "Pompeii",
        "最大的动物每天吃多少磷虾？": "krill",
        "Wie machen Bienen aus Nektar eigentlich Honig?": "nectar",
        "Quel volcan a détruit Pompéi ?": "Pompeii",
        "Какой вулкан разрушил Помпеи?": "Pompeii",
        "¿Cuánto kril come la ballena azul al día?": "krill",
        "エッフェル塔の高さは何メートルですか": "1889",
    }
    answers = {question: index.recall(question).text for question in questions}
    assert sum(word in answers[question] for question, word in questions.items()) >= 7
    assert all(not text or questions[question] in text for question, text in answers.items())


#: No note answers these, and several are about as near to each.
BETWEEN = (
    "量子色动力学中的重子质量是怎样计算出来的？",
    "蝴蝶的幼虫吃什么叶子？",
    "나비 애벌레는 어떤 잎을 먹나요?",
    "Welche Blätter fressen die Raupen von Schmetterlingen?",
    "Какие листья едят гусеницы бабочек?",
    "Сколько воды пьёт слон?",
    "¿Qué comen los osos polares en invierno?",
    "蚂蚁怎样建造巢穴？",
)


def test_recall_is_silent_across_languages_if_several_notes_are_near(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(ACROSS)), "notes")
    index.embed()
    for neither in BETWEEN:
        assert index.recall(neither).text == "", neither


def test_recall_gives_what_words_and_reranker_reach_together(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(OF_AN_EDITOR)), "notes")
    index.embed()
    prompt = "canvas mind maps and flow charts"
    found, read = (index.query(prompt, rerank=rerank).hits[0].score for rerank in (False, True))
    assert read < found - 0.1
    assert "infinite" in index.recall(prompt, threshold=(found + 2 * read) / 3).text
    assert index.recall(prompt, threshold=(2 * found + read) / 3).text == ""


#: Notes of which one has a part of the words of a question.
OF_AN_EDITOR = {
    "canvas.md": "# Canvas\n\nCanvas gives you infinite space to arrange notes, boxes and arrows.",
    "tables.md": "# Tables\n\nTo insert a table, use pipes between the cells and hyphens below the headings.",
    "tags.md": "# Tags\n\nTags are keywords that help to find notes. Type a hash and a word.",
    "checks.md": "# Task lists\n\nCheck boxes begin with a hyphen and two brackets.",
    "sync.md": "# Sync\n\nNotes are kept the same on all devices.",
}


def test_recall_is_silent_across_languages_without_models(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(ACROSS)), "notes")
    assert index.recall("蜜蜂怎样把花蜜变成蜂蜜？", words_only=True).text == ""


def test_recall_is_silent_if_the_best_note_is_about_a_prompt_like_others(
    index: qmd.Index, notes: Notes
) -> None:
    text = "# {0}\n\nThe nightly backup of the {0} database is written by a job, and takes {1} minutes.\n"
    names = ("orders", "stock", "mail", "wages", "maps", "press", "law")
    others = {f"walk {at}.md": f"# Walk {at}\n\nWe saw {at} herons by the river.\n" for at in range(40)}
    alike = {f"{name}.md": text.format(name, 11 * at) for at, name in enumerate(names, 1)}
    folder = notes(others | alike)
    index.add_collection(str(folder), "notes")
    near = "When is the nightly backup of the database written?"
    assert index.search(near).hits[0].score >= 0.5
    assert index.recall(near, words_only=True).text == ""
    (folder / "checks.md").write_text(
        "# Checks\n\nThe team on call checks the nightly backup of a database.\n"
    )
    index.update()
    prompt = "Which team checks the nightly backup of the database?"
    assert "team on call" in index.recall(prompt, words_only=True).text


@pytest.mark.parametrize("query", ["extension", "write extension", "how do I write an extension"])
def test_words_that_most_documents_have_are_no_chance(index: qmd.Index, notes: Notes, query: str) -> None:
    parts = ("domains", "builders", "roles", "themes", "parsers", "events", "search", "math") * 10
    manual = {
        f"{at}.md": f"# About {part}\n\nThe extension of {part} number {at} has to write what it reads.\n"
        for at, part in enumerate(parts)
    }
    index.add_collection(str(notes({**manual, "a.md": "# Write an extension\n\nBegin with setup.\n"})), "m")
    first = index.search(query).hits[0]
    assert (first.path, first.score >= 0.9) == ("a.md", True)

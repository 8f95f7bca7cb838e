"""Synonyms: words of the user's own that find other words, below those that have the word itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from qmd.features.synonyms.adding import with_synonyms
from qmd.store.lexical import below_words
from qmd.text.query import parse
from qmd.text.question import Question
from qmd.types import Synonyms
from tests.model_server import serving
from tests.users import User

_NOTES = {
    "short.md": "# Cluster\n\nWe run k8s on three machines.\n",
    "long.md": "# Other\n\nWe run Kubernetes on three machines, and the Kubernetes of others.\n",
    "learning.md": "# Models\n\nMachine learning predicts the load of 数据库.\n",
    "ml.md": "# Loads\n\nThe ml predicts loads, and the database keeps them.\n",
    "car.md": "# Garage\n\nA vehicle stands outside.\n",
    "データ.md": "# 表\n\nデータベースの移行について。\n",
}


@pytest.fixture
def writer(owner: User) -> User:
    for name, text in _NOTES.items():
        (owner.notes / name).write_text(text, encoding="utf-8")
    owner.ok("update", "--no-embed")
    return owner


def _found(user: User, *words: str) -> list[str]:
    rows = json.loads(user.ok("search", "--json", "-c", "notes", *words))
    return [row["file"].rpartition("/")[2] for row in rows]


def test_synonym_is_found_below_the_word_both_ways(writer: User) -> None:
    assert _found(writer, "k8s") == ["short.md"]
    writer.ok("synonyms", "add", "k8s", "kubernetes")
    assert _found(writer, "k8s") == ["short.md", "long.md"]
    assert _found(writer, "Kubernetes") == ["long.md", "short.md"]
    assert writer.ok("synonyms") == "k8s, kubernetes\n"
    writer.ok("synonyms", "remove", "kubernetes")
    assert _found(writer, "k8s") == ["short.md"]
    assert writer.ok("synonyms").startswith("No word has synonyms")


def test_synonym_has_a_lower_score_than_the_same_text_with_the_word(writer: User) -> None:
    (writer.notes / "word.md").write_text("# Same\n\nThe zeppelin of the port.\n", encoding="utf-8")
    (writer.notes / "other.md").write_text("# Same\n\nThe airship of the port.\n", encoding="utf-8")
    writer.ok("update", "--no-embed")
    writer.ok("synonyms", "add", "zeppelin", "airship")
    for word, first in (("zeppelin", "word.md"), ("airship", "other.md")):
        rows = json.loads(writer.ok("search", "--json", word, "port"))
        assert rows[0]["file"].endswith(first)
        assert rows[0]["score"] > rows[1]["score"] > 0


def test_title_of_a_synonym_is_below_a_single_mention_of_the_word(writer: User) -> None:
    filler = " ".join(f"other{number} words{number}" for number in range(400))
    (writer.notes / "mention.md").write_text(f"# Diary\n\n{filler} zeppelin.\n", encoding="utf-8")
    for number in range(3):
        name = writer.notes / f"airship{number}.md"
        name.write_text("# Airship\n\nAirship, airship, airship.\n", encoding="utf-8")
    (writer.notes / "both.md").write_text("# Airship port\n\nThe port of the airship.\n", encoding="utf-8")
    writer.ok("update", "--no-embed")
    writer.ok("synonyms", "add", "zeppelin", "airship")
    assert _found(writer, "zeppelin")[0] == "mention.md"
    assert _found(writer, "-n", "1", "zeppelin") == ["mention.md"]
    assert len(_found(writer, "zeppelin")) == 5
    assert _found(writer, "zeppelin", "port")[0] == "both.md"  # the mention lacks a word


@given(
    st.dictionaries(
        st.integers(0, 50), st.tuples(st.floats(0.01, 1.0), st.integers(0, 7), st.integers(0, 7)), min_size=1
    )
)
def test_no_document_with_a_synonym_is_above_one_with_its_words(
    given: dict[int, tuple[float, int, int]],
) -> None:
    has = {document: (words & found, found) for document, (_, words, found) in given.items()}
    before = {document: score for document, (score, _, _) in given.items()}
    after = dict(below_words([*before.items()], has))
    for one, (words, found) in has.items():
        assert 0 < after[one] <= before[one]
        assert words != found or after[one] == before[one]
        for other, others in has.items():
            if words != found and others[0] & found == found:
                assert after[one] < after[other]
            if others == (words, found):
                assert (after[one] < after[other]) <= (before[one] < before[other])


def test_one_way_synonym_finds_the_others_alone(writer: User) -> None:
    writer.ok("synonyms", "add", "car", "vehicle", "--one-way")
    assert _found(writer, "cars") == ["car.md"]
    (writer.notes / "auto.md").write_text("# Auto\n\nA car.\n", encoding="utf-8")
    writer.ok("update", "--no-embed")
    assert _found(writer, "vehicles") == ["car.md"]
    assert writer.ok("synonyms") == "car -> vehicle\n"


def test_several_words_are_found_together_on_either_side(writer: User) -> None:
    writer.ok("synonyms", "add", "ml", "machine learning")
    assert _found(writer, "ml") == ["ml.md", "learning.md"]
    assert _found(writer, "machine", "learning")[:2] == ["learning.md", "ml.md"]
    assert "ml.md" not in _found(writer, "machine")


def test_words_of_scripts_without_spaces_have_synonyms(writer: User) -> None:
    writer.ok("synonyms", "add", "数据库", "database", "データベース")
    with_word, others = ["数据库 迁移.md", "learning.md"], ["ml.md", "データ.md"]
    found = _found(writer, "数据库")
    assert (found[:2], sorted(found[2:])) == (with_word, others)
    assert {*_found(writer, "databases")} == {*with_word, *others}


@pytest.mark.parametrize("query", ['"k8s"', "k8s*"])
def test_quoted_words_and_beginnings_have_none(writer: User, query: str) -> None:
    writer.ok("synonyms", "add", "k8s", "kubernetes")
    assert _found(writer, query) == ["short.md"]
    assert "synonyms" not in writer.ok("search", query, "--explain")


def test_excluded_words_have_none_and_filters_are_kept(writer: User) -> None:
    writer.ok("synonyms", "add", "k8s", "kubernetes")
    assert _found(writer, "--", "three", "-k8s") == ["long.md"]
    assert _found(writer, "k8s", "path:long.md") == ["long.md"]


def test_stage_names_them_and_snippets_mark_them(writer: User) -> None:
    writer.ok("synonyms", "add", "k8s", "kubernetes")
    told = writer.call("search", "k8s", "--explain", FORCE_COLOR="1").stdout
    assert "k8s -> kubernetes" in told
    assert "the \x1b[1;31mKubernetes\x1b[0m of others" in told
    assert "k8s -> kubernetes" in writer.ok("query", "k8s", "--no-rerank", "--explain")


def test_what_is_embedded_has_the_synonyms_too(writer: User) -> None:
    writer.ok("synonyms", "add", "k8s", "kubernetes", "kube")
    with serving() as server:
        chosen = {"QMD_EMBED_MODEL": f"openai:tiny@{server.url}"}
        writer.call("embed", **chosen)
        told = writer.call("vsearch", "our k8s", "--explain", **chosen)
        assert "k8s -> kubernetes, kube" in told.stdout
        assert server.asked("/v1/embeddings")[-1]["input"] == ["our k8s kubernetes kube"]


def test_word_that_is_misspelt_has_the_synonyms_of_the_word_that_is_meant(writer: User) -> None:
    writer.ok("synonyms", "add", "kubernetes", "k8s")
    assert _found(writer, "kubernets") == ["long.md", "short.md"]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("[k8s]", "synonyms must be a mapping"),
        ("{k8s: }", "'k8s' has no synonym"),
        ("{k8s: K8S.}", ""),
        ("{k8s: 8}", "synonyms.k8s must be text; put it in quotes"),
        ("{k8s: {find: kubernetes}}", "'k8s' has no synonym"),
        ("{k8s: [kubernetes, {a: b}]}", "must be text"),
        ("{k8s: '***'}", "'***' has no word"),
        ("{库: database}", "'库' is a single character"),
        ("{a: b c d e f g h i j k}", "has more than 8 words"),
        ("{k8s: [" + ", ".join(f"w{number}" for number in range(30)) + "]}", "more than 19 synonyms"),
        ("{" + ", ".join(f"w{number}: v" for number in range(1_001)) + "}", "more than 1,000 entries"),
    ],
)
def test_what_is_wrong_in_the_configuration_is_told_with_its_line(
    writer: User, written: str, told: str
) -> None:
    (file,) = writer.home.glob("config/qmd/index.yml")
    before = file.read_text(encoding="utf-8")
    file.write_text(f"{before}synonyms: {written}\n", encoding="utf-8")
    result = writer.call("search", "k8s")
    assert told in result.stderr
    assert (result.returncode == 0) == (not told)


def test_changes_keep_the_file_and_are_refused_as_a_whole(writer: User) -> None:
    (file,) = writer.home.glob("config/qmd/index.yml")
    file.write_text(file.read_text(encoding="utf-8") + "# mine\nsynonyms:\n  k8s: kubernetes  # short\n")
    writer.ok("synonyms", "add", "k8s", "kube")
    writer.ok("synonyms", "add", "car", "vehicle", "--one-way")
    kept = file.read_text(encoding="utf-8")
    assert "# mine" in kept
    assert "# short" in kept
    assert writer.ok("synonyms") == "k8s, kubernetes, kube\ncar -> vehicle\n"
    for wrong in (("add", "car", "auto"), ("add", "x", "x"), ("add", "x", "***"), ("remove", "nothing")):
        assert writer.call("synonyms", *wrong).returncode != 0
    assert file.read_text(encoding="utf-8") == kept
    assert json.loads(writer.ok("synonyms", "--json"))[1] == {
        "words": ["car"],
        "finds": ["vehicle"],
        "one_way": True,
    }


_WORDS = st.text("ab c数据*\"-'8", min_size=1, max_size=12)
_ENTRIES = st.builds(
    lambda word, others: Synonyms((word, *others), (word, *others)),
    _WORDS,
    st.lists(_WORDS, min_size=1, max_size=3).map(tuple),
)


@given(query=_WORDS, entries=st.lists(_ENTRIES, max_size=4))
def test_any_words_keep_the_query_and_add_to_it_alone(query: str, entries: list[Synonyms]) -> None:
    changed, said = with_synonyms(entries, Question(query))
    before, after = parse(query), changed.terms
    assert after.negative == before.negative
    assert [term.tokens for term in after.terms] == [term.tokens for term in before.terms]
    for old, new in zip(before.terms, after.terms, strict=True):
        assert {*old.forms} <= {*new.forms}
        assert new.synonyms == {*new.forms} - {*old.forms}
        assert not (old.quoted and new.synonyms)
    assert (said is not None) or after == before

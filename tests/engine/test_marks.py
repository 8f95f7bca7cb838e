"""Pins and marks: their effect on results, for which queries, and in which projects."""

from __future__ import annotations

from pathlib import Path

import pytest

import qmd
from qmd.errors import ConfigError, DocumentNotFoundError, ForbiddenError, NotFoundError, UsageError
from qmd.features.evaluation.modes import losses
from tests.conftest import Notes

FILES = {
    "one.md": "# Restore\n\nrestore the nightly backup restore backup\n",
    "two.md": "# Other\n\nA longer text in which somebody may restore a nightly backup now and then.\n",
    "three.md": "# Unrelated\n\nNothing of interest.\n",
}
QUERY = "restore nightly backup"


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes(FILES)), "notes")
    index.add_collection(str(notes({"secret.md": "# Secret\n\nrestore\n"}, "hidden")), "hidden")
    return index


def files(response: qmd.SearchResponse) -> list[str]:
    return [hit.file for hit in response.hits]


def test_pin_puts_a_document_first(library: qmd.Index) -> None:
    plain = library.search(QUERY)
    assert library.pin("How do I restore the nightly BACKUPS?", "three.md") == "notes/three.md"
    found = library.search(QUERY, explain=True)
    assert files(found)[:3] == ["notes/three.md", "notes/one.md", "notes/two.md"]
    assert [hit.pinned for hit in found.hits[:2]] == [True, False]
    assert found.hits[0].score == 1 and (found.hits[0].explain or {})["pinned"]
    stage = found.stage("marks")
    assert stage is not None and stage.reason == "documents for this query: 1 pinned, 0 marked"
    assert files(library.search(QUERY, limit=1, min_score=0.99)) == ["notes/three.md"]
    # Other queries, collections and filters are not affected.
    assert library.search("restore backup").hits == library.search("restore backup", marks=False).hits
    assert files(library.search(QUERY, collections=["hidden"])) == ["hidden/secret.md"]
    assert "notes/three.md" not in files(library.search(QUERY, path="two"))
    library.unpin(QUERY)
    assert library.search(QUERY).hits == plain.hits
    with pytest.raises(NotFoundError, match="nothing is pinned"):
        library.unpin(QUERY)


def test_why_takes_pins_into_account(library: qmd.Index) -> None:
    library.pin(QUERY, "three.md")
    why = library.why("notes/three.md", "search", qmd.SearchRequest(QUERY))
    assert (why.verdict, why.reason) == ("shown", "result 1 of the 4 shown")


def test_mark_moves_a_document_by_a_bounded_amount(library: qmd.Index) -> None:
    before = {hit.file: hit.score for hit in library.search(QUERY).hits}
    library.mark(QUERY, "two.md", "good")
    library.mark(QUERY, "one.md", "bad")
    found = library.search(QUERY, explain=True)
    after = {hit.file: hit for hit in found.hits}
    assert after["notes/two.md"].score > before["notes/two.md"]
    assert after["notes/one.md"].score < before["notes/one.md"]
    factor = (after["notes/one.md"].explain or {})["adjusted"]["factors"]["mark"]
    assert factor == {"factor": 0.5, "reason": "marked as bad for this query"}
    other = library.search("restore old nightly backup", explain=True)
    assert all("adjusted" not in (hit.explain or {}) for hit in other.hits)


def test_mark_replaces_the_opposite_mark_and_can_be_removed(library: qmd.Index) -> None:
    library.mark(QUERY, "one.md", "good")
    library.mark("nightly backup restore", "one.md", "bad")
    library.mark("herons", "two.md", "good")
    library.pin("herons", "two.md")
    listed = [(mark.query, mark.kind, mark.file, mark.indexed) for mark in library.marks()]
    assert listed == [
        (QUERY, "bad", "notes/one.md", True),
        ("herons", "pin", "notes/two.md", True),
        ("herons", "good", "notes/two.md", True),
    ]
    library.remove_collection("notes")
    assert not any(mark.indexed for mark in library.marks())
    library.unmark("heron", "notes/two.md")
    library.unmark(QUERY)
    assert [mark.kind for mark in library.marks()] == ["pin"]
    with pytest.raises(NotFoundError, match="is not marked"):
        library.unmark("heron", "notes/two.md")


def test_mark_refuses_queries_without_words_and_missing_documents(library: qmd.Index, tmp_path: Path) -> None:
    with pytest.raises(DocumentNotFoundError):
        library.pin(QUERY, "nothing.md")
    with pytest.raises(UsageError, match="no word"):
        library.pin("tag:work", "one.md")
    with pytest.raises(UsageError, match="longer than"):
        library.pin("word " * 300, "one.md")
    assert not (tmp_path / "index.marks.yaml").exists()


def test_pins_follow_a_renamed_collection(library: qmd.Index) -> None:
    library.pin(QUERY, "three.md")
    library.rename_collection("notes", "diary")
    assert [mark.file for mark in library.marks()] == ["diary/three.md"]
    assert library.search(QUERY).hits[0].file == "diary/three.md"


def test_broken_marks_file_fails_no_search_and_is_kept(library: qmd.Index, tmp_path: Path) -> None:
    path = tmp_path / "index.marks.yaml"
    path.write_text("- query: [\n", "utf-8")
    found = library.search(QUERY)
    stage = found.stage("marks")
    assert files(found)[0] == "notes/one.md"
    assert stage is not None and stage.status == "failed" and str(path) in (stage.reason or "")
    for call in (library.marks, lambda: library.pin(QUERY, "one.md")):
        with pytest.raises(ConfigError):
            call()
    assert path.read_text("utf-8") == "- query: [\n"


def test_restricted_index_ignores_pins_and_marks_of_others(library: qmd.Index) -> None:
    seen = library.limited(["notes"])
    before = seen.search(QUERY, explain=True)
    library.pin(QUERY, "hidden/secret.md")
    library.mark(QUERY, "hidden/secret.md", "bad")
    assert seen.search(QUERY, explain=True).hits == before.hits
    assert seen.search(QUERY).stages[1:] == before.stages[1:]
    library.mark("restore nightly backup privately", "notes/two.md", "good")
    assert "privately" not in repr(seen.search(QUERY, explain=True))
    for call in (seen.marks, lambda: seen.pin(QUERY, "notes/two.md"), lambda: seen.unmark(QUERY)):
        with pytest.raises(ForbiddenError):
            call()


def test_evaluation_of_marks_names_lost_documents(library: qmd.Index) -> None:
    benchmark = qmd.Benchmark(None, ("bm25",), k=1)
    with pytest.raises(NotFoundError, match="no pins or marks"):
        library.evaluate(benchmark)
    library.mark(QUERY, "two.md", "good")
    library.mark(QUERY, "one.md", "bad")
    library.pin("interest", "three.md")
    evaluation = library.evaluate(benchmark)
    found = [(loss.query, loss.file, loss.good, loss.rank) for loss in losses(evaluation)]
    assert found == [(QUERY, "notes/one.md", False, 1), (QUERY, "notes/two.md", True, 2)]


@pytest.fixture
def project(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a pin, as the working folder."""
    marks = f'- query: "{QUERY}"\n  pin: ["site/three.md"]\n'
    config = "collections:\n  site:\n    path: .\n"
    folder = notes({**FILES, ".qmd/index.yml": config, ".qmd/index.marks.yaml": marks}, "site")
    monkeypatch.chdir(folder)
    return folder


def test_pins_of_a_cloned_project_apply_after_approval(project: Path, environ: dict[str, str]) -> None:
    with qmd.open_index(environ=environ) as index:
        index.update()
        found = index.search(QUERY)
        stage = found.stage("marks")
        assert not any(hit.pinned for hit in found.hits)
        assert stage is not None and stage.status == "skipped" and "not approved" in (stage.reason or "")
        with pytest.raises(ForbiddenError, match="not approved"):
            index.pin(QUERY, "one.md")
        (asked,) = index.trust.unapproved({"marks"})
        assert asked.value.startswith("1 pinned and 0 marked documents, SHA-256 ")
        index.trust.decide([asked], approved=True)
        assert index.search(QUERY).hits[0].file == "site/three.md"
        # A pin that the user sets approves the file. A pin that a later pull adds does not.
        index.pin("other words", "two.md")
        assert index.search("other words").hits[0].pinned
        path = project / ".qmd" / "index.marks.yaml"
        path.write_text(path.read_text("utf-8").replace("three", "one"), "utf-8")
        assert not any(hit.pinned for hit in index.search(QUERY).hits)
    with qmd.open_index(environ=environ | {"QMD_TRUST_LOCAL_CONFIG": "1"}) as index:
        assert index.search(QUERY).hits[0].file == "site/one.md"


def test_pins_made_by_the_user_in_a_new_project_need_no_approval(
    project: Path, environ: dict[str, str]
) -> None:
    (project / ".qmd" / "index.marks.yaml").unlink()
    with qmd.open_index(environ=environ) as index:
        index.update()
        index.pin(QUERY, "three.md")
        assert index.search(QUERY).hits[0].pinned

"""What a project's own `.qmd/index.yml` may do: all inside the project, the rest when it is approved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import qmd
from tests.conftest import Notes

#: Asks for one of each kind.
ASKING = """\
collections:
  site:
    path: .
    update: echo '# Made' > made.md
  other:
    path: {other}
models:
  embed: some-model
"""
CONTEXT = ("context", "qmd://site")
Open = Callable[..., qmd.Index]


@pytest.fixture
def other(notes: Notes) -> Path:
    return notes({"b.md": "# Other\n\noutside herring"}, "other")


@pytest.fixture
def project(notes: Notes, other: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that nothing was said of; the working folder."""
    folder = notes({"a.md": "# Site\n\ninside herring", ".qmd/index.yml": ASKING.format(other=other)}, "site")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def opened(project: Path, environ: dict[str, str]) -> Open:
    """Opens the index that a command in the project uses."""

    def open_index(**variables: str) -> qmd.Index:
        return qmd.open_index(environ=environ | variables)

    return open_index


def approve(index: qmd.Index) -> None:
    index.trust.decide([each for each, _ in index.trust.asked()], approved=True)


def left_out(index: qmd.Index) -> list[tuple[str, str]]:
    return [(each.kind, each.name) for each in index.trust.unapproved()]


def write(project: Path, text: str) -> None:
    (project / ".qmd" / "index.yml").write_text(text, encoding="utf-8")


def test_a_checkout_is_indexed_without_what_it_is_not_approved_for(project: Path, opened: Open) -> None:
    with opened() as index:
        assert left_out(index) == [("update", "site"), ("path", "other"), ("model", "embed")]
        (report,) = index.update()
        assert (report.collection, report.added) == ("site", 1)
        assert not (project / "made.md").exists()
        assert [hit.file for hit in index.search("herring").hits] == ["site/a.md"]
        assert index.settings.embed_model is None
        (note,) = index.status().notes
        for name in ("'site'", "'other'", "'some-model'", "'qmd trust'"):
            assert name in note
        with pytest.raises(qmd.CollectionNotFoundError):
            index.search("herring", collections=["other"])


def test_approved_requests_are_carried_out(project: Path, opened: Open) -> None:
    with opened() as index:
        approve(index)
    with opened() as index:
        assert left_out(index) == []
        assert index.status().notes == ()
        assert [(report.collection, report.added) for report in index.update()] == [("site", 2), ("other", 1)]
        assert (project / "made.md").exists()
        assert index.settings.embed_model == "some-model"


def test_an_open_index_goes_by_what_is_decided_meanwhile(opened: Open) -> None:
    with opened() as index, opened() as beside:
        approve(beside)
        index.update()
        assert len(index.search("outside").hits) == 1
        beside.trust.revoke()
        assert index.search("outside").hits == ()
        assert index.documents() == beside.documents()
        # What was indexed stays, so that approving anew costs nothing.
        approve(beside)
        assert len(index.search("outside").hits) == 1


def test_a_link_that_leads_out_of_the_project_is_outside(project: Path, opened: Open, other: Path) -> None:
    (project / "inside").mkdir()
    (project / "inside" / "c.md").write_text("linked text", encoding="utf-8")
    (project / "docs").symlink_to("inside")
    write(project, "collections: {docs: {path: docs}}")
    with opened() as index:
        assert left_out(index) == []
        index.update()
        (project / "docs").unlink()
        (project / "docs").symlink_to(other)
        assert left_out(index) == [("path", "docs")]
        assert index.update() == []
        approve(index)
        assert left_out(index) == []
        (project / "docs").unlink()
        (project / "docs").symlink_to("/")
        assert left_out(index) == [("path", "docs")]


def test_the_same_words_for_another_project_are_another_thing(
    project: Path, opened: Open, notes: Notes, monkeypatch: pytest.MonkeyPatch, other: Path
) -> None:
    with opened() as index:
        approve(index)
    monkeypatch.chdir(notes({".qmd/index.yml": ASKING.format(other=other)}, "fork"))
    with opened() as index:
        assert left_out(index) == [("update", "site"), ("path", "other"), ("model", "embed")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("echo '# Made'", "echo '# More'", [("update", "site")]),
        ("path: .", "path: ./.qmd/..", []),
        ("path: .", "path: sub", [("update", "site")]),
        ("other\n", "other/sub\n", [("path", "other")]),
        ("  other:", "  renamed:", []),
        ("some-model", "another-model", [("model", "embed")]),
        ("embed: some", "rerank: some", [("model", "rerank")]),
        ("embed: some-model", "embed: multilingual-e5-small", []),
        ("path: .", "path: .\n    context: {/: About all}\n    pattern: '*.txt'\n    ignore: x", [CONTEXT]),
        ("models:", "global_context: More\nmodels:", [("context", "qmd://")]),
    ],
)
def test_a_change_of_what_was_approved_has_to_be_approved_and_no_other(
    project: Path, opened: Open, old: str, new: str, expected: list[tuple[str, str]]
) -> None:
    with opened() as index:
        approve(index)
        text = (project / ".qmd" / "index.yml").read_text(encoding="utf-8")
        assert old in text
        write(project, text.replace(old, new, 1))
        assert index.config is not None
        assert left_out(index) == expected


@pytest.mark.parametrize("name", ["default", "Multilingual-E5-Small"])
def test_the_models_that_are_used_anyway_need_no_approval(project: Path, opened: Open, name: str) -> None:
    write(project, f"models: {{embed: {name}}}")
    with opened() as index:
        assert left_out(index) == []


def test_a_folder_that_is_typed_is_approved_and_nothing_else(
    project: Path, opened: Open, notes: Notes
) -> None:
    third = notes({"c.md": "typed herring"}, "third")
    with opened() as index:
        assert index.add_collection(str(third)).added == 1
        assert index.collection("third").path == str(third)
        assert left_out(index) == [("update", "site"), ("path", "other"), ("model", "embed")]


def test_a_command_that_is_typed_is_approved_until_it_is_taken_away(project: Path, opened: Open) -> None:
    write(project, "collections: {site: {path: .}, docs: {path: ., pattern: '*.txt', update: unseen}}")
    command = "echo '# Typed' > typed.md"
    with opened() as index:
        index.set_update_command("site", command)
        assert left_out(index) == [("update", "docs")]
        index.update()
        assert (project / "typed.md").exists()
        index.set_update_command("site", None)
        assert index.collection("site").update is None
        # Back by another hand: it is not what the user typed last.
        write(project, f'collections: {{site: {{path: ., update: "{command}"}}}}')
        assert index.collection("site").update is None
        assert left_out(index) == [("update", "site")]


def test_a_context_that_is_typed_is_approved_and_no_other(project: Path, opened: Open) -> None:
    write(project, "collections: {site: {path: ., context: {/: Written}}}")
    with opened() as index:
        assert left_out(index) == [CONTEXT]
        index.add_context("qmd://site/sub", "Typed")
        assert left_out(index) == [CONTEXT]
        assert index.contexts() == [("qmd://site/sub", "Typed")]
        assert "the context of qmd://site;" in index.status().notes[0]


def test_a_new_name_neither_approves_nor_takes_back(project: Path, opened: Open) -> None:
    with opened() as index:
        index.rename_collection("site", "home")
        assert left_out(index) == [("update", "home"), ("path", "other"), ("model", "embed")]
        approve(index)
        index.rename_collection("other", "beside")
        assert left_out(index) == []


def test_a_collection_that_is_not_approved_can_be_removed(project: Path, opened: Open) -> None:
    with opened() as index:
        assert index.remove_collection("other") == 0
        assert left_out(index) == [("update", "site"), ("model", "embed")]


def test_broken_approvals_approve_nothing_and_are_an_error(
    project: Path, opened: Open, environ: dict[str, str]
) -> None:
    with opened() as index:
        approve(index)
        file = Path(environ["XDG_CONFIG_HOME"]) / "qmd" / "trusted.json"
        file.write_text("{", encoding="utf-8")
        with pytest.raises(qmd.ConfigError, match=r"trusted\.json"):
            index.update()
    with pytest.raises(qmd.ConfigError, match=r"trusted\.json"):
        opened()
    assert not (project / "made.md").exists()


def test_a_project_that_asks_for_nothing_does_not_look_at_approvals(
    project: Path, opened: Open, environ: dict[str, str]
) -> None:
    write(project, "collections: {site: {path: .}}")
    file = Path(environ["XDG_CONFIG_HOME"]) / "qmd" / "trusted.json"
    file.parent.mkdir(parents=True)
    file.write_text("{", encoding="utf-8")
    with opened() as index:
        (report,) = index.update()
        assert report.added == 1


@pytest.mark.parametrize(("value", "trusted"), [("1", True), ("", False), ("0", False), ("no", False)])
def test_a_variable_trusts_for_one_run(opened: Open, value: str, trusted: bool) -> None:
    with opened(QMD_TRUST_LOCAL_CONFIG=value) as index:
        assert (index.trust.unapproved() == []) == trusted
        assert ("other" in index.config.collections) == trusted
    with opened() as index:
        assert len(index.trust.unapproved()) == 3


def test_the_users_own_files_may_do_everything(
    project: Path, environ: dict[str, str], notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with qmd.open_index(environ=environ, config=project / ".qmd" / "index.yml") as index:
        assert index.trust.asked() == []
        assert index.settings.embed_model == "some-model"
    text = (project / ".qmd" / "index.yml").read_text(encoding="utf-8")
    monkeypatch.chdir(notes({"qmd/index.yml": text}, "config").parent)
    with qmd.open_index(environ=environ) as index:
        assert index.trust.asked() == []
        assert set(index.config.collections) == {"site", "other"}


def test_an_index_that_came_with_the_checkout_is_gated_by_what_it_says(project: Path, opened: Open) -> None:
    with opened() as index:
        index.update()
    with apsw.Connection(str(project / ".qmd" / "index.sqlite")) as db:
        ((text,),) = db.execute("SELECT value FROM meta WHERE key = 'config copy'")
        copy = json.loads(text)
        # Under other names than their keys, so that taking out by name would miss them.
        copy["collections"]["site"]["name"], copy["collections"]["other"]["name"] = "other", "site"
        db.execute("UPDATE meta SET value = ? WHERE key = 'config copy'", (json.dumps(copy),))
    with opened() as index:
        (collection,) = index.config.collections.values()
        assert (collection.path, collection.update) == (str(project), None)


def test_answers_are_revoked_by_folder_from_anywhere(
    project: Path, opened: Open, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened() as index:
        approve(index)
    monkeypatch.chdir(other)
    with opened() as index:
        with pytest.raises(qmd.NotFoundError, match="no project here"):
            index.trust.revoke()
        with pytest.raises(qmd.NotFoundError, match="nothing is approved"):
            index.trust.revoke(str(other))
        assert index.trust.revoke("../site") == (str(project), 3)
        assert index.trust.decisions() == []

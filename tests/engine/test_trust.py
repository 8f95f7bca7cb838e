"""The permissions of a project's `.qmd/index.yml`: all inside the project, the rest if approved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import qmd
from tests.conftest import Notes

#: Asks for one permission of each kind.
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
    """A project without approvals, as the working folder."""
    folder = notes({"a.md": "# Site\n\ninside herring", ".qmd/index.yml": ASKING.format(other=other)}, "site")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def opened(project: Path, environ: dict[str, str]) -> Open:
    """Open the index that commands in the project use."""

    def open_index(**variables: str) -> qmd.Index:
        return qmd.open_index(environ=environ | variables)

    return open_index


def approve(index: qmd.Index) -> None:
    index.trust.decide([each for each, _ in index.trust.asked()], approved=True)


def left_out(index: qmd.Index) -> list[tuple[str, str]]:
    return [(each.kind, each.name) for each in index.trust.unapproved()]


def write(project: Path, text: str) -> None:
    (project / ".qmd" / "index.yml").write_text(text, encoding="utf-8")


def test_unapproved_settings_of_a_project_are_left_out(project: Path, opened: Open) -> None:
    with opened() as index:
        assert left_out(index) == [("update", "site"), ("path", "other"), ("model", "embed")]
        (report,) = index.update()
        assert (report.collection, report.added) == ("site", 1)
        assert not (project / "made.md").exists()
        assert [hit.file for hit in index.search("herring").hits] == ["site/a.md"]
        assert index.settings.embed_model is None
        (note,) = index.status().notes
        for name in ("'site'", "'other'", "'some-model'", "'qmd project trust'"):
            assert name in note
        with pytest.raises(qmd.CollectionNotFoundError):
            index.search("herring", collections=["other"])


def test_approved_settings_of_a_project_apply(project: Path, opened: Open) -> None:
    with opened() as index:
        approve(index)
    with opened() as index:
        assert left_out(index) == []
        assert index.status().notes == ()
        assert [(report.collection, report.added) for report in index.update()] == [("site", 2), ("other", 1)]
        assert (project / "made.md").exists()
        assert index.settings.embed_model == "some-model"


def test_open_index_follows_approvals_of_other_processes(opened: Open) -> None:
    with opened() as index, opened() as beside:
        approve(beside)
        index.update()
        assert len(index.search("outside").hits) == 1
        beside.trust.revoke()
        assert index.search("outside").hits == ()
        assert index.documents() == beside.documents()
        # The documents stay in the index, so that a second approval does not read them again.
        approve(beside)
        assert len(index.search("outside").hits) == 1


def test_link_out_of_the_project_needs_approval(project: Path, opened: Open, other: Path) -> None:
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


def test_approval_is_valid_only_for_its_project(
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
def test_changed_setting_must_be_approved_again(
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
def test_default_models_need_no_approval(project: Path, opened: Open, name: str) -> None:
    write(project, f"models: {{embed: {name}}}")
    with opened() as index:
        assert left_out(index) == []


def test_add_collection_in_a_project_approves_only_its_folder(
    project: Path, opened: Open, notes: Notes
) -> None:
    third = notes({"c.md": "typed herring"}, "third")
    with opened() as index:
        assert index.add_collection(str(third)).added == 1
        assert index.collection("third").path == str(third)
        assert left_out(index) == [("update", "site"), ("path", "other"), ("model", "embed")]


def test_set_update_command_approves_until_it_is_cleared(project: Path, opened: Open) -> None:
    write(project, "collections: {site: {path: .}, docs: {path: ., pattern: '*.txt', update: unseen}}")
    command = "echo '# Typed' > typed.md"
    with opened() as index:
        index.set_update_command("site", command)
        assert left_out(index) == [("update", "docs")]
        index.update()
        assert (project / "typed.md").exists()
        index.set_update_command("site", None)
        assert index.collection("site").update is None
        # Another program has restored the command: the user did not set it last.
        write(project, f'collections: {{site: {{path: ., update: "{command}"}}}}')
        assert index.collection("site").update is None
        assert left_out(index) == [("update", "site")]


def test_add_context_approves_only_that_context(project: Path, opened: Open) -> None:
    write(project, "collections: {site: {path: ., context: {/: Written}}}")
    with opened() as index:
        assert left_out(index) == [CONTEXT]
        index.add_context("qmd://site/sub", "Typed")
        assert left_out(index) == [CONTEXT]
        assert index.contexts() == [("qmd://site/sub", "Typed")]
        assert "the context of qmd://site;" in index.status().notes[0]


def test_rename_collection_keeps_its_approval_state(project: Path, opened: Open) -> None:
    with opened() as index:
        index.rename_collection("site", "home")
        assert left_out(index) == [("update", "home"), ("path", "other"), ("model", "embed")]
        approve(index)
        index.rename_collection("other", "beside")
        assert left_out(index) == []


def test_unapproved_collection_can_be_removed(project: Path, opened: Open) -> None:
    with opened() as index:
        assert index.remove_collection("other") == 0
        assert left_out(index) == [("update", "site"), ("model", "embed")]


def test_broken_approvals_file_is_an_error_and_approves_nothing(
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


def test_project_without_requests_does_not_read_approvals(
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
def test_trust_variable_applies_to_one_run(opened: Open, value: str, trusted: bool) -> None:
    with opened(QMD_TRUST_LOCAL_CONFIG=value) as index:
        assert (index.trust.unapproved() == []) == trusted
        assert ("other" in index.config.collections) == trusted
    with opened() as index:
        assert len(index.trust.unapproved()) == 3


def test_user_configuration_needs_no_approval(
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


def test_index_of_a_checkout_needs_approval_for_its_configuration(project: Path, opened: Open) -> None:
    with opened() as index:
        index.update()
    with apsw.Connection(str(project / ".qmd" / "index.sqlite")) as db:
        ((text,),) = db.execute("SELECT value FROM meta WHERE key = 'config copy'")
        copy = json.loads(text)
        # The names differ from the keys, so that removing by name would miss them.
        copy["collections"]["site"]["name"], copy["collections"]["other"]["name"] = "other", "site"
        db.execute("UPDATE meta SET value = ? WHERE key = 'config copy'", (json.dumps(copy),))
    with opened() as index:
        (collection,) = index.config.collections.values()
        assert (collection.path, collection.update) == (str(project), None)


def test_revoke_takes_a_folder_from_anywhere(
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

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from qmd.config import approvals
from qmd.config.approvals import Decision, Permission
from qmd.errors import ConfigError
from tests.unit.config.processes import SPAWN

COMMAND = Permission("update", "make docs", "/code/site/docs", "docs")
FOLDER = Permission("path", "/home/ada/notes", name="notes")
MODEL = Permission("model", "hf:someone/some-model", "embed", "embed")
SITE = "/code/site"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "config" / "trusted.json")


def approve(path: str, *permissions: Permission, project: str = SITE) -> None:
    approvals.decide(path, project, permissions, approved=True, asked=permissions)


def answers(path: str) -> list[tuple[str, Permission, bool]]:
    return [(each.project, each.permission, each.approved) for each in approvals.decisions(path)]


def test_decisions_without_a_file_are_empty_and_create_none(path: str) -> None:
    assert approvals.decisions(path) == []
    assert approvals.forget(path, SITE) == []
    assert not os.path.exists(os.path.dirname(path))


def test_decide_keeps_the_answer_with_its_time_and_name(path: str) -> None:
    approve(path, COMMAND, FOLDER, MODEL)
    approvals.decide(path, "/code/other", [FOLDER], approved=False, asked=[FOLDER])
    assert answers(path) == [
        (SITE, COMMAND, True),
        (SITE, FOLDER, True),
        (SITE, MODEL, True),
        ("/code/other", FOLDER, False),
    ]
    found = approvals.decisions(path)
    assert [each.permission.name for each in found] == ["docs", "notes", "embed", "notes"]
    assert all(len(each.when) == 20 and each.when.endswith("Z") for each in found)


def test_later_decision_replaces_an_earlier_one(path: str) -> None:
    asked = [COMMAND, FOLDER]
    approvals.decide(path, SITE, asked, approved=False, asked=asked)
    approvals.decide(path, SITE, [COMMAND], approved=True, asked=asked)
    assert answers(path) == [(SITE, FOLDER, False), (SITE, COMMAND, True)]


def test_decide_forgets_approvals_of_dropped_requests(path: str) -> None:
    approve(path, COMMAND, FOLDER)
    approve(path, COMMAND, project="/code/other")
    approvals.decide(path, SITE, [], approved=True, asked=[FOLDER])
    assert answers(path) == [(SITE, FOLDER, True), ("/code/other", COMMAND, True)]


def test_forget_removes_only_one_project(path: str) -> None:
    approve(path, COMMAND, FOLDER)
    approve(path, MODEL, project="/code/other")
    assert [each.permission for each in approvals.forget(path, SITE)] == [COMMAND, FOLDER]
    assert answers(path) == [("/code/other", MODEL, True)]


@pytest.mark.parametrize(
    "other",
    [
        replace(COMMAND, value="make docs "),
        replace(COMMAND, where="/code/site"),
        replace(COMMAND, kind="path"),
        Permission("update", "", "make docs/code/site/docs", "docs"),
    ],
    ids=str,
)
def test_permissions_with_another_command_folder_or_kind_differ(other: Permission) -> None:
    assert other != COMMAND
    assert other.digest != COMMAND.digest


def test_permissions_that_differ_only_in_name_are_equal() -> None:
    renamed = replace(COMMAND, name="handbook")
    assert (renamed, renamed.digest) == (COMMAND, COMMAND.digest)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "null",
        '{"projects": []}',
        '{"projects": {"/code/site": []}}',
        '{"projects": {"/code/site": {"abc": {}}}}',
        '{"projects": {"/code/site": {"abc": "yes"}}}',
        "[" * 100_000,
        "\xff",
    ],
    ids=lambda text: text[:40],
)
def test_broken_approvals_file_is_an_error_and_stays(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_text(text, encoding="latin-1")
    for attempt in (
        approvals.decisions,
        lambda path: approve(path, COMMAND),
        lambda path: approvals.forget(path, SITE),
    ):
        with pytest.raises(ConfigError, match=r"trusted\.json") as caught:
            attempt(path)
        assert caught.value.hint is not None
        assert "nothing is approved" in caught.value.hint
    assert Path(path).read_text(encoding="latin-1") == text


@pytest.mark.parametrize("field", ["kind", "value", "where"])
def test_modified_approval_is_an_error(path: str, field: str) -> None:
    approve(path, COMMAND)
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    content["projects"][SITE][COMMAND.digest][field] = "path" if field == "kind" else "rm -rf /"
    Path(path).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ConfigError, match="has been modified"):
        approvals.decisions(path)


def test_unknown_keys_of_the_approvals_file_are_kept(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    theirs = {"/code/site/.qmd/index.yml": {"hooks": "abc", "trustedAt": "2026-01-01T00:00:00Z"}}
    Path(path).write_text(json.dumps(theirs), encoding="utf-8")
    approve(path, COMMAND)
    approvals.forget(path, SITE)
    assert json.loads(Path(path).read_text(encoding="utf-8")) == {**theirs, "projects": {}}
    assert approvals.decisions(path) == []


def test_approval_of_a_name_that_is_not_unicode_is_kept(path: str) -> None:
    folder = Permission("path", os.fsdecode(b"/data/\xff"), name="odd")
    approve(path, folder)
    assert answers(path) == [(SITE, folder, True)]


@pytest.mark.slow
def test_concurrent_decisions_are_all_kept(path: str) -> None:
    projects = [f"/code/{number}" for number in range(4)]
    with ProcessPoolExecutor(max_workers=4, mp_context=SPAWN) as pool:
        list(pool.map(_approve_twenty, [path] * 4, projects))
    kept: dict[str, list[Decision]] = {}
    for each in approvals.decisions(path):
        kept.setdefault(each.project, []).append(each)
    assert {project: len(found) for project, found in kept.items()} == dict.fromkeys(projects, 20)


def _approve_twenty(path: str, project: str) -> None:
    asked = [Permission("path", f"/data/{number}") for number in range(20)]
    for each in asked:
        approvals.decide(path, project, [each], approved=True, asked=asked)

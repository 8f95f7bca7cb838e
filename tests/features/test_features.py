"""The program without one of its features: all else works, does not name it, and says what is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import qmd
from qmd.features import COMMANDS, FEATURES, FORMATS, NEEDS
from qmd.features.formats.code import GRAMMARS
from tests.clients import server_of
from tests.files import pdf
from tests.users import MakeUser, User

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=FEATURES)
def feature(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def without(feature: str, make_user: MakeUser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A user of a program without the feature, who has an index."""
    user = make_user(f"without-{feature}")
    lack(user, feature, tmp_path_factory.mktemp("src"))
    added = user.run("collection", "add", str(user.notes), "--name", "notes")
    assert added.returncode == 0, added.stderr
    yield user


def lack(user: User, feature: str, source: Path) -> None:
    """Take a feature away from a user's program."""
    shutil.copytree(
        Path(qmd.__file__).parent,
        source / "qmd",
        ignore=lambda folder, names: (
            {"__pycache__", feature} if folder.endswith("features") else {"__pycache__"}
        ),
    )
    user.environ["PYTHONPATH"] = os.pathsep.join([str(source), user.environ["PYTHONPATH"]])


def commands_of(feature: str) -> list[str]:
    return [*FEATURES[feature].get("qmd.commands", {})]


def test_help_does_not_name_a_feature_that_is_missing(feature: str, without: User) -> None:
    shown = without.run("--help")
    assert shown.returncode == 0, shown.stderr
    listed = [line.split()[0] for line in shown.stdout.splitlines() if line.startswith("  ") and line.split()]
    assert {"search", "query", "get", "status"} <= {*listed}
    assert {*listed}.isdisjoint(commands_of(feature))
    for group in {name.split()[0] for name in commands_of(feature) if " " in name} - {*commands_of(feature)}:
        shown = without.run(group, "--help")
        assert shown.returncode == 0, shown.stderr
        assert not [
            name for name in commands_of(feature) if f"  {name.removeprefix(group + ' ')} " in shown.stdout
        ]


@pytest.mark.parametrize(
    "args",
    [
        ("search", "performance"),
        ("query", "performance", "--no-rerank"),
        ("get", "notes/deploy.md"),
        ("status",),
    ],
    ids=lambda args: args[0],
)
def test_commands_of_the_core_work_without_a_feature(without: User, args: tuple[str, ...]) -> None:
    found = without.run(*args)
    assert (found.returncode, "Traceback" in found.stderr) == (0, False), found.stderr
    assert found.stdout


def test_servers_work_without_a_feature(feature: str, without: User) -> None:
    with server_of(without, "--transport", "http") as server:
        assert server.ok("POST", "/search", {"query": "performance"})["results"]
        assert "/search" in server.ok("GET", "/openapi.json")["paths"]
        tools = server.mcp("tools/list").json["result"]["tools"]
        assert {"search", "query", "get"} <= {tool["name"] for tool in tools}
        for operation in FEATURES[feature].get("qmd.operations", {}):
            refused = server.ask(*operation.split(), {})
            assert f"the feature '{feature}', which this installation lacks" in refused.detail(503)
        for addition in FEATURES[feature].get("qmd.arguments", {}):
            tool, _, argument = addition.partition(".")
            listed = next(each for each in tools if each["name"] == tool)
            assert argument not in listed["inputSchema"]["properties"]
            called = server.mcp("tools/call", name=tool, arguments={argument: True}).json["result"]
            assert called["isError"]
            assert f"the feature '{feature}', which this installation lacks" in called["content"][0]["text"]
        page = server.ask("GET", "/")
        if feature == "page":
            assert "the feature 'page', which this installation lacks" in page.detail(501)
        else:
            assert page.status == 200, page


def test_files_of_all_formats_are_read_or_say_what_is_missing(feature: str, without: User) -> None:
    pytest.importorskip("pypdfium2")
    folder = without.home / "papers"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(pdf("The heron waits."))
    (folder / "b.txt").write_text("The ibis waits.", encoding="utf-8")
    added = without.run("collection", "add", str(folder), "--name", "papers", "--formats", "all")
    assert added.returncode == 0, added.stderr
    assert "b.txt" in without.run("search", "ibis").stdout
    assert ("a.pdf" in without.run("search", "heron").stdout) is (feature != "formats")
    told = "cannot read a.pdf: 'pdf' belongs to the feature 'formats', which this installation lacks"
    assert (told in added.stderr) is (feature == "formats")


def test_documents_of_a_missing_format_stay(make_user: MakeUser, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    user = make_user("with-formats")
    (user.notes / "a.pdf").write_bytes(pdf("The heron waits."))
    assert user.run("collection", "add", str(user.notes), "--formats", "all").returncode == 0
    lack(user, "formats", tmp_path)
    assert user.run("update", "--no-embed").returncode == 0
    assert "a.pdf" in user.run("search", "heron").stdout
    assert "heron" in user.run("get", "notes/a.pdf").stdout


def test_asking_for_a_missing_feature_says_what_is_missing(feature: str, without: User) -> None:
    asked = [(*name.split(), "x") for name in commands_of(feature) if name != "hook run"]
    asked += [("--store", f"{scheme}://x", "status") for scheme in FEATURES[feature].get("qmd.stores", {})]
    for args in asked:
        found = without.run(*args)
        message, *hints = found.stderr.splitlines()
        assert found.returncode
        assert f"the feature '{feature}', which this installation lacks" in message
        assert len(hints) <= 1


@pytest.mark.parametrize("feature", ["secrets"], indirect=True)
def test_agents_get_nothing_without_masks(without: User) -> None:
    missing = "the feature 'secrets', which this installation lacks"
    for args in (
        ("--agent", "search", "performance"),
        ("--agent", "get", "notes/deploy.md"),
        ("--agent", "ls", "notes/nowhere"),
        ("pack", "performance"),
        ("doctor", "--secrets"),
    ):
        refused = without.run(*args)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert missing in refused.stderr.splitlines()[0]
        assert len(refused.stderr.splitlines()) == 2
    assert without.ok("pack", "--secrets", "performance")
    person, agent = (without.ok("keys", "add", *words).strip() for words in (["ann"], ["robot", "--agent"]))
    try:
        with server_of(without, "--transport", "http") as server:
            asked = {"name": "search", "arguments": {"query": "performance"}}
            answer = server.mcp("tools/call", **asked, key=person).json["result"]
            assert answer["isError"]
            assert missing in answer["content"][0]["text"]
            for key, path, body in (
                (agent, "/search", {"query": "performance"}),
                (agent, "/get", {"file": "notes/deploy.md"}),
                (person, "/pack", {"query": "performance"}),
                (person, "/recall", {"prompt": "performance"}),
            ):
                assert missing in server.ask("POST", path, body, key=key).detail(503)
            assert server.ask("POST", "/search", {"query": "performance"}, key=person).json["results"]
    finally:
        for name in ("ann", "robot"):
            without.ok("keys", "remove", name)


def test_hook_of_an_agent_says_nothing_if_its_feature_is_missing(feature: str, without: User) -> None:
    ran = without.run(
        "hook", "run", "prompt", "--timeout", "60", stdin=b'{"prompt": "How are backups restored?"}'
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    log = without.home / "cache" / "qmd" / "hooks.log"
    said = log.read_text(encoding="utf-8") if log.exists() else ""
    lacking = "agents" if feature in NEEDS["agents"] else feature
    silent = feature in ("agents", "secrets", *NEEDS["agents"])
    assert (f"the feature '{lacking}', which this installation lacks" in said) is silent
    assert not (silent and ran.stdout)


def test_features_have_a_row_for_each_command() -> None:
    named = {name for feature in FEATURES for name in commands_of(feature)}
    assert {name for name in named if " " not in name} == {*COMMANDS}
    folders = {entry.name for entry in Path(qmd.__file__).with_name("features").iterdir() if entry.is_dir()}
    assert folders - {"__pycache__"} == {*FEATURES}


def test_formats_of_features_have_one_row_for_each_suffix() -> None:
    suffixes = [suffix for row in FORMATS.values() for suffix in row[1].split()]
    assert len(suffixes) == len({*suffixes})
    code = FORMATS["code"]
    assert code[1].split() == [*GRAMMARS]
    assert {*code[-1].split()} == {"tree_sitter", *(package for package, _, _ in GRAMMARS.values())}

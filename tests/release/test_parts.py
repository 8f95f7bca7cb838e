"""The parts of a release agree with pyproject.toml. scripts/release.sh makes and validates all of them."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from qmd import __version__
from tests.users import MakeUser
from tests.waiting import until

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not (ROOT / "tools").exists(), reason="tools/ is not here")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that makes the parts."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import release_artefacts

    return release_artefacts


@pytest.fixture
def release(parts: Any, tmp_path: Path) -> Any:
    """A release whose wheel is already there."""
    made = parts.Release.of(tmp_path / "dist", tmp_path / "tools", tmp_path / "work")
    made.extra.mkdir(parents=True)
    made.wheel.write_bytes(b"wheel")
    return made


def test_version_is_that_of_the_package(release: Any) -> None:
    assert release.version == __version__
    assert release.wheel.name == f"qmd_python-{__version__}-py3-none-any.whl"


def test_server_json_names_the_package_and_fits_the_registry(parts: Any, release: Any) -> None:
    described = json.loads(parts.server_json(release)[0].read_text(encoding="utf-8"))
    assert described["packages"][0]["identifier"] == release.project["name"]
    assert described["version"] == described["packages"][0]["version"] == __version__
    assert len(described["description"]) <= 100
    # `uvx qmd-python mcp` needs a command with the name of the package.
    assert release.project["name"] in release.project["scripts"]
    assert f"<!-- mcp-name: {described['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_names_the_repository_and_the_name_in_the_registry(parts: Any) -> None:
    named = (
        "<!-- mcp-name: io.github.OWNER/qmd-python -->\ngit clone ADDRESS-OF-THIS-REPOSITORY qmd && cd qmd\n"
    )
    assert parts.addresses(named) == {"mcp-name": "io.github.OWNER/qmd-python", "repository": ""}
    released = named.replace("OWNER", "ann").replace(
        "ADDRESS-OF-THIS-REPOSITORY", "https://host.example/ann/qmd.git"
    )
    assert parts.addresses(released) == {
        "mcp-name": "io.github.ann/qmd-python",
        "repository": "https://host.example/ann/qmd",
    }


def test_server_json_has_the_bundle_if_there_is_an_address(parts: Any, release: Any) -> None:
    release.own["repository"] = "https://example.invalid/qmd"
    (bundle,) = parts.bundle(release)
    described = json.loads(parts.server_json(release)[0].read_text(encoding="utf-8"))
    assert described["packages"][1] == {
        "registryType": "mcpb",
        "identifier": f"https://example.invalid/qmd/releases/download/v{__version__}/{bundle.name}",
        "fileSha256": parts.sha256(bundle),
        "transport": {"type": "stdio"},
    }


def test_bundle_has_the_wheel_that_its_project_names(parts: Any, release: Any) -> None:
    (made,) = parts.bundle(release)
    with zipfile.ZipFile(made) as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
        project = tomllib.loads(bundle.read("pyproject.toml").decode())
        assert bundle.read(project["tool"]["uv"]["sources"]["qmd-python"]["path"]) == b"wheel"
        assert manifest["server"]["entry_point"] in bundle.namelist()
    assert manifest["version"] == __version__
    assert manifest["license"] == release.project["license"]
    assert project["project"]["requires-python"] == release.project["requires-python"]
    content = made.read_bytes()
    assert parts.bundle(release)[0].read_bytes() == content


def test_claude_plugin_has_the_version_and_the_skill(parts: Any, release: Any) -> None:
    (made,) = parts.plugin(release)
    with zipfile.ZipFile(made) as plugin:
        assert json.loads(plugin.read(".claude-plugin/plugin.json"))["version"] == __version__
        assert plugin.read("skills/qmd/SKILL.md") == (ROOT / "skills/qmd/SKILL.md").read_bytes()


def test_message_of_the_tag_keeps_every_line_of_the_changelog(parts: Any, release: Any) -> None:
    (made,) = parts.tag_message(release)
    lines = made.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"qmd {__version__}"
    # git drops lines that begin with #.
    assert not [line for line in lines if line.startswith("#")]
    _, text = parts.section(__version__)
    assert {line for line in text.splitlines() if line.startswith("- ")} <= {*lines}


@pytest.mark.slow
@pytest.mark.models
def test_bundle_server_indexes_the_folders_that_the_user_chose(make_user: MakeUser) -> None:
    user = make_user("bundle")
    server = ROOT / "integrations" / "mcpb" / "server.py"
    with subprocess.Popen(
        [sys.executable, str(server), str(user.notes), "${user_config.folders}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=user.environ,
        cwd=user.home,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        until(lambda: "Files:" in user.call("collection", "list").stdout, lambda: process.poll() is None)
        asked = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
        process.stdin.write(json.dumps(call).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["result"]["serverInfo"]["version"] == __version__
        until(lambda: json.loads(user.ok("status", "--json"))["needs_embedding"] == 0)
        process.stdin.close()
        assert process.wait() == 0

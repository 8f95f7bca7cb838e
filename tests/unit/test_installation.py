"""The command that adds an extra, by what has installed qmd."""

from __future__ import annotations

import json
import sys
from importlib.metadata import distribution
from pathlib import Path
from shlex import split

import pytest

from qmd.installation import install_command

RECEIPT = """
[tool]
requirements = [
  { name = "qmd-python", extras = ["web", "crypt"], directory = "/x" }, { name = "qmd-contacts" }
]
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the metadata of qmd alone, before all others."""
    folder = tmp_path / "packages"
    about = folder / "qmd_python-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(distribution("qmd-python").read_text("METADATA") or "", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    return about


def came_from(packages: Path, url: str, **more: object) -> None:
    (packages / "direct_url.json").write_text(json.dumps({"url": url, **more}), encoding="utf-8")


def test_uv_tool_is_installed_again_with_all_its_extras(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    came_from(packages, clone.as_uri(), dir_info={})
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT, encoding="utf-8")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    extra = f"{clone}[crypt,formats,web]"
    assert split(install_command("formats")) == ["uv", "tool", "install", extra, "--with", "qmd-contacts"]


def test_pipx_injects_into_its_environment(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came_from(packages, tmp_path.as_uri(), dir_info={"editable": True})
    (tmp_path / "pipx_metadata.json").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert split(install_command("web")) == ["pipx", "inject", tmp_path.name, "-e", f"{tmp_path}[web]"]


@pytest.mark.parametrize(
    ("record", "requirement"),
    [
        ({}, "qmd-python[crypt]"),
        (
            {"url": "https://host.example/x.whl", "archive_info": {}},
            "qmd-python[crypt] @ https://host.example/x.whl",
        ),
        (
            {"url": "https://host.example/x", "vcs_info": {"vcs": "git", "requested_revision": "v2"}},
            "qmd-python[crypt] @ git+https://host.example/x@v2",
        ),
        ({"url": "file:///not/there/any/more", "dir_info": {}}, "pyrage>=1.3"),
    ],
)
def test_requirement_names_where_qmd_came_from(
    packages: Path, record: dict[str, object], requirement: str
) -> None:
    (packages / "direct_url.json").write_text(json.dumps(record), encoding="utf-8")
    assert split(install_command("crypt"))[-2:] == ["install", requirement]


def test_pip_of_the_environment_is_called_by_its_name(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert split(install_command("crypt"))[:1] == [sys.executable]
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert install_command("crypt") == "pip install 'qmd-python[crypt]'"

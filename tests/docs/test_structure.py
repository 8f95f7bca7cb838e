"""The pages for developers name files and tables that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from qmd.features import COMMANDS, FEATURES, PAGES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "qmd"
#: Paths in backticks: `text/tokens.py`, `tests/store`, `engine/doctor/`. Names in capitals stand for others.
_PATH = re.compile(r"`([a-z](?:[a-z_0-9.-]*/)+[a-z_0-9.-]*)`")
_FOLDER = re.compile(r"\]\((src/[^)]+)\)")
_ROW = re.compile(r"^\| `(qmd\.\w+)` \|.*\| `([^`]+)` \|$", re.M)
_TABLE = re.compile(r'\bTable\(\s*"(qmd\.\w+)"')
#: The beginnings of what a release makes.
MADE = ("dist/", "release/")


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_pages_for_developers_name_paths_that_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = {*_PATH.findall(text), *_FOLDER.findall(text)}
    assert len(named) > 10
    places = (ROOT, SOURCE, SOURCE / "engine", SOURCE.parent)
    missing = [path for path in sorted(named) if not any(_is_here(place / path) for place in places)]
    assert [path for path in missing if not path.startswith(MADE)] == []


def _is_here(path: Path) -> bool:
    """Return whether a path is a file, or a folder with more than what Python has compiled."""
    return path.is_file() or any(file.is_file() and file.suffix != ".pyc" for file in path.rglob("*"))


def test_architecture_has_every_table_that_features_join() -> None:
    rows = dict(_ROW.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")))
    found = {
        group: path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for group in _TABLE.findall(path.read_text(encoding="utf-8"))
    }
    assert rows == found


def test_the_way_to_read_it_is_of_files_that_exist_and_a_fifth_of_the_source() -> None:
    section = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## A way to read it\n")[2]
    named = re.findall(r"^\| `([\w/]+\.py)` \| \S", section.partition("\n## ")[0], re.M)
    lines = {path: (SOURCE / path).read_text(encoding="utf-8").count("\n") for path in named}
    assert len(lines) == len(named)
    assert f"{len(named)} files" in section
    assert sum(lines.values()) < 17_500


@pytest.mark.parametrize("feature", FEATURES)
def test_feature_has_pages_that_name_its_commands(feature: str) -> None:
    site = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    pages = [f"{page}.md" for page in PAGES[feature]]
    assert pages
    assert [page for page in pages if f'"{page}"' not in site] == []
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    names = [name for name in FEATURES[feature].get("qmd.commands", {}) if name in COMMANDS]
    assert [name for name in names if f"qmd {name}" not in text] == []


def test_the_readme_alone_has_what_a_release_replaces() -> None:
    folders = ("docs", "examples", "integrations", "skills", "deploy", "scripts")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = {
        path: path.read_text(encoding="utf-8", errors="replace") for path in [*files, ROOT / "pyproject.toml"]
    }
    assert [
        path.name for path, text in texts.items() if "ADDRESS-OF-" in text or "github.OWNER" in text
    ] == []

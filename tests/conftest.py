"""What all tests share: folders of documents, and an index that no other test sees."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import qmd

Notes = Callable[..., Path]


@pytest.fixture(scope="session")
def model_cache() -> str:
    """Where the default model is prepared, once for all runs of the tests."""
    folder = Path(tempfile.gettempdir()) / "qmd-tests-cache"
    folder.mkdir(exist_ok=True)
    return str(folder)


@pytest.fixture
def environ(tmp_path: Path, model_cache: str) -> dict[str, str]:
    """Variables of a user of whom nothing is known."""
    return {
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": model_cache,
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "QMD_SQLITE_BUSY_TIMEOUT": "60000",
    }


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """Writes files: `notes({"a.md": "text"})` or `notes(folder="other", files={...})`; returns the folder."""

    def write(files: dict[str, str], folder: str = "notes") -> Path:
        root = tmp_path / folder
        root.mkdir(exist_ok=True)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root

    return write


@pytest.fixture
def index(tmp_path: Path, environ: dict[str, str]) -> Iterator[qmd.Index]:
    """An empty index."""
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as opened:
        yield opened


def pytest_configure() -> None:
    # Run in the background, a shell has us ignore Ctrl-C, and the programs that tests interrupt inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

"""Fixtures of all tests: folders of documents, and an index for each test."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import qmd
from tests import milvus
from tests.users import MakeUser, User, make_home

Notes = Callable[..., Path]
TESTS = Path(__file__).parent


@pytest.fixture(scope="session")
def model_cache() -> str:
    """The cache of the default model, which is prepared once for all runs of the tests."""
    folder = Path(tempfile.gettempdir()) / "qmd-tests-cache"
    folder.mkdir(exist_ok=True)
    return str(folder)


@pytest.fixture
def environ(tmp_path: Path, model_cache: str) -> dict[str, str]:
    """Environment variables of a user without configuration, index or approvals."""
    return {
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": model_cache,
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "QMD_SQLITE_BUSY_TIMEOUT": "60000",
    }


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """Write files: `notes({"a.md": "text"})` or `notes(folder="other", files={...})`; return the folder."""

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


@pytest.fixture(scope="session")
def make_user(tmp_path_factory: pytest.TempPathFactory, model_cache: str) -> MakeUser:
    """Make users who have notes but no index."""
    models = Path(model_cache) / "qmd" / "models"
    models.mkdir(parents=True, exist_ok=True)

    def make(name: str) -> User:
        return make_home(tmp_path_factory.mktemp(name), models)

    return make


@pytest.fixture(scope="session")
def milvus_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Milvus server, which other programs can use too."""
    with milvus.server_of(tmp_path_factory.mktemp("served") / "data") as port:
        yield port


@pytest.fixture
def served(milvus_port: int) -> str:
    """The address of an empty database on the Milvus server."""
    return milvus.new_database(milvus_port)


def pytest_configure() -> None:
    # The time of an example depends on the load of the machine, so there is no deadline.
    unhurried: Any = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("qmd", **unhurried, max_examples=50)
    settings.register_profile("quick", **unhurried, max_examples=25)
    settings.load_profile("qmd")
    # A shell ignores Ctrl-C in programs that it runs in the background, and the programs that tests interrupt
    # would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Bytecode is kept, so that the programs that tests start compile the package only once.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


#: Markers that tests get by their folder, and by a fixture.
BY_FOLDER = {
    "extras": "extras",
    "judges": "judges",
    "models": "models",
    "neighbours": "neighbours",
    "browser": "browser",
}
BY_FIXTURE = {
    "milvus_port": "milvus",
    "embedder": "models",
    "reranker": "models",
    "seer": "models",
    "seeing": "models",
}

#: Tests with one of these markers begin first, in this order: long groups, slow tests, and then all others.
FIRST = ("browser", "judges", "extras", "neighbours", "slow", "")


def _shares(item: pytest.Function) -> bool:
    """Return whether a test uses a fixture that its module makes once."""
    made = item._fixtureinfo.name2fixturedefs.values()
    return any(each.scope == "module" for fixtures in made for each in fixtures)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by folder and fixture, and group them for pytest-xdist."""
    for item in items:
        assert isinstance(item, pytest.Function)
        parts = item.path.relative_to(TESTS).parts
        folder = "browser" if "browser" in parts else parts[0]
        markers = {BY_FOLDER.get(folder)} | {BY_FIXTURE.get(name) for name in item.fixturenames}
        for marker in markers - {None}:
            item.add_marker(str(marker))
        if item.get_closest_marker("milvus") and not milvus.INSTALLED:
            item.add_marker(pytest.mark.skip(reason="the extra 'milvus' is not installed"))
        # A group runs in one process, because modules have fixtures with the scope of a module, and the
        # judges one installation. Other slow tests are in no group, so that they are spread evenly.
        if folder in ("judges", "neighbours", "browser"):
            item.add_marker(pytest.mark.xdist_group(folder))
        elif not item.get_closest_marker("slow") or _shares(item):
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))
    if hasattr(config, "workerinput"):
        # A slow test, or a long group, that starts last would keep all other processes waiting.
        items.sort(
            key=lambda item: next(
                at for at, name in enumerate(FIRST) if not name or item.get_closest_marker(name)
            )
        )

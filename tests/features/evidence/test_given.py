"""What sessions have been given, in memory and in files."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from qmd.errors import StoreError
from qmd.features.evidence import given
from qmd.features.evidence.given import Given, GivenFiles, GivenInMemory
from qmd.text.digest import passage_hash

FIRST, SECOND = passage_hash("the first"), passage_hash("the second")
Clock = Callable[[], float]


@pytest.fixture(params=["memory", "files"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Clock], Given]:
    if request.param == "memory":
        return GivenInMemory
    return lambda clock: GivenFiles(str(tmp_path), clock)


def test_given_returns_what_a_session_was_given_in_order(make: Callable[[Clock], Given]) -> None:
    store = make(time.time)
    store.add("one", {FIRST: "notes/a.md:1-3"})
    store.add("one", {SECOND: "notes/b.md:7"})
    assert list(store.of("one").items()) == [(FIRST, "notes/a.md:1-3"), (SECOND, "notes/b.md:7")]
    assert not store.of("another")


def test_given_forgets_a_session_after_seven_days(make: Callable[[Clock], Given]) -> None:
    now = [time.time()]
    store = make(lambda: now[0])
    store.add("one", {FIRST: "notes/a.md:1-3"})
    now[0] += given.LIFETIME + 60
    assert not store.of("one")
    store.add("one", {SECOND: "notes/b.md:7"})
    assert [*store.of("one")] == [SECOND]


def test_given_keeps_the_last_passages_and_sessions(
    make: Callable[[Clock], Given], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given, "MAX_PASSAGES", 3)
    monkeypatch.setattr(given, "MAX_SESSIONS", 2)
    store = make(time.time)
    store.add("one", {passage_hash(str(number)): f"a.md:{number}" for number in range(5)})
    assert [*store.of("one").values()] == ["a.md:2", "a.md:3", "a.md:4"]


def test_given_files_are_private_and_named_by_digest(tmp_path: Path) -> None:
    store = GivenFiles(str(tmp_path))
    store.add("../../evil\n", {FIRST: "notes/two\nlines.md:1"})
    [file] = (tmp_path / "given").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert file.name.isalnum()
    assert [*store.of("../../evil\n").values()] == [r"notes/two\nlines.md:1"]


def test_given_files_do_not_follow_links(tmp_path: Path) -> None:
    store = GivenFiles(str(tmp_path))
    store.add("one", {FIRST: "a.md:1"})
    [file] = (tmp_path / "given").iterdir()
    target = tmp_path / "target"
    target.write_text("mine")
    file.unlink()
    file.symlink_to(target)
    with pytest.raises(StoreError):
        store.add("one", {SECOND: "a.md:2"})
    assert target.read_text() == "mine"
    assert not store.of("one")


def test_passage_hash_ignores_white_space_around_a_passage() -> None:
    assert passage_hash("  text\n\n") == passage_hash("text") != passage_hash("other")

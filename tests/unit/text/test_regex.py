"""Patterns that are kept compiled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from qmd.text.regex import KeptPatterns

PATTERNS: list[tuple[str | bytes, int]] = [
    (r"(?P<year>\d{4})-(?P<month>\d\d)|(now)", 0),
    (r"[\u4e00-\u9fff]++(?=数)|(?<!é)x*?", re.I),
    (rb"[a-z]+\Z", re.M),
    (r"(?mi)^\s*(?:#|//)", 0),
]


@pytest.fixture(autouse=True)
def writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)


def check(file: Path) -> None:
    """Check that each pattern is what `re` makes of it, also of a process that reads the file anew."""
    for kept in (KeptPatterns(str(file)), KeptPatterns(str(file))):
        for text, flags in PATTERNS:
            made, compiled = kept.pattern(text, flags), re.compile(text, flags)
            # Patterns are equal if their code is.
            assert made == compiled
            assert (made.groups, dict(made.groupindex)) == (compiled.groups, dict(compiled.groupindex))


def test_kept_patterns_are_those_of_re_and_are_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(tmp_path / "patterns")
    made = [re.compile(text, flags) for text, flags in PATTERNS]
    monkeypatch.setattr("re.compile", None)
    kept = KeptPatterns(str(tmp_path / "patterns"))
    assert [kept.pattern(text, flags) for text, flags in PATTERNS] == made
    assert [each.name for each in tmp_path.iterdir()] == ["patterns"]


@given(st.floats(0, 1), st.binary(max_size=12))
def test_damaged_file_is_replaced(
    tmp_path_factory: pytest.TempPathFactory, share: float, instead: bytes
) -> None:
    file = tmp_path_factory.mktemp("kept") / "patterns"
    check(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))] + instead)
    check(file)
    assert len(file.read_bytes()) == len(whole)


def test_patterns_of_another_python_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "patterns"
    check(file)
    file.write_bytes(file.read_bytes().replace(b"3.", b"2.", 1))
    check(file)
    assert b"2." not in file.read_bytes()[:2]


def test_patterns_are_compiled_where_nothing_can_be_written(tmp_path: Path) -> None:
    check(tmp_path / "missing" / "patterns")
    check(tmp_path)

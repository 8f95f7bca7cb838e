"""Token bounds that need no tokenizer; tests/judges compares them with two."""

from __future__ import annotations

import pytest

from qmd.text import budget


def test_count_of_nothing_is_zero() -> None:
    assert budget.count("") == 0


@pytest.mark.parametrize("text", ["word", " \ud800", "漢字", "é" * 100, "\n"])
def test_count_of_anything_is_positive(text: str) -> None:
    assert budget.count(text) >= 1


@pytest.mark.parametrize("unit", ["a", "漢", "é", "é ", "😀", " ", "\n", "((", "1", "\u0301", "aB", "\ud800"])
def test_count_grows_with_a_repeated_text(unit: str) -> None:
    once, often = budget.count(unit * 1_000), budget.count(unit * 100_000)
    assert 50 * once <= often <= 150 * once

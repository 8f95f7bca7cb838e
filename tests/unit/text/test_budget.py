"""Token bounds that need no tokenizer, which tests/judges compares with two; and places to cut a text."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from qmd.text import budget
from qmd.text.budget import cuts
from tests.markdown import fences


def test_count_of_nothing_is_zero() -> None:
    assert budget.count("") == 0


@pytest.mark.parametrize("text", ["word", " \ud800", "漢字", "é" * 100, "\n"])
def test_count_of_anything_is_positive(text: str) -> None:
    assert budget.count(text) >= 1


@pytest.mark.parametrize("unit", ["a", "漢", "é", "é ", "😀", " ", "\n", "((", "1", "\u0301", "aB", "\ud800"])
def test_count_grows_with_a_repeated_text(unit: str) -> None:
    once, often = budget.count(unit * 1_000), budget.count(unit * 20_000)
    assert 10 * once <= often <= 30 * once


def parts(text: str) -> list[str]:
    """Return what each cut leaves of a text."""
    return [text[:length] for length in cuts(text, fences(text))]


def test_cuts_follow_lines_and_sentences() -> None:
    assert parts("One. Two?\n\nThree\nfour") == ["One.", "One. Two?", "One. Two?\n\nThree"]


def test_cuts_follow_sentences_of_unspaced_scripts() -> None:
    assert parts("今天。明天！「后天。」完") == ["今天。", "今天。明天！", "今天。明天！「后天。」"]


def test_cuts_do_not_follow_numbers_of_items_and_headings() -> None:
    assert parts("1. First\n# Next\ntext") == ["1. First"]


def test_cuts_are_not_inside_of_fences() -> None:
    fence = "```py\na. b\n\n~~~\nc\n```"
    assert parts(f"Before\n{fence}\nAfter\nEnd") == ["Before", f"Before\n{fence}", f"Before\n{fence}\nAfter"]
    assert parts(f"- item\n\n      {fence.replace(chr(10), chr(10) + '      ')}\n  x")[0] == "- item"
    assert parts("> ````\n> ```\n> x. y\n> ````\nEnd") == ["> ````\n> ```\n> x. y\n> ````"]
    assert parts("```\nnever closed. At all.\nx") == []


def test_cuts_are_not_inside_of_rows_of_tables() -> None:
    table = "| a. b | c |\n|---|---|\n| d. e | f |"
    rows = table.split("\n")
    assert parts(table + "\nEnd.") == ["\n".join(rows[:number]) for number in (1, 2, 3)]


@given(st.text(st.sampled_from("ab .。!\n`~|#>-1")))
def test_cuts_ascend_and_leave_something(text: str) -> None:
    found = list(cuts(text, fences(text)))
    assert found == sorted(set(found))
    assert all(0 < length < len(text) and text[:length].strip() for length in found)

"""Names that mean the same."""

from __future__ import annotations

from hypothesis import given, strategies as st

from qmd.text.synonyms import _GROUPS, meant

NAMES = ("limit", "minScore", "max_lines", "--collection")


def test_meant_finds_a_name_of_the_same_thing() -> None:
    assert meant("top_k", NAMES) == "limit"
    assert meant("--threshold", NAMES) == "minScore"
    assert meant("lines", NAMES) == "max_lines"
    assert meant("in", NAMES) == "--collection"
    assert meant("colour", NAMES) is None


def test_meant_finds_a_name_in_another_style() -> None:
    assert meant("min_score", NAMES) == "minScore"
    assert meant("MaxLines", NAMES) == "max_lines"
    assert meant("--min-score", NAMES) == "minScore"


@given(st.text(), st.lists(st.sampled_from([word for group in _GROUPS for word in group]), unique=True))
def test_meant_returns_none_or_a_name(word: str, names: list[str]) -> None:
    assert meant(word, names) in {None, *names}

"""Indexing finds the terms of a text faster than by its words, and they are the same."""

from __future__ import annotations

from hypothesis import example, given, strategies as st

from qmd.text.tokens import (
    bigrams,
    fold,
    is_unspaced,
    terms,
    terms_of,
    words,
)

TEXTS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("aZ9'’streSLD-_./ \n\t é\u0301中國ガﾊﾟ½👍🏽"))
)


@given(TEXTS)
@example("'tis l'ecole, it's 'quoted' rock'n'roll O'RE")
@example("one line\nzwei für Größe\n三行 and more's")
def test_terms_equal_the_terms_of_all_words_in_order(text: str) -> None:
    assert terms(text) == [term for word in words(text) for term in terms_of(word) if term]


@given(TEXTS)
@example("國語ガ")
@example("一" * 40)
@example("ก" + "่" * 40)
def test_terms_of_an_unspaced_run_are_bigrams_of_its_folded_form(text: str) -> None:
    for word in words(text):
        if is_unspaced(word) and is_unspaced(fold(word)):
            assert terms_of(word) == bigrams(fold(word))

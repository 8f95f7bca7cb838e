"""The lexical grammar and the tokenizer, for arbitrary text."""

from __future__ import annotations

import re
import unicodedata
from operator import itemgetter

import apsw
import pytest
from hypothesis import example, given, settings, strategies as st

from qmd.errors import QueryError
from qmd.store.sqlite.terms import expression
from qmd.text import tokens
from qmd.text.highlight import Highlighter
from qmd.text.query import longer_words, parse, parse_document

ANYTHING = st.text(max_size=200)
TYPED = st.text(alphabet="ab数据 検\"-*():^{}+'~\x00\n“”@./_:AÉ한ไทย½📅→❤\ufe0f\u200d\U0001f3fd", max_size=60)


@pytest.fixture(scope="module")
def fts() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(body, tokenize='ascii')")
    return connection


@settings(max_examples=300)
@given(text=ANYTHING | TYPED)
def test_parse_makes_a_valid_full_text_query_of_any_text(fts: apsw.Connection, text: str) -> None:
    query = parse(text)
    longer = [term for term in map(longer_words, query.terms) if term is not None]
    for term in (*query.terms, *query.negative, *longer):
        fts.execute("SELECT count(*) FROM f WHERE f MATCH ?", (expression(term),)).fetchall()


@settings(max_examples=300)
@given(text=ANYTHING | TYPED)
def test_terms_have_no_character_that_fts5_splits_at(text: str) -> None:
    for term in tokens.terms(text):
        assert term
        assert all(not character.isascii() or character.isalnum() for character in term), term
        assert not any(character.isspace() for character in term)


@settings(max_examples=300)
@given(text=ANYTHING | TYPED)
def test_spans_cover_the_words_they_come_from(text: str) -> None:
    spans = list(tokens.spans(text))
    assert [term for _, _, term in spans] == tokens.terms(text)
    for start, end, _ in spans:
        assert 0 <= start < end <= len(text)


@settings(max_examples=300)
@given(text=TYPED | ANYTHING, query=TYPED)
@example(text="\u03000", query="0")  # a mark that belongs to no word
@example(
    text="eing, oeds, vying, only and an", query="e o a vie"
)  # stems that are not prefixes of their words, or short
@example(text="banana b", query="b b*")
@example(text="据:据\u200d据", query="据")
def test_highlighter_finds_exactly_the_spans_of_query_terms(text: str, query: str) -> None:
    marker = Highlighter(parse(query).terms)
    every = [(*span, weight) for span in tokens.spans(text) if (weight := marker.weight(span[2]))]
    assert marker.find(text) == sorted(every, key=itemgetter(0, 1))


@settings(max_examples=300)
@given(
    text=st.text(alphabet="ab 数据-한'", max_size=20),
    phrase=st.text(alphabet="ab 数据-한", min_size=2, max_size=6),
)
@example(text="a - b", phrase="a b")
@example(text="数据库 数库", phrase="数库")
def test_highlighter_marks_a_phrase_exactly_as_the_index_has_it(text: str, phrase: str) -> None:
    (term, *_) = parse(f'"{phrase}"').terms or (None,)
    if term is None or len(term.tokens) < 2:
        return
    spellings = [f" {' '.join(tokens)}" for tokens in (term.tokens, *term.alternatives)]
    terms = [*tokens.spans(text)]
    places = {
        terms[at][0]
        for at in range(len(terms))
        for spelling in spellings
        if (" " + " ".join(name for *_, name in terms[at:]) + " ").startswith(
            spelling + ("" if term.prefix else " ")
        )
    }
    marked = Highlighter([term]).find_all(text)
    assert {start for start, _, name, _ in marked if " " in name.strip()} == places


def test_unspaced_characters_fold_to_themselves_unless_composed() -> None:
    alone = re.compile(f"(?![{tokens.COMPOSED}])[{tokens.UNSPACED}]")
    for character in map(chr, [*range(0x0E00, 0xD800), *range(0xE000, 0x40000)]):
        if alone.match(character):
            assert unicodedata.normalize("NFKC", character) == character
            assert not unicodedata.combining(character)


@given(text=st.text(alphabet="abc数据库検索한국 -/📅→\ufe0f", min_size=1, max_size=30))
def test_text_in_quotes_finds_itself(text: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(body, tokenize='ascii')")
    connection.execute("INSERT INTO f VALUES (?)", (tokens.index_form(f"before {text} after"),))
    (term, *_) = parse(f'"{text}"').terms or (None,)
    if term is not None:
        found = connection.execute("SELECT count(*) FROM f WHERE f MATCH ?", (expression(term),)).fetchall()
        assert found == [(1,)]


def test_fold_takes_bounded_time_for_many_marks() -> None:
    """Normalisation sorts marks in time quadratic in their number."""
    sortable = [each for each in map(chr, range(0x110000)) if unicodedata.combining(each)]
    for mark in sortable:
        for start in ("a", "ก", "か"):
            (word, *_) = tokens.words(start + 1000 * mark) or [""]
            assert len(tokens.fold(word)) < 200, hex(ord(mark))


@given(word=st.text(alphabet="aé-ßｱ한'", min_size=1, max_size=30), more=st.integers(0, 400))
@example(word="-a-'", more=0)
def test_terms_of_long_words_are_cut_alike_in_texts_and_queries(word: str, more: int) -> None:
    text = word + more * "x" + word
    for term in tokens.terms(text):
        assert len(term) <= tokens.MAX_TERM
    for typed in (text, f'"{text}"'):
        held = f" {' '.join(tokens.terms(text))} "
        for each in parse(typed).terms:
            assert f" {' '.join(each.tokens)}" in held


def test_symbols_are_neither_letters_digits_nor_punctuation() -> None:
    """Symbols must not be letters, digits or punctuation, which words and the grammar consist of."""
    for symbol in re.findall(f"[{tokens.SYMBOLS}]", "".join(map(chr, range(0x110000)))):
        assert unicodedata.category(symbol) in {"So", "Sm", "Sc", "Sk", "Cn"}, hex(ord(symbol))
        assert tokens.terms(f"a{symbol}b") == ["a", symbol, "b"]


@settings(max_examples=300)
@given(text=ANYTHING | TYPED)
def test_query_document_is_parsed_or_refused_with_a_reason(text: str) -> None:
    try:
        document = parse_document(text)
    except QueryError as error:
        assert error.message
        assert "\n" not in error.message
    else:
        assert document.expand or document.searches


def test_folding_a_variant_is_idempotent() -> None:
    table = tokens.han_variants()
    assert [value for value in table.values() if value in table] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "cafe\u0301"),
        ("資料庫", "资料库"),
        ("検索", "檢索"),
        ("ＡＰＩ", "api"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("Straße", "STRASSE"),
        ("❤️", "❤"),
        ("👍🏽", "👍"),
        ("👩\u200d💻", "👩💻"),
    ],
)
def test_equivalent_spellings_of_a_word_are_one_term(one: str, other: str) -> None:
    assert tokens.terms(one) == tokens.terms(other)

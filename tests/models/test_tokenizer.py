from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from qmd.models.e5 import convert
from qmd.models.e5.embedder import E5Embedder
from qmd.models.e5.tokenizer import UNKNOWN, Tokenizer
from tests.models.oracle import Oracle

# Token ids of XLM-RoBERTa's published tokenizer, without <s> and </s>.
PUBLISHED = {
    "Hello world": [35378, 8999],
    "Hello world!": [35378, 8999, 38],
    "你好，世界": [6, 124084, 4, 3221],
    "query:": [41, 1294, 12],
    "passage:": [46692, 12],
}


#: Letters of many scripts, marks, compatibility forms, controls and spaces, which random text rarely has.
MIXED = st.text(
    alphabet="aeE ,.-数据库が\u3099ｶﾞﾞ한\u1112\u1161\u11ab\u0301\u0323\u0345\u20dd"
    "½¨～Ａ１㍿ﬁ\u00a0\u200b\x07\x00\t▁ไม่ำअ़न्ع🎉𓀀\ufffd",
    max_size=40,
)


@pytest.fixture(scope="module")
def oracle(e5_cache: Path, embedder: E5Embedder) -> Oracle:
    folder = convert.prepare(e5_cache)
    pieces = (folder / convert.PIECES).read_text(encoding="utf-8").split("\n")
    return Oracle(pieces, np.fromfile(folder / convert.SCORES, "<f4").tolist())


#: Characters that every version of Unicode in use normalises alike.
OLD = st.characters(exclude_categories=["Cs"]).filter(lambda c: unicodedata.ucd_3_2_0.category(c) != "Cn")


@settings(max_examples=500, deadline=None)
@given(text=MIXED | st.text(OLD, max_size=60))
def test_ids_equal_those_of_the_compiled_library(tokenizer: Tokenizer, oracle: Oracle, text: str) -> None:
    assert tokenizer.ids(text) == oracle.ids(text)


@pytest.mark.parametrize("text", PUBLISHED)
def test_ids_equal_those_of_xlm_roberta(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.ids(text) == PUBLISHED[text]


@pytest.mark.parametrize("text", ["", " ", " \t\r\n\u3000\u200b "])
def test_text_without_words_has_no_tokens(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.ids(text) == []
    assert tokenizer.offsets(text) == []


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("  a \t\n  b  ", "a b"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ　１２", "Full width 12"),
        ("ﾊﾝｶｸ", "ハンカク"),
        ("e\u0301te\u0301", "été"),
        ("zero\u200bwidth", "zero width"),
        ("bell\x07less", "bellless"),
        ("\ufeffmark", "mark"),
        ("▁meta", "meta"),
    ],
)
def test_equivalent_characters_have_equal_ids(tokenizer: Tokenizer, text: str, plain: str) -> None:
    assert tokenizer.ids(text) == tokenizer.ids(plain)


def test_full_width_tilde_is_not_normalised(tokenizer: Tokenizer) -> None:
    assert tokenizer.ids("10～20") != tokenizer.ids("10~20")


def test_text_never_matches_a_special_token(tokenizer: Tokenizer) -> None:
    assert not {0, 1, 2, UNKNOWN, 250001} & set(tokenizer.ids("<s> </s> <pad> <unk> <mask> a<mask>b"))


def test_run_of_unknown_characters_is_one_token(tokenizer: Tokenizer) -> None:
    assert tokenizer.ids("\U00013000\U00013001").count(UNKNOWN) == 1


def test_lone_surrogates_count_as_space(tokenizer: Tokenizer) -> None:
    assert tokenizer.ids("a\ud800b") == tokenizer.ids("a b")
    assert tokenizer.offsets("a\ud800b") == [(0, 2), (2, 3)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello wide  world", ["Hello", "wide", "world"]),
        ("你好，世界", ["", "你好", "，", "世界"]),
        ("こんにちは 안녕하세요", ["", "こんにちは", "안녕하세요"]),
        ("e\u0301te\u0301 fini", ["e\u0301te\u0301", "fini"]),
        ("🎉🎉 ok", ["", "🎉", "🎉", "ok"]),
        ("x\x07 y", ["x\x07", "y"]),
    ],
)
def test_offsets_are_spans_of_the_original_text(tokenizer: Tokenizer, text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in tokenizer.offsets(text)] == words


def test_offsets_match_ids_in_long_text_without_spaces(tokenizer: Tokenizer) -> None:
    text = "数据库连接池" * 900
    spans = tokenizer.offsets(text)
    assert len(spans) == len(tokenizer.ids(text))
    assert "".join(text[start:end] for start, end in spans) == text


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=80))
def test_offsets_are_ordered_and_cover_everything_but_space(tokenizer: Tokenizer, text: str) -> None:
    spans = tokenizer.offsets(text)
    assert len(spans) == len(tokenizer.ids(text))
    assert spans == sorted(spans)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    covered = {position for start, end in spans for position in range(start, end)}
    bare = [text[position] for position in range(len(text)) if position not in covered]
    assert all(tokenizer.ids(character) == [] for character in bare)

from __future__ import annotations

import pytest

from qmd.config.validate import nfc, validate_collection_name, validate_encoding, validate_index_name
from qmd.errors import UsageError


@pytest.mark.parametrize("name", ["index", "work", "a.b", "2024", "my_notes-2", "笔记"])
def test_validate_index_name_accepts_letters_digits_and_separators(name: str) -> None:
    validate_index_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "../up", "a\\b", "a b", "a\0", "a\n", "~", "x" * 201, "笔" * 67]
)
def test_validate_index_name_refuses_impossible_file_names(name: str) -> None:
    with pytest.raises(UsageError):
        validate_index_name(name)


@pytest.mark.parametrize("name", ["notes", "数据库", "my notes", "a.b", "2024", "été", "x" * 100, "C++", "-"])
def test_validate_collection_name_accepts_any_script(name: str) -> None:
    validate_collection_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *["", ".", "..", ".hidden", "a/b", "a\\b", " a", "a ", "x" * 101],
        *["a\nb", "a\tb", "a\0", "a\x7f", "\x85", "a\u2028b", "a\ud800"],
    ],
)
def test_validate_collection_name_refuses_names_that_break_paths(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        validate_collection_name(name)
    assert "\n" not in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", ["big5", "gb18030", "UTF-8", "latin-1"])
def test_validate_encoding_accepts_every_name_of_a_charset(name: str) -> None:
    validate_encoding(name)


@pytest.mark.parametrize("name", ["base64", "rot13", "no-such-charset", "", "a\0b"])
def test_validate_encoding_refuses_an_unknown_charset(name: str) -> None:
    with pytest.raises(UsageError):
        validate_encoding(name)


def test_nfc_composes_accents() -> None:
    assert nfc("e\u0301te") == "éte"
    assert nfc("plain") == "plain"

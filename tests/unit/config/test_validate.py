from __future__ import annotations

import pytest

from qmd.config.validate import nfc, validate_collection_name, validate_encoding, validate_index_name
from qmd.errors import UsageError


@pytest.mark.parametrize("name", ["index", "work", "a.b", "2024", "my_notes-2", "笔记"])
def test_an_index_name_of_letters_digits_and_joints_is_accepted(name: str) -> None:
    validate_index_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "../up", "a\\b", "a b", "a\0", "a\n", "~", "x" * 201, "笔" * 67]
)
def test_an_index_name_that_cannot_be_a_file_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        validate_index_name(name)


@pytest.mark.parametrize("name", ["notes", "数据库", "my notes", "a.b", "2024", "été", "x" * 100, "C++", "-"])
def test_a_collection_name_may_be_in_any_script(name: str) -> None:
    validate_collection_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *["", ".", "..", ".hidden", "a/b", "a\\b", " a", "a ", "x" * 101],
        *["a\nb", "a\tb", "a\0", "a\x7f", "\x85", "a\u2028b", "a\ud800"],
    ],
)
def test_a_collection_name_that_breaks_paths_or_lines_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        validate_collection_name(name)
    assert "\n" not in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", ["big5", "gb18030", "UTF-8", "latin-1"])
def test_a_charset_is_accepted_by_any_of_its_names(name: str) -> None:
    validate_encoding(name)


@pytest.mark.parametrize("name", ["base64", "rot13", "no-such-charset", "", "a\0b"])
def test_unknown_charset_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        validate_encoding(name)


def test_both_spellings_of_an_accent_are_one() -> None:
    assert nfc("e\u0301te") == "éte"
    assert nfc("plain") == "plain"

"""Values of front matter and the text that writes them."""

from __future__ import annotations

import json
import pickle

from hypothesis import given, strategies as st

from qmd.text.front_matter import scalar
from qmd.text.values import Value, key_of, plain, read_written, shown, typed, written

NUMBERS = st.from_regex(r"\A[-+]?\d{1,15}(\.\d{0,4})?([eE][-+]?\d{1,2})?\Z") | st.integers().map(str)
DATES = st.from_regex(r"\A20\d\d-\d{1,2}-\d{1,2}([T ]\d\d:\d\d(:\d\d)?(Z|\+02:00)?)?\Z")
TEXTS = (
    NUMBERS | DATES | st.text(max_size=20) | st.sampled_from(["true", "False", "yes", "~", "1_000", "0x1f"])
)


@given(TEXTS)
def test_value_is_shown_as_it_is_written(text: str) -> None:
    value = scalar(text)
    if value is not None and not isinstance(value, bool):
        assert shown(value) == text.strip()


@given(TEXTS)
def test_value_is_the_same_after_it_was_stored_or_sent(text: str) -> None:
    value = scalar(text.replace("\0", " "))
    if value is None:
        return
    kind, _ = key_of(value)
    stored = shown(value) if type(value) not in (str, float, bool) else value
    same: list[Value] = [
        read_written(json.loads(json.dumps(written(value)))),
        pickle.loads(pickle.dumps(value)),
    ]
    for each in [*same, typed(stored, kind)]:
        assert (type(each), key_of(each), shown(each)) == (type(value), key_of(value), shown(value))


@given(TEXTS)
def test_programs_get_a_basic_type_with_the_same_key(text: str) -> None:
    value = scalar(text)
    if value is not None:
        assert type(plain(value)) in (str, int, float, bool)
        assert key_of(plain(value)) == key_of(value)


@given(st.text(max_size=30))
def test_text_that_begins_like_a_stored_value_is_read_without_an_error(text: str) -> None:
    assert shown(read_written(f"\0{text}")) == text

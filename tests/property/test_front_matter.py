"""Front matter that is read without the YAML parser has the same values as in YAML."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given, strategies as st

from qmd.text import front_matter

WORDS = st.one_of(
    st.text("aZ0 9_-./+é中e1", min_size=1, max_size=6),
    st.sampled_from(["true", "null", "2024-01-02", "a - b", "a:b", "https://a.b/c?d=e&f", 'it\'s "x" (y)']),
)
KEYS = st.one_of(st.text("aZé_-. 1", min_size=1, max_size=5), st.sampled_from(["online version", "ms.date"]))
ENTRIES = st.one_of(
    st.builds("{}: {}".format, KEYS, WORDS),
    st.builds(lambda key, values: f"{key}: [{', '.join(values)}]", KEYS, st.lists(WORDS, max_size=3)),
    st.builds(
        lambda key, indent, values: "".join([f"{key}:", *(f"\n{indent}- {value}" for value in values)]),
        KEYS,
        st.sampled_from(["", " ", "  "]),
        st.lists(WORDS, max_size=3),
    ),
)


@given(st.lists(ENTRIES, max_size=4).map("\n".join))
@example("title: a\ntags: [a, b c]\nalias:\n  - one\n  - 2\nempty:\nupdated: 2024-01-02 10:00")
@example("1: 0\n1: -")
@example(f"{'ß' * 60}: a key that folding makes too long")
def test_plain_front_matter_has_the_values_of_yaml(text: str) -> None:
    read = front_matter.read(text)
    # A comment makes the reader use the parser, and does not change a value.
    parsed = front_matter.read(f"{text}\n# a comment\n")

    assert (read.fields, read.omitted) == (parsed.fields, parsed.omitted)


def test_plain_front_matter_does_not_call_the_yaml_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the parser was called")

    monkeypatch.setattr(yaml, "compose", refuse)

    read = front_matter.read("title: a b\ntags: [x, y]\nalias:\n  - one\n  - two\ndate: 2024-01-02\nempty:\n")

    assert read.fields == {
        "title": ("a b",),
        "tag": ("x", "y"),
        "alias": ("one", "two"),
        "date": ("2024-01-02",),
    }

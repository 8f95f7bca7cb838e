"""Files that are no valid index.yml, and limits on their size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from qmd.config.index_yml import MAX_BYTES, parse, read_bytes
from qmd.errors import ConfigError
from tests.unit.config.index_yml import FILE, reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1, 2", "1: "),
        ("a: 1\n\tb: 2\n", "2: "),
        ("a: 'open\n", "1: "),
        ("a: 1\nb: 2\n c: 3\n", "3: "),
        ("a: 1\n---\nb: 2\n", "2: "),
        ("a: *nowhere\n", "1: found undefined alias 'nowhere'; a text that begins with * needs quotes"),
        ("a: **/*.md\n", "1: a text that begins with * needs quotes"),
        ("a: 1\nb: \x07\n", "2: "),
    ],
)
def test_broken_yaml_is_an_error_with_its_line(text: str, expected: str) -> None:
    assert reason(text).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b\n", "1: the file must be a mapping"),
        ("just text\n", "1: the file must be a mapping"),
        ("\ncollections: [a]\n", "2: collections must be a mapping"),
        ("collections: text\n", "1: collections must be a mapping"),
        ("collections:\n  notes:\n", "2: collections.notes must be a mapping with a path"),
        ("collections:\n  notes: /n\n", "2: collections.notes must be a mapping with a path"),
        ("collections:\n  notes:\n    pattern: x\n", "2: collections.notes.path is required"),
        ("collections:\n  notes:\n    path:\n", "3: collections.notes.path is required"),
        ("collections:\n  notes:\n    path: ' '\n", "3: collections.notes.path is required"),
        ("collections:\n  notes:\n    path: [a]\n", "3: collections.notes.path must be text"),
        ("collections:\n  notes:\n    path: 3\n", "3: collections.notes.path must be text; put it in quotes"),
        (
            'collections:\n  notes: {path: "a\\0"}\n',
            "2: collections.notes.path must not contain a NUL character",
        ),
        (
            "collections: {a: {path: x, pattern: [x]}}",
            "1: collections.a.pattern must be text",
        ),
        (
            "collections:\n  a:\n    path: x\n    ignore:\n      - ok\n      - {b: c}\n",
            "6: collections.a.ignore[1] must be text",
        ),
        ("collections: {a: {path: x, ignore: ['']}}", "1: collections.a.ignore[0] is empty"),
        ("agents: false\n", "1: agents must be a mapping"),
        ("agents:\n  masks: [iban]\n", "2: agents.masks is unknown; the only key is 'mask'"),
        ("agents:\n  mask:\n  - iban\n  - phone\n", "3: agents.mask must be iban"),
        (
            "collections: {a: {path: x, ignore: {b: c}}}",
            "1: collections.a.ignore must be a list of texts, or one text",
        ),
        (
            "collections: {a: {path: x, context: [b]}}",
            "1: collections.a.context must be a mapping of folders to texts, or one text",
        ),
        ("collections: {a: {path: x, context: {b: [c]}}}", "1: collections.a.context['b'] must be text"),
        (
            "collections: {a: {path: x, context: {b: c, /b/: d}}}",
            "1: collections.a.context has two texts for '/b'",
        ),
        (
            "collections: {a: {path: x, includeByDefault: no}}",
            "1: collections.a.includeByDefault must be true or false",
        ),
        (
            "collections: {a: {path: x, includeByDefault: 'false'}}",
            "1: collections.a.includeByDefault must be true or false",
        ),
        (
            "collections: {a: {path: x, encoding: klingon}}",
            "1: collections.a.encoding: Unknown charset: 'klingon'.",
        ),
        ("collections: {a/b: {path: x}}", "1: collections: Not a collection name: 'a/b' contains a slash."),
        ("collections: {.a: {path: x}}", "1: collections: Not a collection name: '.a' begins with a dot."),
        ("global_context: 7\n", "1: global_context must be text; put it in quotes"),
        ("global_context: true\n", "1: global_context must be text; put it in quotes"),
        ("global_context: !mine x\n", "1: global_context must be text; put it in quotes"),
        ("models: x\n", "1: models must be a mapping"),
        ("models: {embed: [x]}\n", "1: models.embed must be text"),
        ("ranking: fast\n", "1: ranking must be contract or tuned"),
        ("a: 1\nb: 2\na: 3\n", "3: duplicate key 'a', first on line 1"),
        (
            "collections:\n  n: {path: x}\n  n: {path: y}\n",
            "3: duplicate key 'n', first on line 2",
        ),
        ("future: {a: 1, a: 2}", "1: duplicate key 'a', first on line 1"),
        ("collections: {'e\u0301': {path: x}, 'é': {path: y}}", "1: duplicate key 'é'"),
        ("a: &m {path: x}\ncollections:\n  n:\n    <<: *m\n", "4: merge keys (<<) are not part of YAML 1.2"),
        ("? [a]\n: b\n", "1: a key must be text"),
    ],
)
def test_value_of_a_wrong_type_is_an_error_with_line_and_key(text: str, expected: str) -> None:
    assert reason(text) == expected


def test_invalid_utf8_is_an_error_with_its_line() -> None:
    assert reason("global_context: été\n".encode("latin-1")) == "1: not UTF-8"
    assert reason(b"a: 1\nb: \xff\n") == "2: not UTF-8"


def test_repeated_aliases_are_refused() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    assert "aliases repeat too many values" in reason(bomb)


@pytest.mark.parametrize("text", ["&a [*a]", "a: &a {b: *a}\n", "[" * 20_000, "{a: " * 5_000])
def test_endless_and_very_deep_documents_are_refused(text: str) -> None:
    reason(text)


def test_file_over_the_size_limit_is_refused() -> None:
    with pytest.raises(ConfigError, match="larger than 1 MB"):
        parse(b"#" * (MAX_BYTES + 1), FILE)


CHARACTERS = ": \n-[]{}\"'#>~\\\t\r@1éa!\u2028\ufeff\x85\0"
PIECES = [
    "&a ",
    "*a",
    "!!int ",
    "|\n",
    "? ",
    "<<",
    "--- ",
    "...\n",
    "%YAML 1.1\n",
    "%TAG ! x\n",
    '"\\UFFFFFFFF"',
]
KEYS = ["collections:\n", "  x:\n", "    path: ", "    context: ", "ranking: "]
yaml_like = st.lists(st.sampled_from([*CHARACTERS, *PIECES, *KEYS]), max_size=30).map("".join)


@given(yaml_like.map(str.encode) | st.binary(max_size=60))
@example(b'a: "\\UFFFFFFFF"')
@example(b"%YAML 9.9\n---\na: 1")
@example(b"&a {&a }")
def test_parse_of_any_bytes_returns_or_raises_a_one_line_error(data: bytes) -> None:
    try:
        parse(data, FILE)
    except ConfigError as error:
        assert error.message.startswith(FILE + ":")
        assert "\n" not in error.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[" * 20_000, "nested too deeply, more than 50"),
        ("{a: " * 20_000, "nested too deeply, more than 50"),
        (
            "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} {'[' * 10}*a{n - 1}{']' * 10}\n" for n in range(1, 30)),
            "nested too deeply, more than 50",
        ),
        ("- " * 400_000, "nested too deeply, more than 50"),
        ("a:\n" + "".join(f" - &a{n} x\n" for n in range(50_000)), "too many anchors, more than 1,000"),
        ("a: [" + "x," * 450_000 + "]", "too many values, more than 20,000"),
    ],
)
def test_parse_refuses_input_that_would_take_long(text: str, expected: str) -> None:
    assert expected in reason(text)


def test_read_bytes_refuses_a_pipe_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "index.yml"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="not a regular file"):
        read_bytes(str(pipe))

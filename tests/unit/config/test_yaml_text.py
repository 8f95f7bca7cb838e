"""Edits of YAML text at a path of keys. The result is parsed to check its values."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given, strategies as st

from qmd.config.index_yml import parse
from qmd.config.yaml_text import KeyPath, Value, YamlText
from qmd.errors import ConfigError

FILE = "/conf/index.yml"


def put(text: str, key_path: KeyPath, value: Value) -> str:
    return YamlText(dedent(text), FILE).put(key_path, value)


def delete(text: str, key_path: KeyPath) -> str:
    return YamlText(dedent(text), FILE).delete(key_path)


def test_put_replaces_a_scalar_in_place() -> None:
    before = """\
        a:   'old'   # why
        b: |
          long
          text

        # about c
        c:
          "far"
        """
    assert put(before, ("a",), "new") == dedent(before).replace("'old'", '"new"')
    assert put(before, ("b",), "new") == dedent(before).replace("|\n  long\n  text", '"new"')
    assert put(before, ("c",), "new") == dedent(before).replace('"far"', '"new"')


def test_put_fills_in_a_missing_value() -> None:
    assert put("a:\nb: 1\n", ("a",), "x") == 'a: "x"\nb: 1\n'
    assert put("a:   # why\n", ("a",), "x") == 'a: "x"   # why\n'
    assert put("a: ~\n", ("a",), True) == "a: true\n"


def test_put_adds_a_key_after_the_last_one() -> None:
    before = """\
        collections:
          a:
            path: /a  # here

        # about models
        models: {embed: x}
        """
    assert put(before, ("collections", "b"), {"path": "/b"}) == dedent(before).replace(
        "# here\n", "# here\n  b:\n    path: /b\n"
    )


def test_put_uses_the_indentation_of_the_file() -> None:
    before = "collections:\n    a:\n        path: /a\n"
    assert put(before, ("collections", "b"), {"path": "/b", "ignore": ["x"]}) == (
        before + '    b:\n        path: /b\n        ignore:\n            - "x"\n'
    )


def test_put_keeps_blank_lines_between_entries() -> None:
    before = "c:\n  a:\n    x: 1\n\n  b:\n    x: 2\n"
    assert put(before, ("c", "d"), {"x": "/3"}) == before + "\n  d:\n    x: /3\n"


def test_put_ends_the_last_line() -> None:
    assert put("a: 1", ("b",), "x") == 'a: 1\nb: "x"\n'
    assert put("c:\n  a: 1", ("c", "b"), "x") == 'c:\n  a: 1\n  b: "x"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "c:\n  a: /x\n"),
        ("# note\n", "# note\nc:\n  a: /x\n"),
        ("---\n", "---\nc:\n  a: /x\n"),
        ("{}", '{"c": {"a": /x}}'),
        ("c:\n", "c:\n  a: /x\n"),
        ("c: {}   # none\nd: 1\n", "c:   # none\n  a: /x\nd: 1\n"),
        ("c: ~\n", "c:\n  a: /x\n"),
        ("{c: {}}\n", '{c: {"a": /x}}\n'),
        ("{c: }\n", '{c: {"a": /x} }\n'),
        ("b: 1\n# template\n# c: 2\n", "b: 1\n# template\n# c: 2\nc:\n  a: /x\n"),
        ("b: 1\n...\n", "b: 1\nc:\n  a: /x\n...\n"),
        ("c: {b: /y, }\n", 'c: {b: /y, "a": /x, }\n'),
        ("c: {\n  b: /y # why\n}\n", 'c: {\n  b: /y, "a": /x # why\n}\n'),
        ("c:\n  b: |+\n    keep\n\n\nd: 1\n", "c:\n  b: |+\n    keep\n\n\n  a: /x\nd: 1\n"),
        ("c:\n  b:\n  # below\nd: 1\n", "c:\n  b:\n  a: /x\n  # below\nd: 1\n"),
        ("e: &e [1]\nc:\n  b: *e  # why\n# d\nd: 1\n", "e: &e [1]\nc:\n  b: *e  # why\n  a: /x\n# d\nd: 1\n"),
        (
            "e: &e 1\nc:\n  b:\n    - *e\n  # about d\nd: 1\n",
            "e: &e 1\nc:\n  b:\n    - *e\n  a: /x\n  # about d\nd: 1\n",
        ),
    ],
)
def test_put_creates_the_mappings_above_a_new_key(before: str, after: str) -> None:
    assert put(before, ("c", "a"), "/x") == after


def test_delete_removes_only_the_lines_of_the_key() -> None:
    before = """\
        c:
          # about a
          a:
            path: /a   # here
            # inside
            ignore:
              - x      # why

          # about b
          b: {path: /b}
        """
    assert delete(before, ("c", "a")) == "c:\n  # about a\n\n  # about b\n  b: {path: /b}\n"
    assert delete(before, ("c", "b")) == dedent(before).replace("  b: {path: /b}\n", "")


def test_delete_merges_two_blank_lines() -> None:
    assert delete("a: 1\n\nb: 2\n\nc: 3\n", ("b",)) == "a: 1\n\nc: 3\n"
    assert delete("a: 1\n\nb: 2\n", ("a",)) == "b: 2\n"


@pytest.mark.parametrize(
    ("key", "after"),
    [("a", "c: { b: 2, d: 3 }\n"), ("b", "c: { a: 1, d: 3 }\n"), ("d", "c: { a: 1, b: 2 }\n")],
)
def test_delete_in_a_flow_mapping_removes_the_comma(key: str, after: str) -> None:
    assert delete("c: { a: 1, b: 2, d: 3 }\n", ("c", key)) == after


def test_rename_changes_only_the_key() -> None:
    text = YamlText("c:\n  'a' : {x: 1}  # why\n  {b}: 2\n".replace("{b}", "b"), FILE)
    assert text.rename(("c", "a"), "笔记") == "c:\n  笔记 : {x: 1}  # why\n  b: 2\n"
    assert text.rename(("c", "a"), "no") == 'c:\n  "no" : {x: 1}  # why\n  b: 2\n'


def test_put_keeps_line_ends_and_the_byte_order_mark() -> None:
    before = "\ufeffc:\r\n  a:\r\n    path: /a\r\n"
    assert put(before, ("c", "b"), {"path": "/b"}) == before + "  b:\r\n    path: /b\r\n"


@pytest.mark.parametrize(
    ("before", "key_path"),
    [("b: &b {x: 1}\nc:\n  a: *b\n", ("c", "a", "x")), ("c:\n  ? a\n  : 1\n", ("c", "a"))],
)
def test_delete_reports_an_unusual_layout_with_its_line(before: str, key_path: KeyPath) -> None:
    with pytest.raises(ConfigError, match=rf"{FILE}:\d+: qmd cannot edit this layout"):
        delete(before, key_path)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(texts.filter(str.strip))
def test_put_text_can_be_read_back(text: str) -> None:
    for before in ("", "global_context: x\n", "{a: 1}", "models: {}\r\n"):
        after = YamlText(before, FILE).put(("global_context",), text)
        assert parse(after.encode(), FILE).global_context == text


@given(texts)
def test_put_accepts_any_text_as_a_key(key: str) -> None:
    for before in ("", "{a: 1}"):
        after = YamlText(before, FILE).put((key,), "value")
        assert key in YamlText(after, FILE).keys(())


STYLES = {
    "block": "{pad}{name}:  # of {name}\n{pad}{pad}path: /p/{name}\n{pad}{pad}ignore:\n{pad}{pad}- x # i\n",
    "flow": "{pad}{name}: {{ path: '/p/{name}' , context: {{'/': t}} }}  # of {name}\n",
    "literal": "{pad}{name}:\n{pad}{pad}context: |\n{pad}{pad}{pad}# not a comment\n\n"
    "{pad}{pad}path: >-\n{pad}{pad}   /p/{name}\n",
    "loose": "\n{pad}# of {name}\n{pad}'{name}' :\n\n{pad}{pad}context:\n"
    "{pad}{pad}path:   /p/{name} # in\n\n",
}


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, list[str]]:
    names = draw(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=5))
    pad = draw(st.sampled_from(["  ", "    ", " "]))
    parts = [draw(st.sampled_from(["", "# top\n", "---\n# top\nglobal_context: x # g\n\n"]))]
    parts.append("collections:  # all\n")
    parts += [STYLES[draw(st.sampled_from(sorted(STYLES)))].format(name=name, pad=pad) for name in names]
    parts.append(draw(st.sampled_from(["", "# end\n", "\n\n# about models\nmodels: {embed: x} # m\n# end"])))
    text = "".join(parts)
    return (text.replace("\n", "\r\n") if draw(st.booleans()) else text), names


def comments(text: str) -> list[str]:
    return [line.split("#", 1)[1].strip() for line in text.splitlines() if "#" in line]


@given(documents(), st.data())
def test_edit_leaves_everything_else_unchanged(document: tuple[str, list[str]], data: st.DataObject) -> None:
    text, names = document
    before = parse(text.encode(), FILE).collections
    file = YamlText(text, FILE)
    action = data.draw(st.sampled_from(["add", "set", "delete", "rename"] if names else ["add"]))
    name = data.draw(st.sampled_from(names)) if names else ""
    match action:
        case "add":
            after = file.put(("collections", "new"), {"path": "/new", "ignore": ["x"]})
            assert [*before, "new"] == list(parse(after.encode(), FILE).collections)
            others = before
        case "set":
            after = file.put(("collections", name, "update"), "git pull")
            assert parse(after.encode(), FILE).collections[name].update == "git pull"
            others = {key: value for key, value in before.items() if key != name}
        case "delete":
            after = file.delete(("collections", name))
            assert name not in parse(after.encode(), FILE).collections
            others = {key: value for key, value in before.items() if key != name}
        case _:
            after = file.rename(("collections", name), "new")
            assert list(parse(after.encode(), FILE).collections) == [
                "new" if key == name else key for key in before
            ]
            others = {key: value for key, value in before.items() if key != name}
    remaining = parse(after.encode(), FILE).collections
    assert {key: remaining[key] for key in others} == others
    lost = set(comments(text)) - set(comments(after))
    assert lost <= ({f"of {name}", "in", "i", "not a comment"} if action == "delete" else set())
    assert ("\r\n" in after) == ("\r\n" in text)
    assert "\r" not in after.replace("\r\n", "")


def test_put_takes_linear_time_for_many_blank_lines() -> None:
    # If a pattern could divide blank lines in many ways, this would never end.
    before = "a: 1\n" + "\n" * 5_000 + "...\n"
    assert put(before, ("b",), "x") == before.replace("a: 1\n", 'a: 1\nb: "x"\n')

"""Fields, links and sections of a Markdown document."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from qmd.text.extraction import extract
from qmd.text.head import front_matter_end
from qmd.types import Link, Section
from tests.markdown import sections


def fields(front_matter: str, body: str = "") -> dict[str, tuple[object, ...]]:
    return dict(extract(f"---\n{front_matter}\n---\n{body}", "a.md").fields)


def test_front_matter_values_keep_their_types() -> None:
    assert fields(
        'Status: Draft\npriority: 3\nratio: -0.5\ndone: true\nanswer: yes\nid: "007"\nempty:\nnone: null\n'
        "due: 2024-06-15\nat: 2024-06-15 10:00\nlist: [a, 2, false]\nitems:\n  - x\n  - y: 1"
    ) == {
        "status": ("Draft",),
        "priority": (3.0,),
        "ratio": (-0.5,),
        "done": (True,),
        "answer": ("yes",),
        "id": ("007",),
        "due": ("2024-06-15",),
        "at": ("2024-06-15T10:00:00",),
        "list": ("a", 2.0, False),
        "items": ("x",),
        "items.y": (1.0,),
    }


def test_front_matter_maps_have_fields_of_their_own() -> None:
    assert fields("book:\n  author: Ann\n  year: 1999") == {"book.author": ("Ann",), "book.year": (1999.0,)}


def test_qmd_metadata_block_counts_as_fields() -> None:
    assert fields("qmd:\n  metadata:\n    topics: [a, b]\n    status: done") == {
        "topics": ("a", "b"),
        "status": ("done",),
    }


def test_front_matter_cannot_set_fields_of_the_file() -> None:
    found = extract("---\npath: x\nsize: 1\ntopic: y\n---\n", "a.md")
    assert dict(found.fields) == {"topic": ("y",)}
    assert len(found.omitted) == 2


@pytest.mark.parametrize(
    ("front_matter", "body", "tags"),
    [
        ("tags: [Work, '#home']", "", ("Work", "home")),
        ("tag: a, b c", "", ("a", "b", "c")),
        ("", "# Head\n\nAn #idea and #work/plan, #标签 (#x).\n", ("idea", "work/plan", "标签", "x")),
        ("", "#42 # a#b `#code` [l](#anchor) <!-- #no --> https://x.y/#z\n\n```\n#no\n```\n", ()),
        ("tags: idea", "#idea #other", ("idea", "other")),
    ],
)
def test_tags_come_from_front_matter_and_text(front_matter: str, body: str, tags: tuple[str, ...]) -> None:
    assert fields(f"{front_matter}\nother: 1", body).get("tag", ()) == tags


def test_links_of_all_kinds_have_their_lines() -> None:
    text = (
        "[[A]] and [[dir/B#Part|b]] ![[pic.png]]\n"
        '[c](../c%20d.md#x "title") ![i](p.png)\n'
        "[![alt](in.png)](out.md) [r][Ref] [ref]\n"
        "[[t\\|u]] <https://z.w> https://a.b/c.\n"
        "`[[no]]` \\[no](no.md) <!-- [[no]] -->\n\n"
        "[ref]: e.md\n\n```\n[[no]]\n```\n"
    )
    assert extract(text, "a.md").links == (
        Link("A", "A", 1, "wikilink"),
        Link("dir/B#Part", "b", 1, "wikilink"),
        Link("pic.png", "pic.png", 1, "embed"),
        Link("../c d.md#x", "c", 2, "markdown"),
        Link("p.png", "i", 2, "embed"),
        Link("in.png", "alt", 3, "embed"),
        Link("out.md", "![alt](in.png)", 3, "markdown"),
        Link("e.md", "r", 3, "markdown"),
        Link("e.md", "ref", 3, "markdown"),
        Link("t", "u", 4, "wikilink"),
        Link("https://z.w", "", 4, "url"),
        Link("https://a.b/c", "", 4, "url"),
    )


def test_wikilinks_in_front_matter_are_links() -> None:
    found = extract('---\nup: "[[Home]]"\n---\n[[A]]\n', "a.md")
    assert [(link.target, link.line) for link in found.links] == [("Home", 2), ("A", 4)]


def test_sections_include_their_subsections() -> None:
    text = "# A\nx\n## B\n```\n# no\n```\n### C\ny\n## D\n# E\nlast"
    assert sections(text) == (
        Section("A", 1, 1, 9),
        Section("B", 2, 3, 8),
        Section("C", 3, 7, 8),
        Section("D", 2, 9, 9),
        Section("E", 1, 10, 11),
    )


#: Each map contains the previous one ten times: more than 10^7 values in 600 characters.
MANY_TIMES = "a0: &a0 {x: 1}\n" + "\n".join(
    f"a{n}: &a{n} {{{', '.join(f'k{m}: *a{n - 1}' for m in range(10))}}}" for n in range(1, 8)
)


@pytest.mark.parametrize(
    ("front_matter", "reason"),
    [
        ("a: [", "not valid YAML"),
        ("a: 1\nb: " + "x" * 70_000, "more than 64,000 characters"),
        ("\n".join(f"k{n}: 1" for n in range(300)), "more than 200 fields"),
        (f"a: [{', '.join(map(str, range(500)))}]", "400 of 500 values"),
        (f"a: {'x' * 600}", "a value of 600 characters"),
        ("a: " + "{b: " * 8 + "1" + "}" * 8, "nested too deeply"),
        (f"a: {{{'b' * 60}: {{{'c' * 60}: 1}}}}", "a name of 123 characters"),
        (MANY_TIMES, "too many values"),
        (f"a: {'[' * 900}{']' * 900}", "nested too deeply"),
        # The parser itself may have a limit, which is no higher.
        (f"a: {'[' * 30_000}{']' * 30_000}", "nest"),
    ],
    ids=lambda value: value[:40],
)
def test_omitted_front_matter_has_a_reason(front_matter: str, reason: str) -> None:
    assert reason in "; ".join(extract(f"---\n{front_matter}\n---\ntext\n", "a.md").omitted)


def test_yaml_bombs_and_tags_construct_nothing() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    assert fields(bomb) == {"a": ("x",)}
    assert fields("a: !!python/object/apply:os.system ['echo no']\nb: !!set {x}") == {"a": ("echo no",)}


def test_inline_tags_are_limited() -> None:
    found = extract(" ".join(f"#tag{number}" for number in range(10_000)), "a.md")
    assert len(found.fields["tag"]) == 1_000
    assert found.omitted == ("inline tags after the first 1,000",)


@given(st.text(alphabet="[]()!#`<>-:\n ab\\|%*/", max_size=300))
def test_extract_accepts_any_text(text: str) -> None:
    found = extract(text, "a.md")
    lines = text.count("\n") + 1
    assert all(1 <= link.line <= lines for link in found.links)
    assert all(1 <= each.first_line <= each.last_line <= lines for each in sections(text))


YAML = """---
{name}: "A: heron"
{author}: [Ann, Bob]
{date}: 2024-03-07
tags: [birds, sea]
book:
  year: 1999
---
"""
TOML = """+++
{name} = "A: heron"
{author} = ["Ann", "Bob"]
{date} = 2024-03-07
tags = ["birds", "sea"]

[book]
year = 1999
+++
"""
JSON = (
    '{{\n  "{name}": "A: heron", "{author}": ["Ann", "Bob"], "{date}": "2024-03-07",\n'
    '  "tags": ["birds", "sea"], "book": {{"year": 1999}}\n}}\n'
)


@pytest.mark.parametrize(
    "head", [pytest.param(YAML, id="yaml"), pytest.param(TOML, id="toml"), pytest.param(JSON, id="json")]
)
@pytest.mark.parametrize("case", [str.lower, str.upper, str.capitalize])
def test_yaml_toml_and_json_front_matter_are_read_alike(head: str, case: Callable[[str], str]) -> None:
    text = head.format(name=case("title"), author=case("author"), date=case("date"))
    found = extract(f"{text}# Heading\n\nBody #inline\n", "a.md")
    assert found.title == "A: heron"
    assert {name: value for name, value in found.fields.items() if name != "title"} == {
        "author": ("Ann", "Bob"),
        "date": ("2024-03-07T00:00:00",),
        "tag": ("birds", "sea", "inline"),
        "book.year": (1999.0,),
    }
    assert front_matter_end(text + "# Heading\n") == len(text)
    assert found.omitted == ()


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        pytest.param("+++\na = [\n+++\n", "not valid TOML", id="invalid"),
        pytest.param(f"+++\n{'a.' * 200}a = 1\n+++\n", "dots", id="dots"),
    ],
)
def test_omitted_toml_has_a_reason(head: str, reason: str) -> None:
    found = extract(f"{head}# Heading\n", "a.md")
    assert reason in "; ".join(found.omitted)
    assert found.title == "Heading"


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}\n{"a": 2}\n',
        '{\n  "title": "data"\n}\n',
        "{% raw %}\n# Heading\n",
        '{"a": [}\n\nBody\n',
        '{"a": 1} and words\n',
        "+++\ntitle = 'never closed'\n",
    ],
)
def test_data_and_braces_are_no_front_matter(text: str) -> None:
    assert front_matter_end(text) == 0
    assert "title" not in extract(text, "a.md").fields


def test_invalid_entry_does_not_hide_the_others() -> None:
    found = extract(
        "---\nstatus: draft\nTITLE: Part 1: the start\nbroken: [\nDATE: 2024-03-07\n---\n", "a.md"
    )
    assert (found.title, found.fields["status"], found.fields["date"]) == (
        "Part 1: the start",
        ("draft",),
        ("2024-03-07T00:00:00",),
    )
    assert "not valid YAML" in found.omitted[0]


def test_toml_texts_have_wikilinks_but_tables_are_none() -> None:
    found = extract('+++\nup = "[[Home]]"\nn = [[1, 2]]\n[[params]]\na = 1\n+++\n[[A]]\n', "a.md")
    assert [(link.target, link.line) for link in found.links] == [("Home", 2), ("A", 7)]


def test_long_front_matter_is_read_at_its_beginning() -> None:
    found = extract(f"---\ntitle: Heron\nstatus: draft\nlong: {'x' * 70_000}\n---\n# Heading\n", "a.md")
    assert (found.title, dict(found.fields)["status"]) == ("Heron", ("draft",))

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from qmd.text.extraction import extract
from qmd.text.head import front_matter_end
from qmd.text.markdown.parser import page_events
from qmd.text.outline import MAX_TITLE
from tests.markdown import blocks, first_heading

HEADINGS = ("# A", "## ", "---", "===", "-", "text", "", "# Notes", "[a](b) *c* `d`", "...")
OTHERS = ("```", "~~~~", "```py", "<!--", "-->", "- item", "> quote", "    code", "\t")
YAML = ("title: x", "title: >-", "  more", 'title: "a')
LINES = st.lists(st.sampled_from(HEADINGS + OTHERS + YAML), max_size=12).map("\n".join)


def fences(text: str) -> list[tuple[int, int]]:
    return [(block.start, block.end) for block in blocks(text) if block.kind == "fence"]


def title_of(text: str, path: str) -> str:
    return extract(text, path).title


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("title: Plain words", "Plain words"),
        ("title: Part 1: the start", "Part 1: the start"),
        ("title: Words  # a comment", "Words"),
        ("title: C# in depth", "C# in depth"),
        ('title: "Quoted: words"', "Quoted: words"),
        ('title: "Quoted" # a comment', "Quoted"),
        ("title: 'Single: words'", "Single: words"),
        ("title: 'It''s here'", "It's here"),
        (r'title: "A \"word\" and é\n"', 'A "word" and é'),
        (r'title: "caf\u00e9"', "café"),
        ("title: >-\n  folded\n  words", "folded words"),
        ("title: |\n  kept\n  lines\n", "kept lines"),
        ("title:\n  on the next line", "on the next line"),
        ("title: over\n  two lines", "over two lines"),
        ('title: "over\n  two lines"', "over two lines"),
        ("title: 2024-01-31", "2024-01-31"),
        ("title: 007", "007"),
        ('"title": Quoted key', "Quoted key"),
        ("Title: Capital key", "Capital key"),
        ("date: 2024-01-31\ntitle: Second key\ntags: [a]", "Second key"),
        ("broken: [\ntitle: Beside damage", "Beside damage"),
        ("title: 数据库 notes", "数据库 notes"),
    ],
)
def test_title_comes_from_the_front_matter(line: str, title: str) -> None:
    assert title_of(f"---\n{line}\n---\n\n# Heading\n", "a.md") == title


@pytest.mark.parametrize(
    "block",
    [
        "title:",
        "title: null",
        "title: ~",
        "title: # only a comment",
        "title: [a, list]",
        "title: [never closed",
        "title: {a: mapping}",
        'title: "never closed',
        "title: *alias",
        "title: @reserved",
        "title:\n  - a list",
        "title:\n  a: mapping",
        "subtitle: other",
        "tags: [a, b]",
        ": broken: [",
        "\ttitle: indented by a tab",
        "# a comment",
        "",
    ],
)
def test_front_matter_without_a_usable_title_is_ignored(block: str) -> None:
    assert title_of(f"---\n{block}\n---\n\n# Heading\n", "a.md") == "Heading"


@pytest.mark.slow
def test_deeply_nested_front_matter_is_ignored() -> None:
    assert title_of("---\ntitle:\n  a: " + "[" * 5000 + "\n---\n# Heading\n", "a.md") == "Heading"


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("---\na: b\n---\nbody", 13),
        ("---\na: b\n...\nbody", 13),
        ("---  \na: b\n---", 14),
        ("---\n---\nbody", 8),
        ("---\n\na: b\n---\nbody", 14),
        ("---\n# comment\n\na: b\n---\nbody", 24),
        ("no front matter\n---\na: b\n---\n", 0),
        ("---\na: b\nnever closed\n", 0),
        ("---\n\nA document\n\nbetween two rules.\n\n---\n", 0),
        ("----\na: b\n----\n", 0),
        ("", 0),
    ],
)
def test_front_matter_end_is_the_start_of_the_body(text: str, offset: int) -> None:
    assert front_matter_end(text) == offset


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n\n# Two\n", "One"),
        ("text first\n\n### Level three\n", "Level three"),
        ("# Closed ##\n", "Closed"),
        ("# C#\n", "C#"),
        ("   # Indented\n", "Indented"),
        ("#\tTab\n", "Tab"),
        ("#\n\n# Not empty\n", "Not empty"),
        ("#hashtag\n\n# Heading\n", "Heading"),
        ("####### Seven\n\n# Heading\n", "Heading"),
        ("    # Code\n\n# Heading\n", "Heading"),
        ("Setext one\n===\n", "Setext one"),
        ("Setext two\n-\n", "Setext two"),
        ("Over two\nlines\n---\n", "Over two lines"),
        ("A paragraph.\n\nThen setext\n===========\n", "Then setext"),
        ("text\n\n---\n\n# After a rule\n", "After a rule"),
        ("- item\n---\n# After a list\n", "After a list"),
        ("> quote\n---\n# After a quote\n", "After a quote"),
        ("***\n===\n# After stars\n", "After stars"),
        ("```\n# in code\n```\n# After code\n", "After code"),
        ("~~~sh\n# in code\n```\n~~~\n# After code\n", "After code"),
        ("````\n```\n# in code\n````\n# After code\n", "After code"),
        ("```inline``` code\n# Not in code\n", "Not in code"),
        ("<!--\n# in a comment\n-->\n# After a comment\n", "After a comment"),
    ],
)
def test_first_heading_is_outside_code(text: str, title: str) -> None:
    assert first_heading(text) == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Birds of the sea\n\n# Two\n", "Birds of the sea"),
        ("\n\nBirds of the sea\n===\n", "Birds of the sea"),
        ("---\ntags: [a]\n---\n\n# Birds of the sea\n", "Birds of the sea"),
        ("<!--\nlicence\n-->\n\n# Birds of the sea\n", "Birds of the sea"),
        ("<!-- a --><br>\n[![b](c)](d)\n![e](f)\n<p>\n# Birds of the sea\n", "Birds of the sea"),
        ("#birds #sea\n\n# Birds of the sea\n", "Birds of the sea"),
        ("# Notes on birds\n\n## More\n", "Notes on birds"),
        ("# Notes\n\n## Settings\n", "Manage notes"),
        ("# 📝 Notes\n\n# Settings\n", "Manage notes"),
        ("## Settings\n\n# Later\n", "Manage notes"),
        ("Some words.\n\n# Settings\n", "Settings"),
        ("- item\n# Settings\n## More\n", "Settings"),
        ("```\ncode\n```\n# Settings\n", "Settings"),
        ("Some words\nSettings\n===\n", "Some words Settings"),
        ("Some words.\n\n# Settings\n\n# More\n", "Manage notes"),
        ("## Settings\ntext\n", "Settings"),
        ("text\n## Settings\ntext\n", "Manage notes"),
        ("## Settings\n## More\n", "Manage notes"),
        ('import A from "a";\n\n# Settings\n# More\n', "Settings"),
        ('import {\n  A,\n} from "a"\nexport const b = {\n  c: 1\n};\n# Settings\n# More\n', "Settings"),
        ("**Date:** 2024-01-02\nStatus: done\n- *By*: Ada\n\n# Settings\n# More\n", "Settings"),
        ("[Docs](a) | [Home](b)\n\n:::note\n:::\n{{< toc >}}\n{% b %}\n# Settings\n# More\n", "Settings"),
        ('<p align="center"><img src="a"></p>\n\n<h1 align="center">Set<b>tings</b></h1>\n', "Settings"),
        ("<div>\n    <h1>\n      Settings\n    </h1>\n</div>\n\n# More\n", "Settings"),
        ("{/* # Draft */}\n# Settings\n", "Settings"),
        ("%%\n# Draft\n%%\n# Settings\n", "Settings"),
        ("- ```sh\n  # install\n  ```\n\n# Settings\n", "Settings"),
        ("> ```\n> # a\n> ```\n\n# Settings\n", "Settings"),
        ("words\n", "Manage notes"),
        ("", "Manage notes"),
    ],
)
def test_title_is_the_first_heading_or_the_file_name(text: str, title: str) -> None:
    assert title_of(text, "vault/Manage notes.md") == title


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("**Bold** and *leaning* and __both__ and _more_", "Bold and leaning and both and more"),
        ("***All* of it**", "All of it"),
        ("The `__init__` method", "The __init__ method"),
        ("``a `tick` b``", "a `tick` b"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("**重要**なこと", "重要なこと"),
        ("~~Old~~ new", "Old new"),
        ("[Text](http://a.b/c_(d)) and [ref][1]", "Text and ref"),
        ("[[Page|Alias]] and [[Page]]", "Alias and Page"),
        ("[Draft] Words", "[Draft] Words"),
        ("Project [![build](a.svg)](b)", "Project"),
        ("![Logo](a.svg)", "Logo"),
        (r"\# not \*marks\*", "# not *marks*"),
        ("With an id {#the-id}", "With an id"),
        ("Many   blanks\there", "Many blanks here"),
        ("No\x00 con\x1btrols\u202e or overrides\ufeff", "No controls or overrides"),
        ("Family 👨‍👩‍👧", "Family 👨‍👩‍👧"),
        ("x" * 5000, "x" * MAX_TITLE),
    ],
)
def test_title_of_a_heading_has_no_markup(heading: str, title: str) -> None:
    assert title_of(f"# {heading}\n", "a.md") == title


@pytest.mark.parametrize(
    ("text", "path", "title"),
    [
        ("text", "notes/my file.md", "my file"),
        ("", "a/b/v1.2 plan.md", "v1.2 plan"),
        ("", "README", "README"),
        ("", ".md", ".md"),
        ("", "\n.md", ".md"),
        ("# a comment\n", "a/script.py", "script"),
        ("#+TITLE: The Org\n* Headline\n", "a.org", "The Org"),
        ("# comment\n#+title:   lower\n", "a.ORG", "lower"),
        ("* Headline\n", "a.org", "Headline"),
        ("# comment\n", "b.org", "b"),
    ],
)
def test_title_of_other_files_is_found(text: str, path: str, title: str) -> None:
    assert title_of(text, path) == title


@given(st.one_of(st.text(), LINES, LINES.map(lambda text: "---\n" + text)), st.text())
def test_title_is_one_clean_line_for_any_text(text: str, path: str) -> None:
    title = title_of(text, path)
    assert title == " ".join(title.split())
    assert len(title) <= MAX_TITLE
    assert not any(character < " " or "\x7f" <= character <= "\x9f" for character in title)
    title.encode()


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a\n```\ncode\n```\nb", [(2, 15)]),
        ("~~~\ncode\n~~~", [(0, 12)]),
        ("```\nnever closed\n", [(0, 17)]),
        ("```\n~~~\n```\n", [(0, 12)]),
        ("````\n```\n`````\nx", [(0, 15)]),
        ("```\n``` not closed\n```  \nx", [(0, 25)]),
        ("   ```\n    ```\n```\n", [(0, 19)]),
        ("    ```\n", []),
        ("```a`\n", []),
        ("``\n``\n", []),
        ("---\na: |\n  x\n---\n```\ny\n```\n", [(17, 27)]),
        ("```\na\n```\n```\nb\n```\n", [(0, 10), (10, 20)]),
    ],
)
def test_fences_follow_commonmark(text: str, spans: list[tuple[int, int]]) -> None:
    assert fences(text) == spans


@given(LINES)
def test_blocks_are_ordered_and_disjoint(text: str) -> None:
    position = 0
    for block in blocks(text):
        assert position <= block.start < block.end <= len(text)
        assert block.start == 0 or text[block.start - 1] == "\n"
        position = block.end


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["#", "-", "`", "~", "=", "_ ", "#\n", "> a\n-\n", "```\n~~~\n", "*a [`", "<!--", "<!--\n"]
)
def test_hostile_texts_of_a_million_characters_are_read(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    for hostile in (text, "---\n" + text, "# " + text, "---\ntitle: |\n  " + text + "\n---\n"):
        assert len(title_of(hostile, "a.md")) <= MAX_TITLE
        assert all(start < end for start, end in fences(hostile))


def test_text_and_source_modules_import_nothing_heavy() -> None:
    code = (
        "import sys, qmd.text.extraction, qmd.text.chunking, qmd.text.uris\n"
        "import qmd.sources.walk, qmd.sources.read\n"
        "heavy = {'numpy', 'bracex', 'charset_normalizer', 'pathlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


@given(st.text(alphabet=st.sampled_from("ab# \n*[]()!`>-$|é中😀\0\ud800\udfff\r\t"), max_size=400))
def test_events_have_places_in_characters(text: str) -> None:
    for event, start, end in page_events(text):
        assert 0 <= start <= end <= len(text)
        # Line ends are one line feed, and what is in math or escaped is not compared.
        if (
            isinstance(event, dict)
            and isinstance(shown := event.get("Text"), str)
            and end - start == len(shown)
        ):
            assert shown == text[start:end].translate(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))


@pytest.mark.parametrize("before", ["", "\ud800", "😀" * 5_000 + "\n\n"])
def test_events_of_texts_that_are_not_ascii(before: str) -> None:
    text = f"{before}é *中文* \0 end"
    found = [text[start:end] for event, start, end in page_events(text) if event == {"Start": "Emphasis"}]
    assert found == ["*中文*"]

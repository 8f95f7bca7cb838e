"""Author and date of a document."""

from __future__ import annotations

import pytest

from qmd.text.authorship import author_key, author_of, authors_of, date_of, stated
from qmd.text.extraction import extract


@pytest.mark.parametrize(
    ("line", "author"),
    [
        ("author: Ann Bee", "Ann Bee"),
        ("Author: 'Ann'", "Ann"),
        ("author: Ann # says who", "Ann"),
        ("AUTHOR: 123", "123"),
        ("author: [Ann Bee, Bob]", "Ann Bee"),
        ('author: ["Ann, Bee", Bob]', "Ann, Bee"),
        ("author: [林中]", "林中"),
        ("author:\n  - Ann\n  - Bob", "Ann"),
        ("author:\n- 林 中\n- Bob", "林 中"),
        ('author:\n- "Ann: B"', "Ann: B"),
        ("author:\n- 'Ann: B'", "Ann: B"),
        ("author: ['Ann''s', Bob]", "Ann's"),
        ("author: [Ann\n  Bee, Bob]", "Ann Bee"),
        ("author:\n- Ann, Bob", "Ann, Bob"),
        ("author: # the first\n  - Ann", "Ann"),
        ("author:\n  Ann", "Ann"),
        ("author: >-\n  Ann\n  Bee", "Ann Bee"),
        ("title: T\nauthor: Ann\ndate: 2024-01-01", "Ann"),
        ("author:", ""),
        ("author: ~", ""),
        ("author: []", ""),
        ("author: [[Ann]]", ""),
        ("author: {name: Ann}", "Ann"),
        ("author:\n  name: Ann", "Ann"),
        ("author:\n- name: Ann", "Ann"),
        ("author: [never closed", ""),
        ("author: *alias", ""),
        ("  author: nested", ""),
        ("authority: Ann", ""),
    ],
)
def test_author_comes_from_the_front_matter(line: str, author: str) -> None:
    assert stated(extract(f"---\na: b\n{line}\n---\n\n# Heading\n", "a.md").fields)[0] == author


@pytest.mark.parametrize(
    ("line", "date"),
    [
        ("date: 2024-03-07", "2024-03-07T00:00:00"),
        ("date: 2024-3-7", "2024-03-07T00:00:00"),
        ('Date: "2024-03-07"', "2024-03-07T00:00:00"),
        ("date: 2024-03-07 10:20:30 # local", "2024-03-07T10:20:30"),
        ("date: 2024-03-07T10:20:30.123+08:00", "2024-03-07T10:20:30"),
        ("date: 2001-12-14t21:59:43.10-05:00", "2001-12-14T21:59:43"),
        ("date: 2001-12-14 21:59:43.10 -5", "2001-12-14T21:59:43"),
        ("date: 2024-03-07 10:20", "2024-03-07T10:20:00"),
        ("date: 20240307", "2024-03-07T00:00:00"),
        ("date: 2024-03", "2024-03-01T00:00:00"),
        ("date: 2023-02-29", ""),
        ("date: yesterday", ""),
        ("date: [2024-03-07]", "2024-03-07T00:00:00"),
        ("date:", ""),
        ("update: 2024-03-07", ""),
    ],
)
def test_date_comes_from_the_front_matter(line: str, date: str) -> None:
    assert stated(extract(f"---\na: b\n{line}\n---\n\n# Heading\n", "a.md").fields)[1] == date


def test_author_and_date_below_the_front_matter_are_ignored() -> None:
    found = extract("# Heading\n\nSome text.\n\nauthor: Ann\ndate: 2024-03-07\n", "a.md")
    assert stated(found.fields) == ("", "")


def test_authors_of_finds_folders_with_motions_or_dated_posts() -> None:
    assert authors_of(
        [
            "Ann/motions/Foreword.md",
            "Bob/an album/2024-03-07_10_00_00_Title.md",
            "Eve/shop/tag/2024-03-07_10_00_00_Title.md",
            "journal/2024/2024-03-07.md",
            "posts/2024-03-07_10_00_00_Title.md",
            "motions/2024-03-07_10_00_00_Title.md",
            "src/motions.md",
            "2024-03-07_10_00_00_Title.md",
        ]
    ) == {"Ann", "Bob", "Eve"}


def test_author_of_prefers_the_front_matter_to_the_folder() -> None:
    authors = frozenset({"Ann"})
    assert author_of("Ann/motions/a.md", "Bob", authors) == "Bob"
    assert author_of("Ann/an album/deeper/a.md", "", authors) == "Ann"
    assert author_of("Ann/about.md", "", authors) == ""
    assert author_of("other/an album/a.md", "", authors) == ""


def test_date_of_prefers_the_name_then_the_front_matter_then_the_file() -> None:
    said, day = "2022-02-02T00:00:00", 86_400 * 10**9
    assert date_of("a/2024-03-07_10_20_30_Title.md", said, day) == ("2024-03-07T10:20:30", "name")
    assert date_of("a/2024-03-07 Meeting.md", said, day) == ("2024-03-07T00:00:00", "name")
    assert date_of("2024-03-07/a.md", said, day) == (said, "text")
    assert date_of("2023-02-29.md", said, day) == (said, "text")
    assert date_of("2024-03-07/a.md", "", day) == ("2024-03-07T00:00:00", "name")
    assert date_of("a.md", "", day, 86_400) == ("1970-01-02T00:00:00", "git")
    assert date_of("a.md", "", day) == ("1970-01-02T00:00:00", "file")


def test_author_key_ignores_case_and_composition() -> None:
    assert author_key("É林ß") == author_key("e\u0301林SS")
    assert author_key("Ann") != author_key("Anne")

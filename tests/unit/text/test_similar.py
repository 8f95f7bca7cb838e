"""Suggestions for names that do not exist."""

from __future__ import annotations

import pytest

from qmd.text.similar import did_you_mean, nearest, similar_paths

#: A journal, whose names are all alike, among many other notes.
MANY = [
    f"journal/{year}/{year}-{month:02}-{day:02}-meeting.md"
    for year in range(1740, 2030)
    for month in range(1, 13)
    for day in range(1, 29)
] + [f"notes/{number:05}/deploy.md" for number in range(3_000)]


@pytest.mark.parametrize(
    ("path", "similar"),
    [
        ("deplyo.md", ("ops/deploy.md",)),
        ("DEPLOY.markdown", ("ops/deploy.md",)),
        ("ops/deploi", ("ops/deploy.md",)),
        ("cut.md", ("pets/cat.md",)),
        ("笔计.md", ()),
        ("项目笔计.md", ("中文/项目笔记.md",)),
        ("quite different.md", ()),
        ("old/notes.md", ("old/note.md", "new/note.md")),
        ("new/notes.md", ("new/note.md", "old/note.md")),
        ("", ()),
    ],
)
def test_similar_paths_have_a_similar_file_name(path: str, similar: tuple[str, ...]) -> None:
    paths = [
        "ops/deploy.md",
        "pets/cat.md",
        "中文/项目笔记.md",
        "new/note.md",
        "old/note.md",
        "a/b/c/tax-2025.pdf",
    ]
    assert similar_paths(path, paths, 3) == similar


def test_similar_paths_finds_the_nearest_of_a_hundred_thousand() -> None:
    assert len(MANY) > 100_000 - 1_000
    (first, *_) = similar_paths("journal/1985/1985-07-12-meting.md", MANY, 3)
    assert first == "journal/1985/1985-07-12-meeting.md"
    assert similar_paths("notes/02718/depoly.md", MANY, 1) == ("notes/02718/deploy.md",)
    assert similar_paths("x" * 100_000, MANY, 3) == ()


def test_nearest_is_a_similar_name_or_none() -> None:
    assert nearest("statsu", ["status", "tags"]) == "status"
    assert nearest("zzz", ["status", "tags"]) is None
    assert did_you_mean("statsu", ["status", "tags"]) == "did you mean 'status'? "
    assert did_you_mean("zzz", ["status", "tags"]) == ""

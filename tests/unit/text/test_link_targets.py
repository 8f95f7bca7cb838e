"""The documents that links lead to."""

from __future__ import annotations

import pytest

from qmd.text.link_targets import LinkTargets

DOCUMENTS = {
    "index.md": [],
    "notes/A.md": ["First"],
    "notes/deep/B.md": [],
    "work/B.md": [],
    "work/a b.md": [],
    "pictures/x.png.md": [],
    "café.md": [],
}
TARGETS = LinkTargets.of(DOCUMENTS.items())


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        ("A", "index.md", "notes/A.md"),
        ("a", "work/B.md", "notes/A.md"),
        ("A#Heading", "index.md", "notes/A.md"),
        ("notes/A", "work/B.md", "notes/A.md"),
        ("/notes/A.md", "work/B.md", "notes/A.md"),
        ("B", "work/a b.md", "work/B.md"),
        ("B", "notes/deep/C.md", "notes/deep/B.md"),
        ("B", "index.md", "work/B.md"),
        ("deep/B", "index.md", "notes/deep/B.md"),
        ("First", "index.md", "notes/A.md"),
        ("#Heading", "index.md", "index.md"),
        ("Cafe\u0301", "index.md", "café.md"),
        ("../work/B.md", "notes/A.md", "work/B.md"),
        ("../../etc/passwd", "notes/A.md", None),
        ("../../../work/B.md", "notes/A.md", None),
        ("missing", "index.md", None),
        ("missing/A", "index.md", None),
        ("", "index.md", None),
    ],
)
def test_resolve_finds_the_target_of_a_wikilink(target: str, source: str, path: str | None) -> None:
    assert TARGETS.resolve(target, source, wikilink=True) == path


def test_resolve_prefers_the_folder_of_a_markdown_link() -> None:
    targets = LinkTargets.of([("a.md", ()), ("notes/a.md", ()), ("notes/b.md", ())])
    assert targets.resolve("a.md", "notes/b.md", wikilink=False) == "notes/a.md"
    assert targets.resolve("a", "notes/b.md", wikilink=True) == "a.md"

from __future__ import annotations

from pathlib import Path

import pytest

from qmd.sources.rules import exclusion
from qmd.types import Collection


def reason_of(collection: Collection, path: str) -> str | None:
    excluded = exclusion(collection, path)
    return None if excluded is None else excluded.reason


@pytest.mark.parametrize(
    ("globs", "excluded", "kept"),
    [
        (["drafts/**"], ["drafts/a.md", "drafts/x/a.md"], ["x/drafts/a.md", "drafts.md"]),
        (["drafts/**/*"], ["drafts/a.md", "drafts/x/a.md"], ["x/drafts/a.md"]),
        (["drafts"], ["drafts/a.md", "x/drafts/a.md"], ["drafts.md"]),
        (["archive/"], ["archive/a.md", "x/archive/y/a.md"], ["archive.md"]),
        (["/archive/"], ["archive/a.md"], ["x/archive/a.md"]),
        (["**/archive/**"], ["archive/a.md", "x/archive/y/a.md"], ["archives/a.md"]),
        (["*.tmp.md"], ["a.tmp.md", "x/a.tmp.md", "a.tmp.MD"], ["a.md", "tmp.md"]),
        (["./a.md"], ["a.md"], ["b.md"]),
        (["/a.md"], ["a.md"], ["x/a.md"]),
        (["x/*.md"], ["x/a.md"], ["a.md", "x/y/a.md"]),
        (["x/*"], ["x/a.md", "x/y/a.md"], ["a.md"]),
        (["{old,new}/**"], ["old/a.md", "new/a.md"], ["other/a.md"]),
        (["old/**, *.bak.md"], ["old/a.md", "a.bak.md"], ["a.md"]),
        (["*.gen.md", "!keep.gen.md"], ["a.gen.md"], ["keep.gen.md"]),
        (["[0-9]*.md"], ["1.md", "x/2024.md"], ["a1.md"]),
        (["caf\u0065\u0301/"], ["café/a.md"], ["cafe/a.md"]),
        ([], [], ["a.md", "build.md", "vendor.md", "x/dist.md"]),
    ],
)
def test_ignore_globs_match_like_gitignore(
    tmp_path: Path, globs: list[str], excluded: list[str], kept: list[str]
) -> None:
    collection = Collection("notes", str(tmp_path), ignore=tuple(globs))
    assert [path for path in excluded if exclusion(collection, path) is None] == []
    assert [path for path in kept if exclusion(collection, path) is not None] == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a.md", None),
        ("x/y/a.MD", None),
        (".a.md", "hidden file '.a.md'"),
        ("x/.obsidian/a.md", "hidden folder '.obsidian'"),
        (".git/a.md", "folder '.git' is always excluded"),
        ("x/node_modules/y/a.md", "folder 'node_modules' is always excluded"),
        ("drafts/x/a.md", "ignore glob 'drafts/**'"),
        ("a.tmp.md", "ignore glob '*.tmp.md'"),
        ("a.txt", "does not match the pattern '**/*.md'"),
        ("x/..", "hidden file '..'"),
        ("a\0.md", None),
    ],
)
def test_exclusion_names_the_rule_that_leaves_a_path_out(
    tmp_path: Path, path: str, reason: str | None
) -> None:
    collection = Collection("notes", str(tmp_path), ignore=("drafts/**", "*.tmp.md"))
    assert reason_of(collection, path) == reason


def test_exclusion_names_links(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.md").write_text("a", encoding="utf-8")
    (root / "out.md").symlink_to(tmp_path / "elsewhere.md")
    (root / "folder").symlink_to(tmp_path)
    (root / "in.md").symlink_to("a.md")
    collection = Collection("notes", str(root))
    assert exclusion(collection, "a.md") is None
    assert reason_of(collection, "out.md") == "a link to a file outside the collection"
    assert reason_of(collection, "folder/x.md") == "a link to a file outside the collection"
    assert reason_of(collection, "in.md") == "a link to 'a.md', which is indexed instead"

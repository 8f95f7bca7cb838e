from __future__ import annotations

import contextlib
import os
import unicodedata
from pathlib import Path

import pytest

from qmd.errors import SourceError, UsageError
from qmd.sources.walk import OnProblem, walk
from qmd.types import Collection, Fingerprint, SourceFile

Problems = list[tuple[str, str]]


def write(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path, encoding="utf-8")


def listed(root: Path, *, pattern: str = "**/*.md", ignore: tuple[str, ...] = ()) -> list[str]:
    problems: Problems = []
    files = list(walk(Collection("notes", str(root), pattern=pattern, ignore=ignore), record(problems)))
    assert problems == []
    return [file.path for file in files]


def record(problems: Problems) -> OnProblem:
    return lambda path, reason: problems.append((path, reason))


def test_walk_returns_paths_and_fingerprints(tmp_path: Path) -> None:
    write(tmp_path, "x/a.md")
    status = (tmp_path / "x/a.md").stat()
    assert list(walk(Collection("notes", str(tmp_path)))) == [
        SourceFile(
            "x/a.md",
            str(tmp_path / "x/a.md"),
            Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino),
        )
    ]


def test_walk_lists_markdown_files_in_order(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a.md", "z/c.md", "y/x/d.md", "A.MD", "n.Md", "t.txt", "md", "x.mdx")
    assert listed(tmp_path) == ["A.MD", "a.md", "b.md", "n.Md", "y/x/d.md", "z/c.md"]


def test_walk_applies_the_pattern(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.txt", "x/c.md", "x/d.org", "x/y/e.txt")
    assert listed(tmp_path, pattern="**/*.{txt,org}") == ["b.txt", "x/d.org", "x/y/e.txt"]
    assert listed(tmp_path, pattern="*.md, x/*.org") == ["a.md", "x/d.org"]


def test_walk_leaves_out_hidden_and_vendor_folders(tmp_path: Path) -> None:
    for folder in ("node_modules", ".git", ".cache", "vendor", "dist", "build", ".obsidian"):
        write(tmp_path, f"{folder}/a.md", f"x/{folder}/a.md")
    write(tmp_path, ".hidden.md", "build.md", "distance/a.md")
    assert listed(tmp_path) == ["build.md", "distance/a.md"]


def test_walk_lists_a_root_inside_a_hidden_folder(tmp_path: Path) -> None:
    write(tmp_path, ".notes/build/root/a.md")
    assert listed(tmp_path / ".notes/build/root") == ["a.md"]


def test_walk_applies_ignore_globs_to_files_and_folders(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "a.tmp.md", "drafts/a.md", "x/archive/b.md", "x/c.md", "x/d.tmp.md")
    assert listed(tmp_path, ignore=("drafts/**", "*.tmp.md", "archive/")) == ["a.md", "x/c.md"]


def test_walk_does_not_open_an_ignored_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    make_deep(tmp_path, "deep")
    assert listed(tmp_path, ignore=("deep/",)) == ["a.md"]


SPACED = ("a b.md", " .md", "a\nb.md", 'it\'s "q".md', "[a] (b).md")
SIGNS = ("a#b.md", "a%20b.md", "a:b.md", "-.md", "*.md", "{a,b}.md", "a\\b.md", "a..md")
SCRIPTS = ("😀.md", "数据库.md", "naïve.md")


@pytest.mark.parametrize("name", SPACED + SIGNS + SCRIPTS)
def test_walk_accepts_any_character_in_names(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, f"in {name}/{name}")
    assert listed(tmp_path) == sorted([name, f"in {name}/{name}"], key=lambda path: ("/" in path, path))


def test_walk_composes_paths_and_keeps_the_form_on_disk(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "café/é.md")
    write(tmp_path, decomposed)
    (file,) = walk(Collection("notes", str(tmp_path)))
    assert file.path == "café/é.md"
    assert Path(file.absolute).read_text(encoding="utf-8") == decomposed


def test_walk_reports_two_unicode_forms_of_one_name(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "é.md") for form in ("NFC", "NFD"))
    write(tmp_path, composed, decomposed)
    if len(os.listdir(tmp_path)) == 1:
        pytest.skip("this disk knows one form only")
    problems: Problems = []
    files = list(walk(Collection("notes", str(tmp_path)), record(problems)))
    assert [Path(file.absolute).name for file in files] == [composed]
    assert [path for path, _ in problems] == [decomposed]


def test_walk_reports_names_that_are_not_utf8(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.md")).write_text("b", encoding="utf-8")
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/c\xfe")).mkdir()
    except OSError:
        pytest.skip("this disk refuses such names")
    problems: Problems = []
    files = list(walk(Collection("notes", str(tmp_path)), record(problems)))
    assert [file.path for file in files] == ["a.md"]
    assert problems == [(path, "the name is not valid UTF-8") for path in ("b\\xff.md", "c\\xfe/")]


def test_walk_lists_linked_files_inside_the_root_once(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "x/b.md")
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "folder").symlink_to("x")
    (tmp_path / "x" / "absolute.md").symlink_to(tmp_path / "a.md")
    assert listed(tmp_path) == ["a.md", "x/b.md"]


def test_walk_follows_links_to_files_not_listed_otherwise(tmp_path: Path) -> None:
    write(tmp_path, ".store/s.md", ".store/deep/t.md", "README.txt", "node_modules/p/docs/d.md")
    (tmp_path / "one.md").symlink_to(".store/s.md")
    (tmp_path / "readme.md").symlink_to("README.txt")
    (tmp_path / "store").symlink_to(".store")
    (tmp_path / "docs").symlink_to("node_modules/p/docs")
    assert listed(tmp_path) == ["docs/d.md", "one.md", "readme.md", "store/deep/t.md"]
    by_path = {file.path: file.absolute for file in walk(Collection("notes", str(tmp_path)))}
    assert by_path["docs/d.md"] == str(tmp_path / "node_modules/p/docs/d.md")


def test_walk_does_not_follow_links_out_of_the_root_or_in_circles(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, "outside.md", "root-2/near.md", "root/a.md", "root/x/b.md", "root/.h/c.md")
    (root / "out.md").symlink_to(tmp_path / "outside.md")
    (root / "up").symlink_to(tmp_path)
    (root / "near").symlink_to(tmp_path / "root-2")
    (root / "self").symlink_to(".")
    (root / "x" / "back").symlink_to("..")
    (root / "hidden").symlink_to(".h")
    (root / ".h" / "back").symlink_to("..")
    assert listed(root) == ["a.md", "x/b.md", "hidden/c.md"]


def test_walk_follows_a_root_that_is_a_link(tmp_path: Path) -> None:
    write(tmp_path, "real/.h/a.md", "real/b.md")
    (tmp_path / "real" / "c.md").symlink_to(".h/a.md")
    (tmp_path / "link").symlink_to("real")
    assert listed(tmp_path / "link") == ["b.md", "c.md"]


def test_walk_reports_dangling_links(tmp_path: Path) -> None:
    (tmp_path / "broken.md").symlink_to("nowhere.md")
    (tmp_path / "loop.md").symlink_to("loop.md")
    (tmp_path / "other").symlink_to("nowhere")
    problems: Problems = []
    assert list(walk(Collection("notes", str(tmp_path)), record(problems))) == []
    assert [path for path, _ in problems] == ["broken.md", "loop.md"]


def test_walk_leaves_out_files_that_are_not_regular(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "folder.md/b.md")
    os.mkfifo(tmp_path / "fifo.md")
    (tmp_path / "link.md").symlink_to("fifo.md")
    assert listed(tmp_path) == ["a.md", "folder.md/b.md"]


def make_deep(root: Path, name: str) -> None:
    """Make a folder `name` in which a path becomes too long for the system to open."""
    descriptor = os.open(root, os.O_RDONLY)
    for part in [name, *["d" * 200] * 25]:
        os.mkdir(part, dir_fd=descriptor)
        inner = os.open(part, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


def test_walk_reports_a_folder_that_cannot_be_listed(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "z/b.md")
    make_deep(tmp_path, "deep")
    problems: Problems = []
    files = list(walk(Collection("notes", str(tmp_path)), record(problems)))
    assert [file.path for file in files] == ["a.md", "z/b.md"]
    ((path, reason),) = problems
    assert path.startswith("deep/ddd")
    assert path.endswith("d/")
    assert reason == "file name too long"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_walk_reports_a_folder_without_permission(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "secret/b.md")
    (tmp_path / "secret").chmod(0)
    problems: Problems = []
    files = list(walk(Collection("notes", str(tmp_path)), record(problems)))
    (tmp_path / "secret").chmod(0o700)
    assert [file.path for file in files] == ["a.md"]
    assert problems == [("secret/", "permission denied")]


def test_walk_needs_no_problem_listener(tmp_path: Path) -> None:
    (tmp_path / "broken.md").symlink_to("nowhere.md")
    assert list(walk(Collection("notes", str(tmp_path)))) == []


@pytest.mark.parametrize(("path", "reason"), [("missing", "does not exist"), ("a.md", "is not a folder")])
def test_walk_raises_if_the_root_is_no_folder(tmp_path: Path, path: str, reason: str) -> None:
    write(tmp_path, "a.md")
    with pytest.raises(SourceError, match=reason) as caught:
        walk(Collection("notes", str(tmp_path / path)))
    assert "'notes'" in caught.value.message
    assert str(tmp_path / path) in caught.value.message
    assert caught.value.hint


def test_walk_raises_for_a_root_with_an_impossible_name(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="'notes'"):
        walk(Collection("notes", str(tmp_path / "a\0b")))


def test_walk_raises_if_the_root_vanishes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, "a.md", "x/b.md")
    files = walk(Collection("notes", str(root)))
    assert next(files).path == "a.md"
    root.rename(tmp_path / "gone")
    with pytest.raises(SourceError, match="does not exist"):
        list(files)


def test_walk_ignores_files_deleted_meanwhile(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", "x/c.md")
    problems: Problems = []
    files = walk(Collection("notes", str(tmp_path)), record(problems))
    assert next(files).path == "a.md"
    (tmp_path / "b.md").unlink()
    (tmp_path / "x/c.md").unlink()
    (tmp_path / "x").rmdir()
    assert list(files) == []
    assert problems == []


@pytest.mark.parametrize("place", ["x", "x/y", ""])
@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="needs descriptors of folders")
def test_walk_does_not_leave_the_root_if_a_folder_becomes_a_link(tmp_path: Path, place: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(root, "a.md", "x/b.md", "x/y/c.md", "z.md")
    write(outside, "s.md", "x/s.md", "x/y/s.md")
    problems: Problems = []
    files = walk(Collection("notes", str(root)), record(problems))
    assert next(files).path == "a.md"
    (root / place).rename(tmp_path / "moved")
    (root / place).symlink_to(outside / place)
    with contextlib.nullcontext() if place else pytest.raises(SourceError, match="was replaced"):
        for file in files:
            assert not file.path.endswith("s.md")
    assert problems == []


def test_walk_raises_for_an_invalid_pattern(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        walk(Collection("notes", str(tmp_path), pattern="{1..100000}.md"))

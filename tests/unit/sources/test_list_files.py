"""A scan of some paths finds the same files there as a full scan."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings, strategies as st

from qmd.sources.root import Root
from qmd.sources.walk import folders, list_files, walk
from qmd.types import Collection, States

NAMES = st.sampled_from(["a", "b", "é", "node_modules", ".hidden", "drafts"])
FILES = st.sampled_from(["x.md", "é.md", "y.txt", ".z.md", "b.md"])
PATHS = st.builds(lambda parts, file: "/".join([*parts, file]), st.lists(NAMES, max_size=3), FILES)


def make(root: Path, paths: list[str]) -> Collection:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text", encoding="utf-8")
    return Collection("c", str(root), ignore=("drafts/**",))


@settings(max_examples=60)
@given(st.lists(PATHS, max_size=12), st.lists(PATHS | st.lists(NAMES, min_size=1).map("/".join), max_size=5))
def test_some_paths_have_the_files_that_walk_lists_there(paths: list[str], within: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        collection = make(Path(folder).resolve(), paths)
        expected = {
            file
            for file in walk(collection)
            if any(f"{file.path}/".startswith(f"{path}/") for path in within)
        }
        found = list_files(Root(collection), collection, {}, within)
        if within:
            assert len(found.files) == len(expected)
            assert set(found.files) == expected
        known: States = {file.path: file.fingerprint for file in walk(collection)}
        same = list_files(Root(collection), collection, known, within)
        assert not same.files
        assert set(same.same(known)) == (expected if within else {*walk(collection)})


@settings(max_examples=60)
@given(st.lists(PATHS, max_size=12))
def test_folders_have_or_can_have_documents(paths: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        collection = make(root, paths)
        found = folders(collection)
        assert {str(Path(file.absolute).parent) for file in walk(collection)} <= found.prefixes.keys()
        names = {part for prefix in found.prefixes.values() for part in prefix.split("/")}
        assert not names & {"node_modules", ".hidden"}
        for real, prefix in found.prefixes.items():
            assert real == str(root / prefix)


def test_links_among_some_paths_need_the_whole_collection(tmp_path: Path) -> None:
    collection = make(tmp_path, ["a/x.md", "b/y.md"])
    (tmp_path / "link.md").symlink_to("a/x.md")
    (tmp_path / "folder").symlink_to("b")
    for within, paths in {"link.md": "a/x.md b/y.md", "folder/y.md": "a/x.md b/y.md", "a": "a/x.md"}.items():
        found = list_files(Root(collection), collection, {}, [within])
        assert [file.path for file in found.files] == paths.split()
        assert found.within == ({within} if within == "a" else set())
    assert folders(collection).links == {"link.md", "folder"}

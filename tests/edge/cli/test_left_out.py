"""What `add` says of folders and links with documents that it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.users import User

_FOLDERS = (
    *("notes/.hidden/deep", "notes/.obsidian", "notes/.git", "notes/node_modules/x", "notes/build"),
    *("notes/logseq/bak", "notes/.left", "outside", "empty"),
)


@pytest.fixture
def folder(user: User) -> Path:
    root = user.home / "untidy"
    for place in _FOLDERS:
        (root / place).mkdir(parents=True)
        name = "app.json" if place.endswith((".obsidian", "empty")) else "x.md"
        (root / place / name).write_text(f"# {place}\n", encoding="utf-8")
    (root / "notes/a.md").write_text("# A\n", encoding="utf-8")
    (root / "notes/shelf").symlink_to(root / "outside")
    (root / "notes/nothing").symlink_to(root / "empty")
    (root / "notes/one.md").symlink_to(root / "outside/x.md")
    (root / "notes/two.md").symlink_to(root / "outside/y.md")
    (root / "outside/y.md").write_text("# Y\n", encoding="utf-8")
    (root / "notes/inside.md").symlink_to(root / "notes/a.md")
    (root / "notes/round").symlink_to(root / "notes")
    return root


def test_add_says_in_one_line_what_it_leaves_out(user: User, folder: Path) -> None:
    said = user.ok("collection", "add", str(folder / "notes"), "--ignore", ".left")
    (line,) = [each for each in said.splitlines() if "left out" in each]
    assert line == (
        "notes: left out: 1 hidden folder (.hidden), 1 folder of programs (build), "
        "1 linked folder outside (shelf), 2 linked files outside (one.md, two.md). "
        f"To index one: qmd add {folder}/notes/.hidden"
    )
    assert "hidden: 1 new" in user.ok("collection", "add", f"{folder}/notes/.hidden", "--name", "hidden")
    assert "left out" not in user.ok("collection", "add", str(folder / "outside"))
    assert "left out" not in user.ok("update")

"""Folders that say nearly the same are told, with the command that leaves one out."""

from __future__ import annotations

import pytest

import qmd
from tests.conftest import Notes

BIRDS = ("heron", "ibis", "crane", "stork", "egret", "gull", "tern", "rail", "coot", "swan", "teal", "smew")


def manual(folder: str, more: str = "") -> dict[str, str]:
    text = f"# The {{0}}\n\nThe {{0}} sleeps near its {{0}} nest and eats.{more}\n"
    return {f"{folder}/birds/{bird}.md": text.format(bird) for bird in BIRDS}


@pytest.mark.parametrize("names", [("v1", "v2"), ("docs", "old/docs")])
def test_second_version_of_a_manual_is_told(index: qmd.Index, notes: Notes, names: tuple[str, str]) -> None:
    one, other = names
    report = index.add_collection(str(notes(manual(one) | manual(other, " And flies."))), "m")
    top = other.removesuffix("/docs") if "/" in other else other
    line = f"{other} says nearly the same as {one} (12 documents)."
    if "/" in other:
        line = f"{top} says nearly the same as the folder (12 documents)."
    told = f"{line} To leave it out: qmd collection set m --ignore '{top}/**'"
    assert told in report.notices
    assert f"m: {told}" in index.status().notes


def test_folders_with_the_names_of_others_are_not_told(index: qmd.Index, notes: Notes) -> None:
    days = {
        f"2026-0{month}/{day:02}.md": f"# {day:02}\n\n"
        + " ".join(f"w{month}{day}{word}" for word in range(20))
        for month in (1, 2)
        for day in range(1, 28)
    }
    translated = manual("en") | {
        path.replace("en/", "de/"): text.replace("The", "Der") for path, text in manual("en").items()
    }
    index.add_collection(str(notes(days | translated)), "m")
    assert not any("nearly" in note for note in index.status().notes)


def test_folders_are_compared_again_only_after_many_changes(index: qmd.Index, notes: Notes) -> None:
    folder = notes(manual("v1") | manual("v2"))
    index.add_collection(str(folder), "m", ignore=["*.tmp"])
    (note,) = (note for note in index.status().notes if "nearly the same" in note)
    assert note.endswith("--ignore '*.tmp' --ignore 'v2/**'")
    for file in (folder / "v2").rglob("*.md"):
        file.unlink()
    index.update()
    assert not any("nearly the same" in note for note in index.status().notes)

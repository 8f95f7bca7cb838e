"""The same from Python as from the command line: models, doctor, cleanup."""

from __future__ import annotations

import qmd
from tests.conftest import Notes


def test_the_doctor_looks_at_the_index_that_is_open(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "alpha", "b.md": "beta"})))
    steps: list[str] = []
    found = {each.check: each for each in index.doctor(on_step=steps.append)}
    assert found["index"].message.startswith(f"{index.locations.index} is intact: 2 documents")
    assert found["vectors"].message == "2 texts have no vectors, so only words find them"
    assert "Checking the file" in steps


def test_a_cleanup_says_what_it_is_doing_and_what_it_did(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "alpha", "b.md": "beta"})
    index.add_collection(str(folder))
    (folder / "b.md").unlink()
    index.update(["notes"])
    steps: list[str] = []
    rehearsed = index.cleanup(dry_run=True, on_step=steps.append)
    assert steps == []
    done = index.cleanup(on_step=steps.append)
    assert done.items == rehearsed.items
    assert [item.kind for item in done.items] == ["texts", "segments"]
    assert steps[:2] == ["Dropping texts", "Merging the full-text index"]
    assert index.cleanup().items == ()


def test_every_role_names_its_model(index: qmd.Index) -> None:
    found = index.models()
    assert [(use.role, use.name) for use in found] == [
        ("embed", "multilingual-e5-small"),
        ("rerank", "late-interaction"),
        ("expand", None),
    ]
    assert {use.condition for use in found[:2]} <= {"ready", "unprepared"}
    assert found[2].condition == "none"

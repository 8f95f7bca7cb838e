"""Models, doctor and cleanup in Python."""

from __future__ import annotations

import qmd
from tests.conftest import Notes


def test_doctor_checks_the_open_index(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "alpha", "b.md": "beta"})))
    steps: list[str] = []
    found = {each.check: each for each in index.doctor(on_step=steps.append)}
    assert found["index"].message.startswith(f"{index.locations.index} is intact: 2 documents")
    assert found["vectors"].message == "2 texts have no vectors, so only words find them"
    assert "Checking the file" in steps


def test_cleanup_reports_steps_and_results(index: qmd.Index, notes: Notes) -> None:
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


def test_models_names_the_model_of_every_role(index: qmd.Index) -> None:
    found = index.models()
    assert [(use.role, use.name) for use in found] == [
        ("embed", "multilingual-e5-small"),
        ("rerank", "late-interaction"),
        ("expand", None),
    ]
    assert {use.condition for use in found[:2]} <= {"ready", "unprepared"}
    assert found[2].condition == "none"

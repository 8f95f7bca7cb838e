"""Copying a whole store into another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import qmd
from qmd.errors import ConflictError, ForeignIndexError, StoreError, UsageError
from qmd.features.portable import copying
from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.types import Collection, Config
from tests.conftest import Notes
from tests.store.material import TEXTS, Opens, changed, embed, everything, fill, vector

pytestmark = pytest.mark.slow


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Store]:
    """A store with data of every kind: a shared text, vectors, cached answers."""
    with closing(open_store(str(tmp_path / "source.sqlite"), None, {})) as store:
        fill(store)
        store.documents.apply(
            "b", [changed("copy.md", TEXTS["ops/deploy.md"], author="Ann", date="2024-05-01")], []
        )
        embed(store)
        store.documents.apply("b", [changed("new.md", "no vectors yet")], [])
        store.answers.put({"key": "answer", "鍵": "值"})
        yield store


@pytest.fixture
def config() -> Config:
    return Config("/c/index.yml", "1", {name: Collection(name, f"/files/{name}") for name in "ab"})


def told(store: Store) -> dict[str, object]:
    """Return the data of a store, in a form that does not depend on its kind."""
    (made,) = store.vector_sets.all()
    similar = store.vectors.search(made.fingerprint, vector("x"), everything(), 5)
    files = {
        key: document.file for key, document in store.documents.by_id([m.document for m in similar]).items()
    }
    return {
        "documents": [(d.file, d.hash, d.title, d.author, d.date) for d in store.documents.listing()],
        "manifest": [store.documents.manifest(name) for name in "ab"],
        "set": made,
        "frequencies": store.vector_sets.all_token_frequencies(made.fingerprint),
        "pending": [item.text for item in store.pending.texts(made.fingerprint, everything(), 0, 100)],
        "similar": sorted((files[m.document], m.chunk, round(m.similarity, 3)) for m in similar),
        "answers": sorted(store.answers.items()),
    }


def test_copy_answers_like_its_source(filled: Store, opens: Opens, config: Config, tmp_path: Path) -> None:
    store = opens()
    report = copying.copy(filled, store, config)
    assert (report.documents, report.removed) == (len(TEXTS) + 2, 0)
    assert report.total_documents == len(TEXTS) + 2
    assert told(store) == told(filled)
    again = copying.copy(filled, store, config)
    assert (again.documents, again.removed, again.chunks) == (0, 0, 0)
    # Copy back.
    with closing(open_store(str(tmp_path / "back.sqlite"), None, {})) as back:
        copying.copy(store, back, config)
        assert told(back) == told(filled)


def test_copy_takes_over_later_changes(filled: Store, opens: Opens, config: Config) -> None:
    store = opens()
    copying.copy(filled, store, config)
    filled.documents.apply("a", [changed("ops/deploy.md", "all new", version=2)], ["ops/backup.md"])
    embed(filled)
    report = copying.copy(filled, store, config)
    assert (report.documents, report.removed) == (1, 1)
    assert told(store) == told(filled)


@pytest.mark.parametrize("step", range(1, 8))
def test_interrupted_copy_continues(
    filled: Store, opens: Opens, config: Config, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_DOCUMENTS", 3)
    monkeypatch.setattr(copying, "_TEXTS", 4)
    store, steps = opens(), iter(range(1, step + 1))

    def until(*_: object) -> None:
        if next(steps) == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copying.copy(filled, store, config, until)
    report = copying.copy(filled, opens(), config)
    assert report.documents < len(TEXTS) + 2
    assert told(store) == told(filled)


def test_copy_reports_a_source_that_changes_meanwhile(filled: Store, opens: Opens, config: Config) -> None:
    def meddle(what: str, done: int, total: int) -> None:
        if what.startswith("vectors"):
            filled.documents.apply("a", [changed("ops/deploy.md", "edited meanwhile", version=3)], [])

    with pytest.raises(StoreError, match="differ in the documents of 'a'"):
        copying.copy(filled, opens(), config, meddle)


# -- through the Python API --------------------------------------------------------------------------------


def test_copy_store_refuses_impossible_copies(tmp_path: Path, notes: Notes, environ: dict[str, str]) -> None:
    other = tmp_path / "other.sqlite"
    with qmd.open_index(other, environ=environ) as index:
        index.add_collection(str(notes({"a.md": "# A\n\nText.\n"}, "elsewhere")), "elsewhere")
    with qmd.open_index(tmp_path / "mine.sqlite", environ=environ) as index:
        mine = index.status().index
        with pytest.raises(UsageError, match="to itself"):
            index.copy_store(mine, mine)
        with pytest.raises(UsageError, match="nothing in"):
            index.copy_store(mine, str(tmp_path / "new.sqlite"))
        index.add_collection(str(notes({"b.md": "# B\n\nText.\n"}, "mine")), "mine")
        with pytest.raises(ConflictError, match="elsewhere"):
            index.copy_store(mine, str(other))
        (tmp_path / "text.txt").write_text("no index", encoding="utf-8")
        with pytest.raises(ForeignIndexError):
            index.copy_store(mine, str(tmp_path / "text.txt"))
    with qmd.open_index(other, environ=environ) as index:
        assert [document.file for document in index.documents()] == ["elsewhere/a.md"]

"""Collections in every store."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from qmd.errors import ConfigError, ConflictError
from qmd.store.base import Store
from qmd.text.query import parse
from tests.store.material import (
    EMBEDDER,
    TEXTS,
    Opens,
    changed,
    config,
    embed,
    everything,
    fill,
    lexical_rows,
)


def test_sync_adds_and_removes_collections(store: Store) -> None:
    fill(store)
    store.documents.apply("b", [changed("x.md", "in b")], [])
    stats = store.collections.stats()
    assert (stats["a"].documents, stats["b"].documents) == (len(TEXTS), 1)
    assert stats["a"].bytes == sum(len(text.encode()) for text in TEXTS.values())
    assert stats["a"].updated_at is not None
    assert store.collections.last_scans() == {"a": stats["a"].updated_at, "b": None}

    store.collections.sync(config("b", "c", digest="2"))
    assert {name: each.documents for name, each in store.collections.stats().items()} == {"b": 1, "c": 0}
    assert [each.file for each in store.documents.listing()] == ["b/x.md"]


def test_sync_with_another_configuration_drops_documents_only_if_allowed(store: Store) -> None:
    fill(store)
    other = replace(config("b", "c", digest="2"), path="/d/index.yml")
    with pytest.raises(ConfigError, match=r"belongs to /c/index\.yml.* of a$"):
        store.collections.sync(other)
    assert {name: each.documents for name, each in store.collections.stats().items()} == {
        "a": len(TEXTS),
        "b": 0,
    }
    store.collections.sync(other, drop=True)
    assert {name: each.documents for name, each in store.collections.stats().items()} == {"b": 0, "c": 0}
    # No documents would be lost, so the index belongs to this configuration from now on.
    store.documents.apply("b", [changed("x.md", "in b")], [])
    store.collections.sync(replace(config("b", digest="3"), path="/e/index.yml"))
    store.collections.sync(replace(config("c", digest="4"), path="/e/index.yml"))
    assert list(store.documents.listing()) == []


def test_config_copy_is_returned_only_for_its_digest_and_path(store: Store, opens: Opens) -> None:
    written = config("a", "b")
    store.collections.sync(written)
    assert opens().collections.config_copy(written.path, "1") == written
    assert store.collections.config_copy(written.path, "2") is None
    assert store.collections.config_copy("/other.yml", "1") is None


def test_rename_keeps_documents_ids_and_vectors(store: Store) -> None:
    fill(store)
    embed(store)
    before = store.documents.find("a", "ops/deploy.md")
    with pytest.raises(ConflictError):
        store.collections.rename("a", "b")
    store.collections.rename("a", "z")
    after = store.documents.find("z", "ops/deploy.md")
    assert before is not None and after is not None
    assert (after.id, after.file) == (before.id, "z/ops/deploy.md")
    assert store.pending.count(EMBEDDER, everything("z")) == 0
    assert lexical_rows(store, store.lexical.search(parse("deploy"), everything("z"), 5))
    # The old name is free for other documents.
    store.collections.sync(config("a", "z", digest="3"))
    store.documents.apply("a", [changed("ops/deploy.md", "another")], [])
    assert len(list(store.documents.listing())) == len(TEXTS) + 1


def test_remove_deletes_documents_and_prune_their_texts(store: Store) -> None:
    fill(store)
    embed(store)
    store.documents.apply("b", [changed("same.md", TEXTS["ops/deploy.md"])], [])
    assert store.collections.remove("a") == len(TEXTS)
    assert store.collections.remove("a") == 0
    assert [each.file for each in store.documents.listing()] == ["b/same.md"]
    assert store.documents.prune() == len(TEXTS) - 1
    assert store.documents.prune() == 0
    assert store.pending.count(EMBEDDER, everything()) == 0

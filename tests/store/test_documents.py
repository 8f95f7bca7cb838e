"""Documents and their texts in every store."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from msgspec.structs import replace

from qmd.errors import CollectionNotFoundError, StoreError
from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.store.values import Applied, DocumentChange, Scope
from qmd.text.filters import from_options
from qmd.text.query import parse
from qmd.types import Fingerprint, SourceText
from tests.store.material import (
    changed,
    config,
    everything,
    fill,
    lexical_rows,
)


def test_apply_reports_changes_and_updates_the_manifest(store: Store) -> None:
    store.collections.sync(config("a"))
    first = [changed("x.md", "one"), changed("y.md", "two")]
    assert store.documents.apply("a", first, []) == Applied(added=2)
    assert store.documents.manifest("a") == {each.path: each.fingerprint for each in first}

    second = [
        changed("x.md", "one", version=2),
        changed("y.md", "two more", version=2),
        changed("z.md", "three"),
    ]
    assert store.documents.apply("a", second, ["gone.md"]) == Applied(added=1, updated=1)
    assert store.documents.manifest("a") == {each.path: each.fingerprint for each in second}

    # The file was saved without a change, so only its fingerprint differs.
    saved = replace(second[0], fingerprint=Fingerprint(9, 9, 9))
    assert store.documents.apply("a", [saved], ["z.md"]) == Applied(removed=1)
    assert store.documents.manifest("a")["x.md"] == Fingerprint(9, 9, 9)
    assert sorted(store.documents.manifest("a")) == ["x.md", "y.md"]


def test_aliases_that_a_text_does_not_have_are_searched_once_they_change(store: Store) -> None:
    store.collections.sync(config("a"))
    for alias in ("Pelican", "Heron"):
        item = changed("a.xyz", "some words")
        source = replace(item.source, fields={"alias": (alias, alias.lower()), "format": ("xyz",)})
        store.documents.apply("a", [replace(item, source=source)], [])
        found = {
            word: len(store.lexical.search(parse(word), everything(), 9).matches)
            for word in ("pelican", "heron")
        }
        assert found == {"pelican": alias == "Pelican", "heron": alias == "Heron"}
    assert store.upkeep.faults(lambda _: None) == []


def test_apply_without_waiting_is_visible_to_the_next_call(store: Store) -> None:
    store.collections.sync(config("a"))
    for number in range(5):
        batch = [changed(f"{number}.md", f"---\nstatus: s{number % 2}\n---\n\npelican number {number}")]
        assert store.documents.apply("a", batch, [], wait=False) == Applied(added=1)
        assert len(store.lexical.search(parse("pelican"), everything(), 9).matches) == number + 1
    for number in range(5):
        again = changed(f"{number}.md", "heron", version=2)
        store.documents.apply("a", [again], [f"{number + 1}.md"], wait=False)
    assert sorted(store.documents.manifest("a")) == [f"{number}.md" for number in range(5)]
    assert len(store.lexical.search(parse("heron"), everything(), 9).matches) == 5
    assert not store.lexical.search(parse("pelican"), everything(), 9).matches


def test_error_after_apply_returned_is_raised_by_the_next_call(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    store = open_store(str(path), None, {})
    store.collections.sync(config("a"))
    front_matter = "---\nstatus: draft\n---\n\n"
    large = [changed("large.md", front_matter + " ".join(f"word{number}" for number in range(50_000)))]
    log = tmp_path / "index.sqlite-wal"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # As on a full disk: the commit cannot write the log.
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 4_096, limits[1]))
    try:
        store.documents.apply("a", large, [], wait=False)
        with pytest.raises(StoreError, match="sqlite") as raised:
            store.documents.manifest("a")
        assert "space" in str(raised.value.hint)
        assert store.documents.manifest("a") == {}
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    # The value was not stored, so the next batch stores it.
    store.documents.apply("a", large, [], wait=False)
    assert store.fields.count(Scope(("a",), from_options({"where": "status=draft"}))) == 1
    assert len(store.lexical.search(parse("word7"), everything(), 9).matches) == 1
    assert not store.upkeep.faults(lambda _: None)
    store.close()


def test_apply_refuses_an_unknown_collection(store: Store) -> None:
    store.collections.sync(config("a"))
    with pytest.raises(CollectionNotFoundError):
        store.documents.apply("b", [changed("x.md", "one")], [])
    with pytest.raises(CollectionNotFoundError):
        store.documents.manifest("b")


def test_documents_are_found_by_path_name_and_hash(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill(each)
        each.documents.apply("b", [changed("ops/deploy.md", "another text")], [])

    def answers(store: Store) -> object:
        deploy = store.documents.find("a", "ops/deploy.md")
        assert deploy is not None
        return (
            (deploy.file, deploy.title, deploy.hash, deploy.size, deploy.modified_ns),
            store.documents.find("a", "ops/none.md"),
            store.documents.find("c", "ops/deploy.md"),
            [each.file for each in store.documents.ending_with("deploy.md")],
            [each.file for each in store.documents.ending_with("a/ops/deploy.md")],
            [each.file for each in store.documents.ending_with("ploy.md")],
            [each.file for each in store.documents.ending_with("100%.md")],
            [each.file for each in store.documents.path_contains("_")],
            [each.file for each in store.documents.path_contains("笔记")],
            [each.file for each in store.documents.by_hash(deploy.hash[:6])],
            [each.file for each in store.documents.listing()],
            [each.file for each in store.documents.listing("b")],
            [each.file for each in store.documents.listing("a", "ops")],
            [each.file for each in store.documents.listing("a", "/ops/deploy.md/")],
            [each.file for each in store.documents.listing("a", "op")],
            [each.file for each in store.documents.listing("c")],
        )

    assert answers(store) == answers(oracle)


def test_texts_returns_texts_unchanged(store: Store) -> None:
    long = "长文\n" * 60_000
    store.collections.sync(config("a"))
    store.documents.apply("a", [changed("long.md", long), changed("zero.md", "a\u0000b \U0001f600")], [])
    for path, text in (("long.md", long), ("zero.md", "a\u0000b \U0001f600")):
        document = store.documents.find("a", path)
        assert document is not None
        assert store.documents.texts([document.id, 12345]) == {document.id: text}
        assert store.documents.by_id([document.id, 12345]) == {document.id: document}


HOSTILE = {
    "word.md": f"# Data\n\nbefore {'x' * 200_000}q after",
    "han.md": "数据" * 10_000 + " aardvark",
    "line.md": "a line of walrus words " * 40_000,
    "headings.md": "".join(f"# heading {number}\n" for number in range(20_000)),
    "zero.md": "left\x00right",
    "bidi.md": "\u202e\u2066lairt\u2069\u202c \u200ftrial",
    "marks.md": "a" + "\u0301\u0316" * 20_000 + " ก" + "\u0e48\u0e38" * 20_000 + " okapi",
    "symbols.md": "📅" * 5_000 + " 👩\u200d💻 \U0001f3fd",
    "controls.md": "".join(map(chr, range(1, 32))) + " badger \ufffe\uffff\U0010ffff",
}


@pytest.mark.slow
def test_hostile_texts_are_stored_and_found(store: Store) -> None:
    store.collections.sync(config("a"))
    store.documents.apply("a", [changed(path, text) for path, text in HOSTILE.items()], [])
    store.documents.refresh_statistics()

    def found(query: str) -> list[str]:
        matches = store.lexical.search(parse(query), everything("a"), 20)
        return sorted(row[1].removeprefix("a/") for row in lexical_rows(store, matches))

    assert found("x" * 200_000) == found("x" * 128) == found("x" * 500 + "*") == ["word.md"]
    assert found('"before ' + "x" * 300 + ' after"') == ["word.md"]
    assert found("x" * 127) == ["word.md"]  # that of a longer word
    assert found("数据 aardvark") == found('"数据数据"') == ["han.md"]
    assert found("walrus") == ["line.md"]
    assert found("heading 19999") == ["headings.md"]
    assert found("left") == found('"left right"') == found("le\x00ft right") == ["zero.md"]
    assert found("trial") == found("lairt") == ["bidi.md"]
    assert found("okapi") == ["marks.md"]
    assert found("📅") == found("💻") == found("👩\u200d💻") == ["symbols.md"]
    assert found("badger") == ["controls.md"]
    assert found("\ud800badger\udfff") == ["controls.md"]  # lone surrogates are not part of words
    for path, text in HOSTILE.items():
        document = store.documents.find("a", path)
        assert document is not None
        assert store.documents.texts([document.id]) == {document.id: text}
    assert store.upkeep.faults(lambda _: None) == []


def test_apply_refuses_lone_surrogates_and_changes_nothing(store: Store) -> None:
    store.collections.sync(config("a"))
    source = SourceText("half \ud800 a character", "0" * 64, "title")
    with pytest.raises(UnicodeEncodeError):
        store.documents.apply(
            "a", [changed("a.md", "whole"), DocumentChange("b.md", Fingerprint(1, 1, 1), source)], []
        )
    assert store.documents.manifest("a") == {}

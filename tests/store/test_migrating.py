"""An index of an earlier version: what it lacks is made from what it holds, without its files."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from qmd.store.base import Store
from qmd.store.milvus import documents, weights
from qmd.store.milvus.schema import FIELDS, FORMAT, FORMER
from qmd.store.milvus.store import MilvusStore
from qmd.store.sqlite import schema
from qmd.text import tokens
from qmd.text.extraction import extract
from qmd.text.filters import from_options
from qmd.text.query import parse
from tests.store.material import (
    EMBEDDER,
    Opens,
    assert_alike,
    changed,
    config,
    dense_rows,
    embed,
    everything,
    fill,
    lexical_rows,
    vector,
)

LONG = "a" + "pelican" * 40
TEXTS = {
    "plan.md": "# Plan\n\n📅 meeting → budget in €",
    "data.md": f"# Data\n\nthe blob {LONG} ends here",
    "plain.md": "# Plain\n\nanother meeting",
    "📌/pinned.md": "what is pinned",
}


def former_terms(text: str) -> str:
    """A text's terms before symbols were terms, and without its long words, which were not found."""
    words = re.findall(r"[^\W_]+", text)
    return " ".join(tokens.index_form(word) if len(word) < 100 else f"{word}uncut" for word in words)


def former_file(path: Path) -> None:
    """Make a SQLite index one of the version before."""
    former = schema.MIGRATIONS.index(schema._symbols)
    path.rename(path.with_suffix(".new"))
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
    for step in schema.MIGRATIONS[:former]:
        step(connection)
    connection.execute("ATTACH ? AS new", (str(path.with_suffix(".new")),))
    tables = connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in tables:
        if table.startswith(("documents_", "sqlite_")):
            continue
        held = "SELECT name FROM pragma_table_info(?, ?)"
        columns = connection.execute(f"{held} INTERSECT {held}", (table, "main", table, "new")).fetchall()
        names = ", ".join(name for (name,) in columns)
        connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM new.{table}")
    rows = connection.execute(
        "SELECT d.id, d.title, t.text, d.path FROM documents d JOIN contents t ON t.id = d.content_id"
    )
    for identity, *fields in rows.fetchall():
        connection.execute(
            "INSERT INTO documents_fts (rowid, title, body, path) VALUES (?, ?, ?, ?)",
            (identity, *map(former_terms, map(str, fields))),
        )
    connection.execute(f"PRAGMA user_version={former}")
    connection.close()


def found(store: Store, query: str) -> list[str]:
    return sorted(row[1] for row in lexical_rows(store, store.lexical.search(parse(query), everything(), 10)))


def test_documents_of_an_earlier_index_are_found_by_symbols_and_long_words(
    opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opens()
    with monkeypatch.context() as patched:
        patched.setattr(weights, "index_form", former_terms)
        fill(store, TEXTS)
    embed(store)
    by_vector = dense_rows(store, vector("meeting"), everything(), 10)
    if isinstance(store, MilvusStore):
        store._state.put({"format": FORMER[0]})
        assert found(store, "📅") == []  # read as it is
    store.close()
    if not isinstance(store, MilvusStore):
        former_file(tmp_path / "index.sqlite")

    opened = opens()
    opened.collections.sync(config("a", "b"))
    assert found(opened, "📅") == found(opened, "€") == found(opened, "→") == ["a/plan.md"]
    assert found(opened, "📌") == ["a/📌/pinned.md"]
    assert found(opened, LONG) == found(opened, LONG[:120] + "*") == ["a/data.md"]
    assert found(opened, "meeting") == ["a/plain.md", "a/plan.md"]
    assert opened.pending.count(EMBEDDER, everything()) == 0
    assert dense_rows(opened, vector("meeting"), everything(), 10) == by_vector
    assert opened.upkeep.faults(lambda _: None) == []


@pytest.mark.milvus
def test_documents_of_an_earlier_index_get_fields_links_and_aliases_from_their_texts(
    oracle: Store, tmp_path: Path
) -> None:
    def opened() -> MilvusStore:
        return MilvusStore(f"milvus://{tmp_path}/index.db", {})

    text = "---\naliases: [Albatross]\nstatus: draft\n---\n\n[[data]]"
    texts = {**TEXTS, "note.md": text}
    fill(oracle, texts)
    titled = [changed(path, text, extract(text, path).title) for path, text in texts.items()]
    oracle.documents.apply("a", titled, [])
    oracle.documents.refresh_statistics()
    store = opened()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "searched_title", lambda title, fields, path: title)
        fill(store, {**TEXTS, "note.md": text})
    embed(store)
    store._client.drop(FIELDS)
    store._state.put({"format": FORMER[1]})
    store.close()

    draft = replace(everything(), where=from_options({"where": "status=draft"}))
    store = opened()
    assert store.fields.count(draft) == 1  # read from the text
    store.collections.sync(config("a", "b"))
    got, wanted = (each.lexical.search(parse("albatross"), draft, 5) for each in (store, oracle))
    assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))
    assert store.pending.count(EMBEDDER, everything()) == 0
    ids = store.fields.newest(draft, 5)
    assert store.fields.linking("a", ["data"]) == ids
    assert store._client.count(FIELDS, "part == 0", reading="strong") == len(TEXTS) + 1
    assert store._state.get("format", "strong") == FORMAT
    # No rows of removed documents and of former versions are left.
    store.documents.apply("a", [changed("data.md", "edited", version=2)], ["note.md"])
    assert store._client.count(FIELDS, "part == 0", reading="strong") == len(TEXTS)
    store.close()


@pytest.mark.milvus
def test_documents_of_an_earlier_index_in_milvus_get_titles_from_their_texts_and_names(
    tmp_path: Path,
) -> None:
    def opened() -> MilvusStore:
        return MilvusStore(f"milvus://{tmp_path}/index.db", {})

    store = opened()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "searched_title", lambda title, fields, path: title)
        fill(store, {"Manage otters.md": "words\n\n# Settings\n", "data.md": "words\n\n# Settings\n"})
    embed(store)
    store._state.put({"format": FORMER[2]})
    store.close()
    store = opened()
    store.collections.sync(config("a", "b"))
    matches = store.lexical.search(parse("manage"), everything(), 5).matches
    [document] = store.documents.by_id([match.document for match in matches]).values()
    assert (document.path, document.title) == ("Manage otters.md", "Manage otters")
    assert store.pending.count(EMBEDDER, everything()) == 0
    store.close()


@pytest.mark.milvus
def test_doctor_finds_fields_in_milvus_that_the_text_does_not_have(tmp_path: Path) -> None:
    store = MilvusStore(f"milvus://{tmp_path}/index.db", {})
    fill(store, {"note.md": "---\nstatus: draft\n---\n\nwords", "plain.md": "words"})
    columns = ["id", "document", "collection", "stamp", "part", "fields", "links", "names", "writer", "at"]
    rows = list(store._client.all(FIELDS, "part == 0", columns))
    store._client.put(
        FIELDS, ({**row, "fields": str(row["fields"]).replace("draft", "done")} for row in rows)
    )
    store.close()

    store = MilvusStore(f"milvus://{tmp_path}/index.db", {})
    assert [fault.message for fault in store.upkeep.faults(lambda _: None)] == [
        "the fields of 1 of 2 documents are not in their texts"
    ]
    store.close()

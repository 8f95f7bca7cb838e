"""An index in Milvus of an earlier version: what it lacks is made from what it holds, without its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from qmd.errors import StoreError
from qmd.features.milvus.schema import FIELDS, FORMER
from qmd.features.milvus.store import MilvusStore
from qmd.text import extraction
from qmd.text.query import parse
from qmd.text.values import DATE_ORIGIN
from tests.store.material import (
    EMBEDDER,
    changed,
    config,
    embed,
    everything,
    fill,
)


@pytest.mark.milvus
def test_older_milvus_index_gets_titles_from_texts_and_names(
    tmp_path: Path,
) -> None:
    def opened() -> MilvusStore:
        return MilvusStore(f"milvus://{tmp_path}/index.db", {})

    store = opened()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(extraction, "searched_title", lambda title, fields, path: title)
        fill(
            store, {"Manage otters.md": "words\n\n# Settings\n\n# More\n", "data.md": "words\n\n# Settings\n"}
        )
    embed(store)
    store._state.put({"format": FORMER})
    store.close()
    store = opened()
    store.collections.sync(config("a", "b"))
    matches = store.lexical.search(parse("manage"), everything(), 5).matches
    [document] = store.documents.by_id([match.document for match in matches]).values()
    assert (document.path, document.title) == ("Manage otters.md", "Manage otters")
    assert store.pending.count(EMBEDDER, everything()) == 0
    store.close()


@pytest.mark.milvus
def test_milvus_index_of_an_unknown_version_is_refused(tmp_path: Path) -> None:
    url = f"milvus://{tmp_path}/index.db"
    store = MilvusStore(url, {})
    fill(store, {"note.md": "words"})
    for version, message in (("2", "before 1.0.0"), ("999", "newer")):
        store._state.put({"format": version})
        with pytest.raises(StoreError, match=message):
            MilvusStore(url, {})
    store.close()


@pytest.mark.milvus
def test_doctor_finds_fields_in_milvus_that_differ_from_the_text(tmp_path: Path) -> None:
    store = MilvusStore(f"milvus://{tmp_path}/index.db", {})
    store.collections.sync(config("a", "b"))
    texts = {"note.md": "---\nstatus: draft\n---\n\nwords", "plain.md": "words"}
    for path, text in texts.items():
        change = changed(path, text)
        # Documents that this version has scanned are compared.
        scanned = replace(change.source, fields={**change.source.fields, DATE_ORIGIN: ("file",)})
        store.documents.apply("a", [replace(change, source=scanned)], [])
    store.collections.finish_scan("a")
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

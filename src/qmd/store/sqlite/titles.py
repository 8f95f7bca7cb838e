"""The texts that are indexed of each document, and the titles that former versions gave to documents."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from qmd.store.sqlite.blocks import rebuild
from qmd.store.sqlite.field_rows import FieldWriter
from qmd.text.data_uris import data_spans
from qmd.text.extraction import extract, searched_title
from qmd.text.languages import detect, prose
from qmd.text.layout import indexed, known
from qmd.text.tokens import index_form, may_be_signed
from qmd.text.values import LANGUAGE, fold
from qmd.types.content import MARKDOWN

#: The indexed texts of each document: its id, title, aliases (JSON), text, path and
#: the structure of its text, packed.
INDEXED = (
    "SELECT d.id, d.title, (SELECT json_group_array(v.value) "
    "FROM document_fields df JOIN field_values v ON v.id = df.value_id "
    "WHERE df.document_id = d.id AND v.type IN ('text', 'date') "
    "AND v.field_id = (SELECT id FROM field_names WHERE name = 'alias')), t.text, d.path, s.structure "
    "FROM documents d JOIN contents t ON t.id = d.content_id "
    "LEFT JOIN structures s ON s.content_id = d.content_id"
)
#: The documents that are Markdown.
_MARKDOWN = (
    "SELECT df.document_id FROM document_fields df JOIN field_values v ON v.id = df.value_id "
    "JOIN field_names n ON n.id = v.field_id WHERE n.name = 'format' AND v.value = ?"
)
#: The documents that have no language.
_WITHOUT_LANGUAGE = (
    "SELECT id FROM documents WHERE id NOT IN (SELECT df.document_id FROM document_fields df "
    "JOIN field_values v ON v.id = df.value_id JOIN field_names n ON n.id = v.field_id WHERE n.name = ?)"
)
#: As in `schema`, which imports this module.
_COLLECTION_SHIFT = 40


def renew(db: apsw.Connection, *, everything: bool = False) -> None:
    """Give titles to Markdown documents, terms to all, and keys to values, by the present rules.

    Documents whose words are as they should be stay as they are, unless `everything` is to be indexed
    again. Vectors stay too: a text keeps those that were made with the former title. But texts with pictures
    as `data:` addresses, of which vectors were made before, are to be embedded again.
    """
    if everything:
        db.execute("INSERT INTO documents_fts(documents_fts) VALUES ('delete-all')")
    markdown = {identity for (identity,) in db.execute(_MARKDOWN, (MARKDOWN,))}
    pictured: list[int] = []
    found: list[int] = [identity for (identity,) in db.execute("SELECT id FROM documents")]
    for identity in found:
        _, title, aliases, text, path, kept = db.execute(f"{INDEXED} WHERE d.id = ?", (identity,)).get
        before = title
        if data_spans(text):
            pictured.append(identity)
        if identity in markdown:
            title = extract(text, path).title
        searched = searched_title(title, {"alias": tuple(json.loads(aliases))}, path)
        forms = indexed(searched, text, path, known(kept, text))
        whole = f"{text}\n{searched}\n{path}"
        is_plain = whole.isascii() and not may_be_signed(whole) and forms[1] == index_form(text)
        same_title = title == before and _terms_of_title(db, identity) == len(forms[0].split())
        if is_plain and same_title and not everything:
            continue
        db.execute("UPDATE documents SET title = ? WHERE id = ?", (title, identity))
        db.execute("DELETE FROM documents_fts WHERE rowid = ?", (identity,))
        db.execute(
            "INSERT INTO documents_fts (rowid, title, body, path) VALUES (?, ?, ?, ?)",
            (identity, *forms),
        )
    _add_languages(db)
    _renew_keys(db)
    if not everything:
        _drop_vectors(db, pictured)


def _drop_vectors(db: apsw.Connection, documents: Sequence[int]) -> None:
    """Drop the vectors of the texts of documents, so that they are embedded again."""
    collections: set[int] = set()
    for document in documents:
        content: int = db.execute("SELECT content_id FROM documents WHERE id = ?", (document,)).get
        db.execute("DELETE FROM content_vectors WHERE content_id = ?", (content,))
        if db.changes():
            query = "SELECT DISTINCT collection_id FROM documents WHERE content_id = ?"
            collections.update(collection for (collection,) in db.execute(query, (content,)))
    for collection in collections:
        rebuild(db, collection)


def _add_languages(db: apsw.Connection) -> None:
    """Add the languages of the texts that do not have one."""
    writer = FieldWriter(db)
    found: dict[int, list[int]] = {}
    for identity in [row[0] for row in db.execute(_WITHOUT_LANGUAGE, (LANGUAGE,))]:
        found.setdefault(identity >> _COLLECTION_SHIFT, []).append(identity)
    for collection, identities in found.items():
        for identity in identities:
            *_, text, _, kept = db.execute(f"{INDEXED} WHERE d.id = ?", (identity,)).get
            if language := detect(prose(text, known(kept, text))):
                writer.put(identity, {LANGUAGE: (language,)}, (), ())
        writer.flush(collection)


def _renew_keys(db: apsw.Connection) -> None:
    """Compare the texts of fields by the present rule."""
    rows = db.execute("SELECT id, key, value FROM field_values WHERE type = 'text'")
    keys = [(key, row) for row, before, value in rows if (key := fold(value)) != before]
    db.executemany("UPDATE field_values SET key = ? WHERE id = ?", keys)


def _terms_of_title(db: apsw.Connection, identity: int) -> int | None:
    """Return the number of terms that are indexed as the title of a document; None if it is not indexed.

    With the same title, words of an old form differ in their number: those of the file's name are not among
    them, or those of an alias are twice.
    """
    sizes: bytes | None = db.execute("SELECT sz FROM documents_fts_docsize WHERE id = ?", (identity,)).get
    number = 0
    for byte in sizes or b"":
        number = number << 7 | byte & 127
        if byte < 128:
            return number
    return None

"""The texts that are indexed of each document, and the titles that former versions gave to documents."""

from __future__ import annotations

import json

import apsw

from qmd.text.extraction import MARKDOWN, extract, searched_title
from qmd.text.tokens import index_form

#: The indexed texts of each document: its id, title, aliases (JSON), text and path.
INDEXED = (
    "SELECT d.id, d.title, (SELECT json_group_array(v.value) "
    "FROM document_fields df JOIN field_values v ON v.id = df.value_id "
    "WHERE df.document_id = d.id AND v.type IN ('text', 'date') "
    "AND v.field_id = (SELECT id FROM field_names WHERE name = 'alias')), t.text, d.path "
    "FROM documents d JOIN contents t ON t.id = d.content_id"
)
#: The text and the path of a document.
_SOURCE = "SELECT t.text, d.path FROM documents d JOIN contents t ON t.id = d.content_id WHERE d.id = ?"
#: The documents with aliases, and how many each has.
_ALIASES = (
    "SELECT df.document_id, count(*) FROM document_fields df JOIN field_values v ON v.id = df.value_id "
    "JOIN field_names n ON n.id = v.field_id WHERE n.name = 'alias' GROUP BY 1"
)
#: The documents that are Markdown.
_MARKDOWN = (
    "SELECT df.document_id FROM document_fields df JOIN field_values v ON v.id = df.value_id "
    "JOIN field_names n ON n.id = v.field_id WHERE n.name = 'format' AND v.value = ?"
)


def renew(db: apsw.Connection) -> None:
    """Give Markdown documents their titles by the present rule, and search the names of all files as titles.

    Vectors stay as they are: a text keeps those that were made with the former title.
    """
    markdown = {identity for (identity,) in db.execute(_MARKDOWN, (MARKDOWN,))}
    found: list[int] = [identity for (identity,) in db.execute("SELECT id FROM documents")]
    for identity in found:
        if identity in markdown:
            text, path = db.execute(_SOURCE, (identity,)).get
            title = extract(text, path).title
            db.execute("UPDATE documents SET title = ? WHERE id = ?", (title, identity))
        _index(db, identity)


def renew_aliases(db: apsw.Connection) -> None:
    """Index aliases of Markdown documents once that differ in case alone, and that were indexed each."""
    counts: dict[int, int] = dict(db.execute(_ALIASES))
    for identity, count in counts.items():
        text, path = db.execute(_SOURCE, (identity,)).get
        if len(extract(text, path).fields.get("alias", ())) != count:
            _index(db, identity)


def _index(db: apsw.Connection, identity: int) -> None:
    """Index the words of a document again."""
    _, title, aliases, text, path = db.execute(f"{INDEXED} WHERE d.id = ?", (identity,)).get
    searched = searched_title(title, {"alias": tuple(json.loads(aliases))}, path)
    db.execute("DELETE FROM documents_fts WHERE rowid = ?", (identity,))
    db.execute(
        "INSERT INTO documents_fts (rowid, title, body, path) VALUES (?, ?, ?, ?)",
        (identity, *map(index_form, (searched, text, path))),
    )

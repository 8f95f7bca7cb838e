"""Taking documents out of every table that knows them."""

from __future__ import annotations

import apsw

from qmd.store.sqlite.scope_filter import ranges


def drop_documents(db: apsw.Connection, collection_id: int) -> int:
    """Drop all documents of a collection, inside the caller's transaction; texts and vectors stay."""
    ((low, high),) = ranges([collection_id])
    db.execute(
        "DELETE FROM documents_fts WHERE rowid IN (SELECT id FROM documents WHERE id BETWEEN ? AND ?)",
        (low, high),
    )
    db.execute("DELETE FROM vectors_vec WHERE collection_id = ?", (collection_id,))
    db.execute("DELETE FROM documents WHERE id BETWEEN ? AND ?", (low, high))
    return int(db.changes())

"""The layouts of long texts: a row beside each, written with it.

An index of a former version has none. `fill` makes them of the stored texts, in batches, and is continued by
the next writer if it is interrupted; until then searches lay out a text when they show it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import apsw
from msgspec import MsgspecError

from qmd.store.records import LAID_OUT
from qmd.store.sqlite.database import LISTED, Database, listed
from qmd.store.sqlite.schema import WITH_LAYOUTS
from qmd.store.sqlite.terms import phrase
from qmd.text.tokens import indexed

if TYPE_CHECKING:
    from qmd.text.layout import Layout, Placed

#: The key in the table `meta` as long as a text may be without its layout.
_WAITING = "without layouts"
#: Texts in one transaction of `fill`: searches and other writers go on between two.
_BATCH = 200
#: In an index of up to this many documents all rows with a term are read, and of a larger one single rows.
_FEW = 20_000
#: The column of texts.
_BODY = 1
_MISSING = f"FROM contents WHERE bytes > {LAID_OUT} AND id NOT IN (SELECT content_id FROM layouts)"


class Placer(threading.local):
    """Reads layouts, and the places of terms from the full-text index, by the connection of a thread."""

    def __init__(self) -> None:
        self._db: apsw.Connection | None = None
        self._found: dict[int, list[Sequence[int]]] = {}

    def placed(self, db: apsw.Connection, ids: Sequence[int], terms: Sequence[str]) -> dict[int, Placed]:
        """Return the layouts of documents that have one, with the places of terms if there are any."""
        from qmd.text.layout import Placed  # an update of short texts starts without it

        layouts = of_documents(db, ids)
        if not terms:
            return {document: Placed(layout) for document, layout in layouts.items()}
        if self._db is not db:
            self._db = db
            db.register_fts5_function("qmd_places", self._row)
        match = " OR ".join(phrase((term.removesuffix("*"),), term.endswith("*")) for term in terms)
        query = "SELECT qmd_places(documents_fts) FROM documents_fts WHERE documents_fts MATCH ? AND rowid "
        self._found = {}
        if int(db.execute("SELECT value FROM meta WHERE key = 'counted'").get or 0) <= _FEW:
            ends = min(layouts, default=0), max(layouts, default=0)
            within = f"{query} BETWEEN ? AND ? AND +rowid IN {LISTED}"
            db.execute(within, (match, *ends, listed(layouts))).fetchall()
        elif "*" not in match:
            # Each document by itself: FTS5 goes to its row at once, and reads no others.
            for document in layouts:
                db.execute(f"{query} = ?", (match, document)).fetchall()
        else:
            return {document: Placed(layout) for document, layout in layouts.items()}
        return {
            document: Placed(layout, dict(zip(terms, self._found.get(document, ()), strict=False)))
            for document, layout in layouts.items()
        }

    def _row(self, api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> None:
        """Keep the places of all terms in the current row. Called by SQLite."""
        self._found[api.rowid] = [api.phrase_locations(at)[_BODY] for at in range(api.phrase_count)]


def of_documents(db: apsw.Connection, ids: Iterable[int]) -> dict[int, Layout]:
    """Return the layouts of documents that have one, by id."""
    if int(db.pragma("user_version")) < WITH_LAYOUTS:
        return {}  # a process of an older version holds the index
    from qmd.text.layout import unpack

    rows = db.execute(
        "SELECT d.id, l.layout FROM documents d JOIN layouts l ON l.content_id = d.content_id "
        f"WHERE d.id IN {LISTED}",
        (listed(ids),),
    )
    found: dict[int, Layout] = {}
    for identity, packed in rows:
        try:
            found[identity] = unpack(packed)
        except (MsgspecError, TypeError):  # it is damaged, and can be made again
            continue
    return found


def indexed_document(names: str, text: str, path: str) -> tuple[tuple[str, str, str], bytes | None]:
    """Return the terms of a document, as `tokens.indexed` does, and the layout of its text if it is long."""
    if 4 * len(text) > LAID_OUT and len(text.encode()) > LAID_OUT:
        from qmd.text.layout import indexed_with_layout  # an update of short texts starts without it

        return indexed_with_layout(names, text, path)
    return indexed(names, text, path), None


def put(db: apsw.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Store layouts by the ids of their texts, inside a transaction."""
    db.executemany("INSERT OR REPLACE INTO layouts VALUES (?, ?)", rows)


def _wrong(db: apsw.Connection) -> list[int]:
    """Return the ids of texts whose layouts cannot be theirs."""
    rows = db.execute(
        "SELECT l.content_id, l.layout, t.text FROM layouts l JOIN contents t ON t.id = l.content_id"
    )
    return [identity for identity, kept, text in rows if not _is_of(kept, text)]


def _is_of(kept: object, text: str) -> bool:
    from qmd.text.layout import unpack

    try:
        return isinstance(kept, bytes) and unpack(kept).fits(text)
    except MsgspecError:
        return False


def count_wrong(db: apsw.Connection) -> int:
    """Return the number of texts whose layouts cannot be theirs."""
    return len(_wrong(db))


def drop_wrong(db: apsw.Connection) -> None:
    """Drop the layouts that cannot be those of their texts, inside a transaction; `fill` makes them again."""
    db.execute(f"DELETE FROM layouts WHERE content_id IN {LISTED}", (listed(_wrong(db)),))
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, '')", (_WAITING,))


def waiting(database: Database) -> int:
    """Return the number of long texts that have no layout yet."""
    if not database.value("SELECT 1 FROM meta WHERE key = ?", (_WAITING,)):
        return 0
    return int(database.value(f"SELECT count(*) {_MISSING}"))


def fill(database: Database) -> None:
    """Make the layouts that are missing."""
    while database.value("SELECT 1 FROM meta WHERE key = ?", (_WAITING,)):
        ids = [row[0] for row in database.rows(f"SELECT id {_MISSING} LIMIT {_BATCH}")]
        texts = database.rows(f"SELECT id, hash, text FROM contents WHERE id IN {LISTED}", (listed(ids),))
        known = {digest: (identity, text) for identity, digest, text in texts}
        made = {digest: indexed_document("", text, "")[1] for digest, (_, text) in known.items()}
        with database.transaction() as db:
            present = {
                row[0] for row in db.execute(f"SELECT id FROM contents WHERE id IN {LISTED}", (listed(ids),))
            }
            put(
                db,
                [
                    (identity, made[digest] or b"")
                    for digest, (identity, _) in known.items()
                    if identity in present
                ],
            )
            if not ids:
                db.execute("DELETE FROM meta WHERE key = ?", (_WAITING,))

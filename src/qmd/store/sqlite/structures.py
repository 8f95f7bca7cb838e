"""The structures of texts: a row beside each, written with it.

An index of a former version has none. `fill` makes them of the stored texts, in batches, and is continued by
the next writer if it is interrupted; until then a text is read as Markdown when it is shown.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import apsw
from msgspec import MsgspecError

from qmd.store.sqlite.database import LISTED, Database, listed
from qmd.store.sqlite.schema import WITH_STRUCTURES
from qmd.store.sqlite.terms import phrase

if TYPE_CHECKING:
    from qmd.text.layout import Placed
    from qmd.types.structure import Structure

#: The key in the table `meta` as long as a text may be without its structure.
_WAITING = "without structures"
#: Texts in one transaction of `fill`: searches and other writers go on between two.
_BATCH = 200
#: In an index of up to this many documents all rows with a term are read, and of a larger one single rows.
_FEW = 20_000
#: The places of more terms are not asked for.
_MOST = 64
#: The column of texts.
_BODY = 1
_MISSING = "FROM contents WHERE id NOT IN (SELECT content_id FROM structures)"


#: The number of documents when common terms were counted.
COUNTED = "SELECT value FROM meta WHERE key = 'counted'"


class Placer(threading.local):
    """Reads structures, and the places of terms from the full-text index, by the connection of a thread."""

    def __init__(self) -> None:
        self._db: apsw.Connection | None = None
        self._found: dict[int, list[Sequence[int]]] = {}

    def placed(self, database: Database, ids: Sequence[int], terms: Sequence[str]) -> dict[int, Placed]:
        """Return the structures of documents that have one, with the places of terms if there are any."""
        from qmd.text.layout import Placed  # an update starts without it

        db = database.connection()
        known = of_documents(database, ids)
        if not 0 < len(terms) <= _MOST:
            return {document: Placed(each) for document, each in known.items()}
        if self._db is not db:
            self._db = db
            db.register_fts5_function("qmd_places", self._row)
        match = " OR ".join(phrase((term.removesuffix("*"),), term.endswith("*")) for term in terms)
        query = "SELECT qmd_places(documents_fts) FROM documents_fts WHERE documents_fts MATCH ? AND rowid "
        self._found = {}
        if int(next(iter(database.once(COUNTED)), (0,))[0]) <= _FEW:
            ends = min(known, default=0), max(known, default=0)
            within = f"{query} BETWEEN ? AND ? AND +rowid IN {LISTED}"
            db.execute(within, (match, *ends, listed(known))).fetchall()
        elif "*" not in match:
            # Each document by itself: FTS5 goes to its row at once, and reads no others.
            for document in known:
                db.execute(f"{query} = ?", (match, document)).fetchall()
        else:
            return {document: Placed(each) for document, each in known.items()}
        return {
            document: Placed(each, dict(zip(terms, self._found.get(document, ()), strict=False)))
            for document, each in known.items()
        }

    def _row(self, api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> None:
        """Keep the places of all terms in the current row. Called by SQLite."""
        self._found[api.rowid] = [api.phrase_locations(at)[_BODY] for at in range(api.phrase_count)]


def of_documents(database: Database, ids: Iterable[int]) -> dict[int, Structure]:
    """Return the structures of documents that have one, by id."""
    if database.once("PRAGMA user_version")[0][0] < WITH_STRUCTURES:
        return {}  # a process of an older version holds the index
    found = database.structures()
    if missing := [each for each in ids if each not in found]:
        found.update(_read(database, missing))
    return {each: found[each] for each in ids if each in found}


def _read(database: Database, ids: Iterable[int]) -> Iterator[tuple[int, Structure]]:
    from qmd.text.layout import unpack

    rows = database.rows(
        "SELECT d.id, s.structure FROM documents d JOIN structures s ON s.content_id = d.content_id "
        f"WHERE d.id IN {LISTED}",
        (listed(ids),),
    )
    for identity, packed in rows:
        with suppress(MsgspecError, TypeError):  # it is damaged, and can be made again
            yield identity, unpack(packed)


def put(db: apsw.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Store structures by the ids of their texts, inside a transaction."""
    db.executemany("INSERT OR REPLACE INTO structures VALUES (?, ?)", rows)


def _wrong(db: apsw.Connection) -> list[int]:
    """Return the ids of texts whose structures cannot be theirs."""
    rows = db.execute(
        "SELECT s.content_id, s.structure, t.text FROM structures s JOIN contents t ON t.id = s.content_id"
    )
    return [identity for identity, kept, text in rows if not _is_of(kept, text)]


def _is_of(kept: object, text: str) -> bool:
    from qmd.text.layout import unpack

    try:
        return isinstance(kept, bytes) and unpack(kept).fits(text)
    except MsgspecError:
        return False


def count_wrong(db: apsw.Connection) -> int:
    """Return the number of texts whose structures cannot be theirs."""
    return len(_wrong(db))


def drop_wrong(db: apsw.Connection) -> None:
    """Drop structures that cannot be those of their texts, inside a transaction; `fill` makes them again."""
    db.execute(f"DELETE FROM structures WHERE content_id IN {LISTED}", (listed(_wrong(db)),))
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, '')", (_WAITING,))


def waiting(database: Database) -> int:
    """Return the number of texts that have no structure yet."""
    if not database.value("SELECT 1 FROM meta WHERE key = ?", (_WAITING,)):
        return 0
    return int(database.value(f"SELECT count(*) {_MISSING}"))


def fill(database: Database) -> None:
    """Make the structures that are missing."""
    if not database.value("SELECT 1 FROM meta WHERE key = ?", (_WAITING,)):
        return
    from qmd.text.layout import indexed_with_structure, of_markdown

    while database.value("SELECT 1 FROM meta WHERE key = ?", (_WAITING,)):
        ids = [row[0] for row in database.rows(f"SELECT id {_MISSING} LIMIT {_BATCH}")]
        texts = database.rows(f"SELECT id, hash, text FROM contents WHERE id IN {LISTED}", (listed(ids),))
        found = {digest: (identity, text) for identity, digest, text in texts}
        made = {
            digest: indexed_with_structure("", text, "", of_markdown(text))[1]
            for digest, (_, text) in found.items()
        }
        with database.transaction() as db:
            present = {
                row[0] for row in db.execute(f"SELECT id FROM contents WHERE id IN {LISTED}", (listed(ids),))
            }
            put(
                db,
                [(identity, made[digest]) for digest, (identity, _) in found.items() if identity in present],
            )
            if not ids:
                db.execute("DELETE FROM meta WHERE key = ?", (_WAITING,))

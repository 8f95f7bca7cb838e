"""What a reranker has read, so that it need not be read again. What was read least recently makes room."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from qmd.store import base
from qmd.store.sqlite.database import SqlitePart
from qmd.store.sqlite.schema import WITH_WINDOWS

_DAY = 86_400
#: The share of rows that stays if there are too many, so that few writes have to make room.
_KEPT = 7 / 8


class Windows(SqlitePart, base.Windows):
    """Rows of the table `windows`."""

    def get(self, keys: Sequence[bytes]) -> dict[bytes, tuple[bytes, bool]]:
        with self._database.snapshot() as db:
            if int(db.pragma("user_version")) < WITH_WINDOWS:
                return {}  # a process of an older version holds the index
            query = f"SELECT key, vectors, day < ? FROM windows WHERE key IN ({', '.join('?' * len(keys))})"
            rows = db.execute(query, (_today(), *keys))
            return {key: (vectors, bool(old)) for key, vectors, old in rows}

    def put(self, rows: Mapping[bytes, tuple[int, bytes]], read: Collection[bytes], most: int) -> None:
        day = _today()
        with self._database.transaction() as db:
            db.executemany("UPDATE windows SET day = ? WHERE key = ?", ((day, key) for key in read))
            db.executemany(
                "INSERT OR REPLACE INTO windows SELECT ?, content_id, ?, ? FROM documents WHERE id = ?",
                ((key, day, vectors, document) for key, (document, vectors) in rows.items()),
            )
            count = db.execute("SELECT count(*) FROM windows").get
            if count > most:
                oldest = "SELECT rowid FROM windows ORDER BY day, rowid LIMIT ?"
                db.execute(f"DELETE FROM windows WHERE rowid IN ({oldest})", (count - int(most * _KEPT),))


def _today() -> int:
    return int(time.time()) // _DAY

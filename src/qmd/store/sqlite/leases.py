"""Leases of workers on texts, so that no text is embedded twice, and texts of killed workers are not lost."""

from __future__ import annotations

import time
from typing import Any

import apsw

from qmd.store.base import Pending, Scope
from qmd.store.records import MAX_LEASE_SECONDS
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.scope_filter import condition, filter_of
from qmd.store.sqlite.vectors import PENDING, UNEMBEDDED

#: The position before the first text.
_START = (-1, -1)


class Leases:
    """Leases on texts by embedder fingerprint and worker."""

    def __init__(self, database: Database) -> None:
        self._database = database
        #: The size and the id of the last text that each worker leased. Small texts come first.
        self._positions: dict[tuple[str, str, Scope], tuple[int, int]] = {}

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        """Lease up to `limit` texts without vectors to `worker` for `seconds`, small texts first."""
        now = time.time()
        key = (worker, embedder, scope)
        with self._database.transaction() as db:
            db.execute("DELETE FROM leases WHERE until <= ? OR until > ?", (now, now + MAX_LEASE_SECONDS))
            db.execute("UPDATE leases SET until = ? WHERE worker = ?", (now + seconds, worker))
            # Continue after the last text, because earlier texts are mostly embedded. Start again at the end:
            # other workers may have released earlier texts.
            after = self._positions.get(key, _START)
            texts, end = self._free(db, embedder, scope, after, limit)
            if after != _START and limit and not texts:
                texts, end = self._free(db, embedder, scope, _START, limit)
            self._positions[key] = end
            db.executemany(
                "INSERT INTO leases (embedder, content_id, worker, until) VALUES (?, ?, ?, ?)",
                [(embedder, text.content, worker, now + seconds) for text in texts],
            )
            return texts

    def _free(
        self, db: apsw.Connection, embedder: str, scope: Scope, after: tuple[int, int], limit: int
    ) -> tuple[list[Pending], tuple[int, int]]:
        """Return texts after a position that lack vectors and are not leased, and the last position."""
        filters, values = condition(filter_of(self._database, scope), "d")
        rows: list[Any] = []
        # Two queries, because a comparison of pairs would read every text of this size again.
        for beyond, position in (("t.bytes = ? AND t.id > ?", after), ("t.bytes > ?", after[:1])):
            rows += db.execute(
                f"SELECT t.bytes, {PENDING} FROM contents t INDEXED BY contents_bytes WHERE {beyond} "
                f"AND EXISTS (SELECT 1 FROM documents d WHERE d.content_id = t.id {filters}) "
                f"AND {UNEMBEDDED} "
                "AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.embedder = ? AND l.content_id = t.id) "
                "ORDER BY t.bytes, t.id LIMIT ?",
                (embedder, *position, *values, embedder, embedder, limit - len(rows)),
            ).fetchall()
        return [Pending(*row[1:]) for row in rows], tuple(rows[-1][:2]) if rows else after

    def release(self, prefix: str) -> None:
        """Release the leases of workers whose name starts with `prefix`."""
        self._positions = {
            key: position for key, position in self._positions.items() if not key[0].startswith(prefix)
        }
        with self._database.transaction() as db:
            db.execute("DELETE FROM leases WHERE substr(worker, 1, ?) = ?", (len(prefix), prefix))

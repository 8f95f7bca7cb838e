"""Leases: which worker embeds which texts, so that none is embedded twice, and no dead worker's is lost."""

from __future__ import annotations

import time

from qmd.store.base import Pending, Scope
from qmd.store.records import LONGEST
from qmd.store.sqlite.part import Part
from qmd.store.sqlite.scopes import condition


class LeasesPart(Part):
    """Leases on texts, by embedder fingerprint and worker."""

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        """The next texts without vectors that nobody holds; from now on `worker` does, for so long.

        What it held before it holds as long again.
        """
        now = time.time()
        filters, values = condition(self._within(scope), "d")
        with self._database.transaction() as db:
            db.execute("DELETE FROM leases WHERE until <= ? OR until > ?", (now, now + LONGEST))
            db.execute("UPDATE leases SET until = ? WHERE worker = ?", (now + seconds, worker))
            rows = db.execute(
                "SELECT t.id, (SELECT d.title FROM documents d WHERE d.content_id = t.id LIMIT 1), t.text, "
                "t.hash FROM contents t "
                f"WHERE EXISTS (SELECT 1 FROM documents d WHERE d.content_id = t.id {filters}) "
                "AND NOT EXISTS (SELECT 1 FROM content_vectors v JOIN embedders e ON e.id = v.embedder_id "
                "WHERE e.fingerprint = ? AND v.content_id = t.id) "
                "AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.embedder = ? AND l.content_id = t.id) "
                "ORDER BY t.id LIMIT ?",
                (*values, embedder, embedder, limit),
            )
            found = [Pending(*row) for row in rows]
            db.executemany(
                "INSERT INTO leases (embedder, content_id, worker, until) VALUES (?, ?, ?, ?)",
                [(embedder, item.content, worker, now + seconds) for item in found],
            )
            return found

    def release(self, workers: str) -> None:
        """Let go of what workers hold whose names begin so."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM leases WHERE substr(worker, 1, ?) = ?", (len(workers), workers))

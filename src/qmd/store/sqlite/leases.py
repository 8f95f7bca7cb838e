"""Leases: which worker embeds which texts, so that none is embedded twice, and no dead worker's is lost."""

from __future__ import annotations

import time

import apsw

from qmd.store.base import Pending, Scope
from qmd.store.records import LONGEST
from qmd.store.sqlite.part import Part
from qmd.store.sqlite.scopes import condition


class LeasesPart(Part):
    """Leases on texts, by embedder fingerprint and worker."""

    #: How far each worker has come, by text: the rest of what is asked for lies beyond.
    _leased_to: dict[tuple[str, str, Scope], int]

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        """The next texts without vectors that nobody holds; from now on `worker` does, for so long.

        What it held before it holds as long again.
        """
        now = time.time()
        asked = (worker, embedder, scope)
        with self._database.transaction() as db:
            db.execute("DELETE FROM leases WHERE until <= ? OR until > ?", (now, now + LONGEST))
            db.execute("UPDATE leases SET until = ? WHERE worker = ?", (now + seconds, worker))
            # From where it left off: what is done already would be looked at again each time. What others let
            # go of before that place comes in the end.
            after = self._leased_to.get(asked, 0)
            found = self._free(db, embedder, scope, after, limit)
            if after and not found:
                found = self._free(db, embedder, scope, 0, limit)
            if found:
                self._leased_to[asked] = found[-1].content
            db.executemany(
                "INSERT INTO leases (embedder, content_id, worker, until) VALUES (?, ?, ?, ?)",
                [(embedder, item.content, worker, now + seconds) for item in found],
            )
            return found

    def _free(
        self, db: apsw.Connection, embedder: str, scope: Scope, after: int, limit: int
    ) -> list[Pending]:
        """Texts beyond `after` without vectors that nobody holds."""
        filters, values = condition(self._within(scope), "d")
        rows = db.execute(
            "SELECT t.id, (SELECT d.title FROM documents d WHERE d.content_id = t.id LIMIT 1), t.text, "
            "t.hash FROM contents t WHERE t.id > ? "
            f"AND EXISTS (SELECT 1 FROM documents d WHERE d.content_id = t.id {filters}) "
            "AND NOT EXISTS (SELECT 1 FROM content_vectors v JOIN embedders e ON e.id = v.embedder_id "
            "WHERE e.fingerprint = ? AND v.content_id = t.id) "
            "AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.embedder = ? AND l.content_id = t.id) "
            "ORDER BY t.id LIMIT ?",
            (after, *values, embedder, embedder, limit),
        )
        return [Pending(*row) for row in rows]

    def release(self, workers: str) -> None:
        """Let go of what workers hold whose names begin so."""
        self._leased_to = {
            asked: text for asked, text in self._leased_to.items() if not asked[0].startswith(workers)
        }
        with self._database.transaction() as db:
            db.execute("DELETE FROM leases WHERE substr(worker, 1, ?) = ?", (len(workers), workers))

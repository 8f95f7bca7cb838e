"""Leases: which worker embeds which texts, so that none is embedded twice, and no dead worker's is lost."""

from __future__ import annotations

import time
from typing import Any

import apsw

from qmd.store.base import Pending, Scope
from qmd.store.records import LONGEST
from qmd.store.sqlite.part import Part
from qmd.store.sqlite.scope_filter import condition
from qmd.store.sqlite.vectors import PENDING, UNEMBEDDED

#: Before every text.
_BEGINNING = (-1, -1)


class LeasesPart(Part):
    """Leases on texts, by embedder fingerprint and worker."""

    #: How far each worker has come, by the size and the number of a text: small texts go first.
    _leased_to: dict[tuple[str, str, Scope], tuple[int, int]]

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        """Lease up to `limit` texts that lack vectors to `worker`, for `seconds`: small texts first.

        What it held before it holds as long again.
        """
        now = time.time()
        asked = (worker, embedder, scope)
        with self._database.transaction() as db:
            db.execute("DELETE FROM leases WHERE until <= ? OR until > ?", (now, now + LONGEST))
            db.execute("UPDATE leases SET until = ? WHERE worker = ?", (now + seconds, worker))
            # From where it left off: what is done already would be looked at again each time. What others let
            # go of before that place comes in the end.
            after = self._leased_to.get(asked, _BEGINNING)
            found, end = self._free(db, embedder, scope, after, limit)
            if after != _BEGINNING and limit and not found:
                found, end = self._free(db, embedder, scope, _BEGINNING, limit)
            self._leased_to[asked] = end
            db.executemany(
                "INSERT INTO leases (embedder, content_id, worker, until) VALUES (?, ?, ?, ?)",
                [(embedder, item.content, worker, now + seconds) for item in found],
            )
            return found

    def _free(
        self, db: apsw.Connection, embedder: str, scope: Scope, after: tuple[int, int], limit: int
    ) -> tuple[list[Pending], tuple[int, int]]:
        """Return texts beyond `after` that lack vectors and nobody holds, and the place of the last one."""
        filters, values = condition(self._within(scope), "d")
        rows: list[Any] = []
        # In two steps: a comparison of pairs would read every text of this size again.
        for beyond, place in (("t.bytes = ? AND t.id > ?", after), ("t.bytes > ?", after[:1])):
            rows += db.execute(
                f"SELECT t.bytes, {PENDING} FROM contents t INDEXED BY contents_bytes WHERE {beyond} "
                f"AND EXISTS (SELECT 1 FROM documents d WHERE d.content_id = t.id {filters}) "
                f"AND {UNEMBEDDED} "
                "AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.embedder = ? AND l.content_id = t.id) "
                "ORDER BY t.bytes, t.id LIMIT ?",
                (embedder, *place, *values, embedder, embedder, limit - len(rows)),
            ).fetchall()
        return [Pending(*row[1:]) for row in rows], tuple(rows[-1][:2]) if rows else after

    def release(self, workers: str) -> None:
        """Let go of what workers hold whose names begin so."""
        self._leased_to = {
            asked: text for asked, text in self._leased_to.items() if not asked[0].startswith(workers)
        }
        with self._database.transaction() as db:
            db.execute("DELETE FROM leases WHERE substr(worker, 1, ?) = ?", (len(workers), workers))

"""Which worker is about to embed which text: rows of `meta`, so that several share the work."""

from __future__ import annotations

import json
import time

import apsw

from qmd.store.base import Pending, Scope
from qmd.store.sqlite.part import Part

_KEY = "lease "


def lease_key(embedder: str, content: int) -> str:
    """The key in `meta` of who holds a text."""
    return f"{_KEY}{embedder} {content}"


class Leases(Part):
    """Leases of texts without vectors."""

    def pending(self, embedder: str, scope: Scope, after: int, limit: int) -> list[Pending]:
        """The next texts without vectors, by id, beyond `after`."""
        raise NotImplementedError

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        """Texts without vectors that no other worker holds; this one holds them for so many seconds."""
        leased: list[Pending] = []
        now = time.time()
        with self._database.transaction() as db:
            after = 0
            while len(leased) < limit and (found := self.pending(embedder, scope, after, limit)):
                after = found[-1].content
                for each in found:
                    holder, until = _holder(db, lease_key(embedder, each.content))
                    if len(leased) < limit and (holder == worker or until <= now):
                        leased.append(each)
            db.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                ((lease_key(embedder, each.content), json.dumps([worker, now + seconds])) for each in leased),
            )
        return leased

    def release(self, worker: str) -> None:
        """Free all that a worker holds."""
        with self._database.transaction() as db:
            rows = list(
                db.execute("SELECT key, value FROM meta WHERE key >= ? AND key < ?", (_KEY, "lease!"))
            )
            held = [(key,) for key, value in rows if json.loads(str(value))[0] == worker]
            db.executemany("DELETE FROM meta WHERE key = ?", held)


def _holder(db: apsw.Connection, key: str) -> tuple[str, float]:
    """Who holds a text, and until when; nobody since ever where it is free."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    if row is None:
        return "", 0.0
    worker, until = json.loads(str(row[0]))
    return str(worker), float(until)

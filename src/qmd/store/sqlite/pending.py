"""The texts that lack vectors, and the leases of workers that embed them.

No text is embedded twice, and the texts of killed workers are not lost.
"""

from __future__ import annotations

import time
from typing import Any

import apsw

from qmd.store import base
from qmd.store.records import MAX_LEASE_SECONDS
from qmd.store.sqlite.database import EMBEDDER, Cache, Database, SqlitePart
from qmd.store.sqlite.scope_filter import condition, filter_of, within
from qmd.store.values import Pending, Scope

#: Chunks `v` of a text `t` by an embedder. Its fingerprint is the one parameter.
_OF_TEXT = f"v.embedder_id = {EMBEDDER} AND v.content_id = t.id"
#: A text `t` that lacks vectors: the first chunk of a text is embedded last. One parameter, as above.
_UNEMBEDDED = f"NOT EXISTS (SELECT 1 FROM content_vectors v WHERE {_OF_TEXT} AND v.seq = 0)"
#: The columns of a `Pending`, from `contents t`. One parameter, as above.
_PENDING = (
    "t.id, (SELECT d.title FROM documents d WHERE d.content_id = t.id LIMIT 1), t.text, t.hash, "
    f"(SELECT min(v.seq) FROM content_vectors v WHERE {_OF_TEXT}), "
    "coalesce((SELECT s.structure FROM structures s WHERE s.content_id = t.id), x'')"
)
#: The characters with which texts begin that are states of one text.
_SAME = 1_000
#: The position before the first text.
_START = (-1, -1)


class PendingTexts(SqlitePart, base.PendingTexts):
    """Texts without vectors, and the table `leases`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._counts = Cache()
        #: The size and the id of the last text that each worker leased. Small texts come first.
        self._positions: dict[tuple[str, str, Scope], tuple[int, int]] = {}

    def count(self, embedder: str, scope: Scope) -> int:
        documents = filter_of(self._database, scope)
        filters, values = condition(documents)
        with self._database.snapshot() as db:
            counts, key = self._counts.of(db), (embedder, documents)
            if key in counts:
                return int(counts[key])
            counts[key] = db.execute(
                "SELECT count(*) FROM "
                "(SELECT DISTINCT content_id FROM documents INDEXED BY documents_content "
                f"WHERE 1 {filters}) x WHERE NOT EXISTS (SELECT 1 FROM content_vectors v WHERE "
                f"v.embedder_id = {EMBEDDER} AND v.content_id = x.content_id AND v.seq = 0)",
                (*values, embedder),
            ).get
            return int(counts[key])

    def sizes(self, embedder: str, scope: Scope) -> list[int]:
        filters, values = within(self._database, scope)
        rows = self._database.rows(
            "SELECT CASE WHEN x.start IS NULL THEN x.bytes ELSE "
            "x.bytes * x.start / (SELECT max(1, length(text)) FROM contents WHERE id = x.id) END FROM "
            "(SELECT t.id, t.bytes, "
            f"(SELECT min(v.start) FROM content_vectors v WHERE {_OF_TEXT}) AS start "
            f"FROM contents t WHERE {_UNEMBEDDED} "
            f"AND EXISTS (SELECT 1 FROM documents d WHERE d.content_id = t.id {filters})) x",
            (embedder, embedder, *values),
        )
        return [int(size) for (size,) in rows]

    def texts(self, embedder: str, scope: Scope, after: int, limit: int) -> list[Pending]:
        filters, values = within(self._database, scope)
        rows = self._database.rows(
            f"SELECT {_PENDING} FROM contents t WHERE t.id > ? AND EXISTS (SELECT 1 FROM documents d "
            f"WHERE d.content_id = t.id {filters}) AND {_UNEMBEDDED} ORDER BY t.id LIMIT ?",
            (embedder, after, *values, embedder, limit),
        )
        return [Pending(*row) for row in rows]

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
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
        filters, values = within(self._database, scope)
        rows: list[Any] = []
        # Two queries, because a comparison of pairs would read every text of this size again.
        for beyond, position in (("t.bytes = ? AND t.id > ?", after), ("t.bytes > ?", after[:1])):
            rows += db.execute(
                f"SELECT t.bytes, {_PENDING} FROM contents t INDEXED BY contents_bytes WHERE {beyond} "
                f"AND EXISTS (SELECT 1 FROM documents d WHERE d.content_id = t.id {filters}) "
                f"AND {_UNEMBEDDED} "
                "AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.embedder = ? AND l.content_id = t.id) "
                "ORDER BY t.bytes, t.id LIMIT ?",
                (embedder, *position, *values, embedder, embedder, limit - len(rows)),
            ).fetchall()
        return [Pending(*row[1:]) for row in rows], tuple(rows[-1][:2]) if rows else after

    def earlier(self, embedder: str, text: str) -> tuple[str, str] | None:
        rows = self._database.rows(
            "SELECT t.hash, t.text FROM contents t INDEXED BY contents_bytes "
            "WHERE t.bytes BETWEEN ? AND ? AND substr(t.text, 1, ?) = ? "
            "AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.content_id = t.id) "
            f"AND EXISTS (SELECT 1 FROM content_vectors v WHERE {_OF_TEXT}) ORDER BY t.bytes DESC LIMIT 1",
            (len(text) // 8, len(text.encode()), _SAME, text[:_SAME], embedder),
        )
        return next(((digest, found) for digest, found in rows), None)

    def release(self, prefix: str) -> None:
        self._positions = {
            key: position for key, position in self._positions.items() if not key[0].startswith(prefix)
        }
        with self._database.transaction() as db:
            db.execute("DELETE FROM leases WHERE substr(worker, 1, ?) = ?", (len(prefix), prefix))

"""Which worker is about to embed which text, without a compare-and-set.

A worker writes its claims, waits, and reads who else claimed the same texts: the lowest name has them, the
others take their claims back. Texts that someone holds are not claimed at all. Claims that took longer to
write than that wait are taken back too, since another worker may have looked before it could see them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from qmd.errors import BusyError
from qmd.store.milvus.client import quoted
from qmd.store.milvus.ids import number
from qmd.store.milvus.part import Part
from qmd.store.milvus.schema import LEASES

#: How long claims may take to be written, and are waited for, in seconds.
_SETTLED = 1.0
_ATTEMPTS = 10


class Leases(Part):
    """Leases of texts without vectors."""

    def release(self, worker: str) -> None:
        """Free all that a worker holds."""
        self._client.delete(LEASES, f"worker == {quoted(worker)}")

    def _claim(
        self, embedder: str, contents: Sequence[int], worker: str, limit: int, seconds: float
    ) -> Collection[int]:
        """Which of these texts the worker holds now, at most `limit`."""
        for _ in range(_ATTEMPTS):
            started = time.monotonic()
            others = self._holders(embedder, contents)
            chosen = [each for each in contents if others.get(each, {worker}) == {worker}][:limit]
            if not chosen:
                return ()
            until = int((time.time() + seconds) * 1000)
            claims = {each: number("lease", embedder, each, worker) for each in chosen}
            claimed = {"embedder": embedder, "worker": worker, "until": until}
            self._client.put(
                LEASES, ({"id": key, "content": each, **claimed} for each, key in claims.items())
            )
            lost = set(chosen)
            if time.monotonic() - started < _SETTLED:
                time.sleep(_SETTLED)
                now = self._holders(embedder, chosen)
                lost = {each for each in chosen if min(now.get(each, {worker})) != worker}
            self._client.delete_among(LEASES, "id", [claims[each] for each in lost])
            if claims.keys() - lost:
                return claims.keys() - lost
        raise BusyError("Milvus is too slow to share the work between several", "try again later")

    def _holders(self, embedder: str, contents: Sequence[int]) -> dict[int, set[str]]:
        """The workers that claim these texts."""
        where = f"embedder == {quoted(embedder)} and until > {int(time.time() * 1000)}"
        rows = self._client.among(
            LEASES, "content", contents, ["content", "worker"], where=where, reading="strong"
        )
        holders: dict[int, set[str]] = {}
        for row in rows:
            holders.setdefault(int(row["content"]), set()).add(str(row["worker"]))
        return holders

    def _free(self, embedder: str, contents: Sequence[int]) -> None:
        """Let go of texts that have their vectors by now, whoever held them."""
        if self._client.has(LEASES):
            held = self._client.among(
                LEASES, "content", contents, ["id"], where=f"embedder == {quoted(embedder)}", reading="strong"
            )
            self._client.delete_among(LEASES, "id", [int(row["id"]) for row in held])

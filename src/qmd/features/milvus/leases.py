"""Leases on numbers, without compare-and-set.

A worker writes its claims, waits, and reads the claims of other workers. The worker with the lowest name gets
the lease; the others delete their claims. Numbers with a current lease are not claimed at all. If writing the
claims took longer than the wait, the worker deletes them too, because another worker may have read before the
claims were visible.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from qmd.errors import BusyError
from qmd.features.milvus.client import StoreClient, quoted
from qmd.features.milvus.schema import LEASES, number
from qmd.store.records import MAX_LEASE_SECONDS

#: The longest time for writing claims, and the wait after it, in seconds. It must be the same for all
#: workers: a worker that waits less than another may take to write would miss its claims.
_WAIT = 1.0
_ATTEMPTS = 10
#: Lease time of a writer that has leased no texts, in seconds.
_DEFAULT_SECONDS = 600.0


class Leases:
    """Leases on the numbers of a resource: texts of an embedder, or shards of token statistics."""

    def __init__(self, client: StoreClient, writer: str) -> None:
        self._client = client
        self._writer = writer
        #: The worker that last leased texts here, and its lease time in seconds.
        self.worker = writer
        self.seconds = _DEFAULT_SECONDS

    def claim(
        self, resource: str, numbers: Sequence[int], worker: str, limit: int, seconds: float
    ) -> set[int]:
        """Lease up to `limit` of these numbers to a worker and return them.

        Raises:
            BusyError: If claims are not written in time after several attempts.
        """
        for _ in range(_ATTEMPTS):
            started = time.monotonic()
            leased = self.holders(resource, numbers)
            chosen = [candidate for candidate in numbers if candidate not in leased][:limit]
            if not chosen:
                return set()
            claims = {candidate: number("lease", resource, candidate, worker) for candidate in chosen}
            claimed = {"embedder": resource, "worker": worker, "until": _until(seconds)}
            self._client.put(
                LEASES, ({"id": key, "content": content, **claimed} for content, key in claims.items())
            )
            lost = set(chosen)
            if time.monotonic() - started < _WAIT:
                time.sleep(_WAIT)
                holders = self.holders(resource, chosen)
                lost = {content for content in chosen if min(holders.get(content, {worker})) != worker}
            self._client.delete_among(LEASES, "id", [claims[content] for content in lost])
            if claims.keys() - lost:
                return claims.keys() - lost
            # Fewer claims are written faster and meet fewer claims of other workers.
            limit = max(1, len(chosen) // 2)
        raise BusyError("Milvus is too slow to share the work between several processes", "try again later")

    def renew(self, resource: str, worker: str, seconds: float) -> None:
        """Extend the leases of a worker to `seconds` from now."""
        fields = ["id", "embedder", "content", "worker"]
        rows = self._client.all(LEASES, _of_worker(resource, worker), fields)
        self._client.put(LEASES, [{**row, "until": _until(seconds)} for row in rows])

    def holders(self, resource: str, numbers: Sequence[int]) -> dict[int, set[str]]:
        """Return the workers that have a lease or a claim on each number."""
        # A lease with a longer time was made before the clock was set back.
        where = (
            f"embedder == {quoted(resource)} and until > {_until(0)} and until <= {_until(MAX_LEASE_SECONDS)}"
        )
        holders: dict[int, set[str]] = {}
        fields = ["content", "worker"]
        for row in self._client.among(LEASES, "content", numbers, fields, where=where, reading="strong"):
            holders.setdefault(row["content"], set()).add(row["worker"])
        return holders

    def release(self, prefix: str) -> None:
        if self.worker.startswith(prefix):
            self.worker = self._writer
        rows = self._client.all(LEASES, "id >= 0 or id < 0", ["id", "worker"])
        ids = [row["id"] for row in rows if row["worker"].startswith(prefix)]
        self._client.delete_among(LEASES, "id", ids)

    def release_worker(self, resource: str, worker: str) -> None:
        """Release the leases of one worker on one resource."""
        self._client.delete(LEASES, _of_worker(resource, worker))

    def release_numbers(self, resource: str, numbers: Collection[int]) -> None:
        """Release the leases of all workers on some numbers."""
        rows = self._client.among(
            LEASES, "content", numbers, ["id"], where=f"embedder == {quoted(resource)}", reading="strong"
        )
        self._client.delete_among(LEASES, "id", [row["id"] for row in rows])


def _of_worker(resource: str, worker: str) -> str:
    return f"worker == {quoted(worker)} and embedder == {quoted(resource)}"


def _until(seconds: float) -> int:
    """Return the time `seconds` from now in milliseconds since 1970."""
    return int((time.time() + seconds) * 1000)

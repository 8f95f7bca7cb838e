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
from qmd.store.records import LONGEST

#: How long claims may take to be written, and are waited for, in seconds.
_SETTLED = 1.0
_ATTEMPTS = 10


class Leases(Part):
    """Leases of texts without vectors."""

    def release(self, workers: str) -> None:
        """Let go of what workers hold whose names begin so."""
        rows = self._client.all(LEASES, "id >= 0 or id < 0", ["id", "worker"])
        theirs = [int(row["id"]) for row in rows if str(row["worker"]).startswith(workers)]
        self._client.delete_among(LEASES, "id", theirs)

    def _hold_on(self, worker: str, seconds: float) -> None:
        """What a worker holds it holds for so long from now on."""
        fields = ["id", "embedder", "content", "worker"]
        held = self._client.all(LEASES, f"worker == {quoted(worker)}", fields)
        self._client.put(LEASES, [{**row, "until": _until(seconds)} for row in held])

    def _claim(
        self, embedder: str, contents: Sequence[int], worker: str, limit: int, seconds: float
    ) -> Collection[int]:
        """Which of these texts the worker holds now, at most `limit`."""
        for _ in range(_ATTEMPTS):
            started = time.monotonic()
            others = self._holders(embedder, contents)
            chosen = [each for each in contents if each not in others][:limit]
            if not chosen:
                return ()
            claims = {each: number("lease", embedder, each, worker) for each in chosen}
            claimed = {"embedder": embedder, "worker": worker, "until": _until(seconds)}
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
        # One that lasts too long was made before the clock was put back.
        where = f"embedder == {quoted(embedder)} and until > {_until(0)} and until <= {_until(LONGEST)}"
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


def _until(seconds: float) -> int:
    """A moment from now, in milliseconds since 1970."""
    return int((time.time() + seconds) * 1000)

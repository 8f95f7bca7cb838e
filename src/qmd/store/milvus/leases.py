"""Which worker is about to embed which text, without a compare-and-set.

A worker writes its claims, waits, and reads who else claimed the same: the lowest name has them, the others
take their claims back. What someone holds is not claimed at all. Claims that took longer to write than that
wait are taken back too, since another worker may have looked before it could see them.

Since a claim takes a second, a worker claims more texts than it asked for, and is given them bit by bit.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from qmd.errors import BusyError
from qmd.store.base import Pending, Scope
from qmd.store.milvus.client import quoted
from qmd.store.milvus.ids import number
from qmd.store.milvus.part import Part
from qmd.store.milvus.schema import LEASES
from qmd.store.records import LONGEST

#: How long claims may take to be written, and are waited for, in seconds. The same for all who claim: who
#: waits for less than another may take to write does not see it.
_SETTLED = 1.0
_ATTEMPTS = 10
#: The most texts that are claimed at once; and of those that wait, half of what each writer's part would be.
_STOCK, _PARTS = 1_024, 2


@dataclass(slots=True)
class Shift:
    """What a worker still has to do: texts nobody has looked at yet, and those it holds and was not given."""

    queue: deque[int] = field(default_factory=deque)
    stock: deque[int] = field(default_factory=deque)
    until: float = 0.0


class Leases(Part):
    """Leases of texts without vectors."""

    _shifts: dict[tuple[str, str, Scope], Shift]
    #: Who works here, as far as is known, and how long it holds what it takes.
    _worker: str
    _seconds: float

    def lease(self, embedder: str, scope: Scope, worker: str, limit: int, seconds: float) -> list[Pending]:
        """Lease up to `limit` texts that lack vectors to `worker`, for `seconds`: small texts first."""
        self._worker, self._seconds = worker, seconds
        shift = self._shifts.setdefault((worker, embedder, scope), Shift())
        if time.monotonic() < shift.until:
            self._hold_on(embedder, worker, seconds)
        else:
            # Others may have taken over what it held.
            shift.stock.clear()
            self._let_go(embedder, worker)
        shift.until = time.monotonic() + seconds
        if not limit:
            return []
        while True:
            if not shift.stock:
                shift.stock.extend(self._more(shift, embedder, scope, worker, limit, seconds))
            given = [shift.stock.popleft() for _ in range(min(limit, len(shift.stock)))]
            # What was removed since it was claimed is left out: that may be all of them, and more may wait.
            found = self._read(embedder, given, scope)
            if found or not given:
                return found

    def release(self, workers: str) -> None:
        """Let go of what workers hold whose names begin so."""
        for asked in [each for each in self._shifts if each[0].startswith(workers)]:
            del self._shifts[asked]
        if self._worker.startswith(workers):
            self._worker = self._writer
        rows = self._client.all(LEASES, "id >= 0 or id < 0", ["id", "worker"])
        theirs = [int(row["id"]) for row in rows if str(row["worker"]).startswith(workers)]
        self._client.delete_among(LEASES, "id", theirs)

    @abstractmethod
    def _without(self, embedder: str, scope: Scope) -> dict[int, int]:
        """Texts of a scope that lack vectors, with their bytes."""

    @abstractmethod
    def _embedded(self, embedder: str, contents: Iterable[int]) -> set[int]:
        """Those of some texts that have vectors for all their chunks."""

    @abstractmethod
    def _writers(self, embedder: str) -> int:
        """How many embed at this moment, this one among them."""

    @abstractmethod
    def _read(self, embedder: str, contents: Sequence[int], scope: Scope) -> list[Pending]:
        """Texts by number; those that are gone are left out."""

    def _more(
        self, shift: Shift, embedder: str, scope: Scope, worker: str, limit: int, seconds: float
    ) -> Sequence[int]:
        """Texts that the worker holds from now on; none where all are embedded or held by others."""
        is_anew = False
        while True:
            if not shift.queue:
                if is_anew:
                    return ()
                shift.queue.extend(_in_order(self._without(embedder, scope), number("worker", worker)))
                is_anew = True
            part = min(_STOCK, len(shift.queue) // (_PARTS * self._writers(embedder)))
            size = limit * max(1, part // limit)
            chosen = [shift.queue.popleft() for _ in range(min(size, len(shift.queue)))]
            wanted = self._left(embedder, chosen)
            held = self._claim(embedder, wanted, worker, len(wanted), seconds)
            # Again, now that nobody else can: who held one may have embedded it since, and let go of it.
            left = self._left(embedder, [each for each in wanted if each in held])
            self._free(embedder, held - set(left))
            if left:
                return left

    def _left(self, embedder: str, contents: Sequence[int]) -> list[int]:
        done = self._embedded(embedder, contents)
        return [each for each in contents if each not in done]

    def _claim(self, what: str, numbers: Sequence[int], worker: str, limit: int, seconds: float) -> set[int]:
        """Which of these the worker holds now, at most `limit`."""
        for _ in range(_ATTEMPTS):
            started = time.monotonic()
            others = self._holders(what, numbers)
            chosen = [each for each in numbers if each not in others][:limit]
            if not chosen:
                return set()
            claims = {each: number("lease", what, each, worker) for each in chosen}
            claimed = {"embedder": what, "worker": worker, "until": _until(seconds)}
            self._client.put(
                LEASES, ({"id": key, "content": each, **claimed} for each, key in claims.items())
            )
            lost = set(chosen)
            if time.monotonic() - started < _SETTLED:
                time.sleep(_SETTLED)
                now = self._holders(what, chosen)
                lost = {each for each in chosen if min(now.get(each, {worker})) != worker}
            self._client.delete_among(LEASES, "id", [claims[each] for each in lost])
            if claims.keys() - lost:
                return claims.keys() - lost
            # Fewer are written sooner, and are less likely to be others' as well.
            limit = max(1, len(chosen) // 2)
        raise BusyError("Milvus is too slow to share the work between several", "try again later")

    def _hold_on(self, what: str, worker: str, seconds: float) -> None:
        """What a worker holds it holds for so long from now on."""
        fields = ["id", "embedder", "content", "worker"]
        held = self._client.all(LEASES, _whose(what, worker), fields)
        self._client.put(LEASES, [{**row, "until": _until(seconds)} for row in held])

    def _let_go(self, what: str, worker: str) -> None:
        if self._client.has(LEASES):
            self._client.delete(LEASES, _whose(what, worker))

    def _holders(self, what: str, numbers: Sequence[int]) -> dict[int, set[str]]:
        """The workers that claim these."""
        # One that lasts too long was made before the clock was put back.
        where = f"embedder == {quoted(what)} and until > {_until(0)} and until <= {_until(LONGEST)}"
        rows = self._client.among(
            LEASES, "content", numbers, ["content", "worker"], where=where, reading="strong"
        )
        holders: dict[int, set[str]] = {}
        for row in rows:
            holders.setdefault(int(row["content"]), set()).add(str(row["worker"]))
        return holders

    def _free(self, embedder: str, contents: Collection[int]) -> None:
        """Let go of texts that have their vectors by now, whoever held them."""
        if contents and self._client.has(LEASES):
            held = self._client.among(
                LEASES, "content", contents, ["id"], where=f"embedder == {quoted(embedder)}", reading="strong"
            )
            self._client.delete_among(LEASES, "id", [int(row["id"]) for row in held])


def _in_order(sizes: Mapping[int, int], start: int) -> list[int]:
    """Texts in the order in which a worker takes them: small ones first.

    Among texts of about one size each worker begins elsewhere, at `start`: workers that want the same texts
    make one another wait.
    """
    return sorted(sizes, key=lambda each: (sizes[each].bit_length(), each < start, each))


def _whose(what: str, worker: str) -> str:
    return f"worker == {quoted(worker)} and embedder == {quoted(what)}"


def _until(seconds: float) -> int:
    """A moment from now, in milliseconds since 1970."""
    return int((time.time() + seconds) * 1000)

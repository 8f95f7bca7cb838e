"""In how many chunks each token occurs, counted by several writers at once.

Milvus cannot add to a number, and two that read it and write it back lose what one of them added. So each
writer counts in a lane of its own, which it holds by a lease as it does texts, and a token's number is the
sum over all lanes. Lanes are used again: there are as many as there ever were writers at one time.

A mark says that a lane is being written. Where its holder is gone, the next one counts the lane anew, from
the chunks that were written by way of it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from qmd.errors import BusyError
from qmd.store.base import Embedded, Scope
from qmd.store.milvus.ids import number
from qmd.store.milvus.leases import Leases
from qmd.store.milvus.schema import tokens, vectors

#: Writers at one time.
_LANES = 256
#: A lane is held on to where less than this share of its time is left: so long a write may take.
_RENEWED = 0.75
#: Where the counts are that were copied from another store.
_COPIED = -1
#: The token under which all chunks are counted.
_ALL_CHUNKS = -1
#: Set while a lane is being written.
_COUNTING = "counting:"


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane that a worker holds until a moment (by the monotonic clock)."""

    number: int
    worker: str
    until: float


class Counting(Leases):
    """Token frequencies, by embedder fingerprint."""

    #: Lanes that are held here, by embedder.
    _lanes: dict[str, Lane]

    def token_frequencies(
        self, embedder: str, asked: Sequence[int], population: Sequence[str] | None = None
    ) -> tuple[int, list[int]]:
        """(chunks embedded, in how many of them each token occurs)."""
        if population is not None:
            return self._frequencies_within(embedder, asked, Scope(tuple(population)))
        wanted = {_ALL_CHUNKS, *asked}
        known: Counter[int] = Counter()
        for row in self._client.among(tokens(embedder), "token", wanted, ["token", "chunks"]):
            known[int(row["token"])] += int(row["chunks"])
        return known[_ALL_CHUNKS], [known[each] for each in asked]

    def _frequencies_within(self, embedder: str, asked: Sequence[int], scope: Scope) -> tuple[int, list[int]]:
        """The same of the chunks of a scope; a text that several documents have counts for each of them."""
        where = self._within(scope)
        if where is None:
            return 0, [0] * len(asked)
        name, told = vectors(embedder), "array_length(tokens) > 0"
        counts = {
            each: self._client.count(name, f"{where} and array_contains(tokens, {each})")
            for each in set(asked)
        }
        return self._client.count(name, f"{where} and {told}"), [counts[each] for each in asked]

    def all_token_frequencies(self, embedder: str) -> tuple[int, dict[int, int]]:
        """(chunks embedded, token → in how many of them it occurs)."""
        counts: Counter[int] = Counter()
        for row in self._client.all(tokens(embedder), "", ["token", "chunks"]):
            counts[int(row["token"])] += int(row["chunks"])
        return counts.pop(_ALL_CHUNKS, 0), dict(counts)

    def _writers(self, embedder: str) -> int:
        """How many embed at this moment, this one among them."""
        lanes = self._holders(_lease_of(embedder), range(_LANES))
        return len({worker for each in lanes.values() for worker in each} | {self._worker})

    def _begin_counting(self, embedder: str) -> int:
        """The lane that chunks are about to be counted in."""
        lane = self._lane(embedder)
        self._set_states({f"{_COUNTING}{embedder}:{lane}": ""})
        return lane

    def _end_counting(self, embedder: str, lane: int, new: Iterable[Embedded]) -> None:
        """Count chunks that are written."""
        added = _counted(chunk for each in new for chunk in each.tokens)
        ids = {_row_id(lane, token) for token in added}
        for row in self._client.among(
            tokens(embedder), "id", ids, ["token", "chunks"], where=f"lane == {lane}", reading="strong"
        ):
            added[int(row["token"])] += int(row["chunks"])
        self._put_counts(embedder, lane, added)
        self._forget_state(f"{_COUNTING}{embedder}:{lane}")

    def _put_counts(self, embedder: str, lane: int, counts: Mapping[int, int]) -> None:
        self._client.put(
            tokens(embedder),
            (
                {"id": _row_id(lane, token), "token": token, "lane": lane, "chunks": count}
                for token, count in sorted(counts.items())
            ),
        )

    def _replace_counts(self, embedder: str, counts: Mapping[int, int], chunks: int) -> None:
        """Let these be the counts: those that a copied set has where it comes from."""
        self._client.delete(tokens(embedder), f"lane >= {_COPIED}")
        self._put_counts(embedder, _COPIED, {**counts, _ALL_CHUNKS: chunks})

    def release(self, workers: str) -> None:
        """Let go of what workers hold whose names begin so."""
        self._lanes = {key: lane for key, lane in self._lanes.items() if not lane.worker.startswith(workers)}
        super().release(workers)

    def _count_what_was_left(self, embedder: str) -> None:
        """Count anew the lanes whose holders are gone."""
        what = _lease_of(embedder)
        marked = self._marked(embedder)
        for lane in sorted(marked):
            # Under another name: this writer may hold a lane already, and is not to lose it.
            keeper = f"{self._worker}/{lane}"
            if self._claim(what, [lane], keeper, 1, self._seconds):
                self._count_anew(embedder, lane)
                self._let_go(what, keeper)

    def _lane(self, embedder: str) -> int:
        """The lane that is this worker's."""
        what, worker, seconds = _lease_of(embedder), self._worker, self._seconds
        held, now = self._lanes.get(embedder), time.monotonic()
        if held is None or held.worker != worker or now >= held.until:
            lane = self._take_lane(embedder)
        elif now < held.until - _RENEWED * seconds:
            return held.number
        else:
            self._hold_on(what, worker, seconds)
            lane = held.number
        self._lanes[embedder] = Lane(lane, worker, now + seconds)
        return lane

    def _take_lane(self, embedder: str) -> int:
        """A lane that nobody holds; one whose holder is gone sooner than one that nobody ever had."""
        what = _lease_of(embedder)
        self._let_go(what, self._worker)
        marked = self._marked(embedder)
        order = [*sorted(marked), *(each for each in range(_LANES) if each not in marked)]
        claimed = self._claim(what, order, self._worker, 1, self._seconds)
        if not claimed:
            raise BusyError(f"{_LANES} others are writing vectors to this index", "try again later")
        (lane,) = claimed
        if lane in marked:
            self._count_anew(embedder, lane)
        return lane

    def _marked(self, embedder: str) -> set[int]:
        return {int(lane) for lane in self._states(f"{_COUNTING}{embedder}:", "strong")}

    def _count_anew(self, embedder: str, lane: int) -> None:
        """Count what the chunks of a lane say: writing it was cut short. The caller holds the lane."""
        texts: dict[tuple[int, int], list[int]] = {}
        fields = ["content", "seq", "tokens"]
        for row in self._client.all(vectors(embedder), f"lane == {lane}", fields, page=2_000):
            texts[int(row["content"]), int(row["seq"])] = [int(token) for token in row["tokens"]]
        self._client.delete(tokens(embedder), f"lane == {lane}")
        self._put_counts(embedder, lane, _counted(texts.values()))
        self._forget_state(f"{_COUNTING}{embedder}:{lane}")


def _counted(chunks: Iterable[Sequence[int]]) -> Counter[int]:
    """Token → chunks. One without tokens was copied, and is counted where it comes from."""
    counts: Counter[int] = Counter()
    for each in chunks:
        if each:
            counts.update(set(each))
            counts[_ALL_CHUNKS] += 1
    return counts


def _row_id(lane: int, token: int) -> int:
    return number("token", lane, token)


def _lease_of(embedder: str) -> str:
    return f"lane of {embedder}"

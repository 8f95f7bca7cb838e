"""In how many chunks each token occurs, counted by several writers at once.

Milvus cannot add to a number, and two that read it and write it back lose what one of them added. So each
writer counts in a shard of its own, which it holds by a lease as it does texts, and a token's number is the
sum over all shards. Lanes are used again: there are as many as there ever were writers at one time.

A mark says that a shard is being written. Where its holder is gone, the next one counts the shard anew, from
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
#: A shard is held on to where less than this share of its time is left: so long a write may take.
_RENEWED = 0.75
#: Where the counts are that were copied from another store.
_COPIED = -1
#: The token under which all chunks are counted.
_ALL_CHUNKS = -1
#: Set while a shard is being written.
_COUNTING = "counting:"


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard that a worker holds until a moment (by the monotonic clock)."""

    number: int
    worker: str
    until: float


class TokenStats(Leases):
    """Token frequencies, by embedder fingerprint."""

    #: Lanes that are held here, by embedder.
    _lanes: dict[str, Shard]

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
        shards = self._holders(_lease_of(embedder), range(_LANES))
        return len({worker for each in shards.values() for worker in each} | {self._worker})

    def _begin_counting(self, embedder: str) -> int:
        """The shard that chunks are about to be counted in."""
        shard = self._lane(embedder)
        self._set_states({f"{_COUNTING}{embedder}:{shard}": ""})
        return shard

    def _end_counting(self, embedder: str, shard: int, new: Iterable[Embedded]) -> None:
        """Count chunks that are written."""
        added = _counted(chunk for each in new for chunk in each.tokens)
        ids = {_row_id(shard, token) for token in added}
        for row in self._client.among(
            tokens(embedder), "id", ids, ["token", "chunks"], where=f"shard == {shard}", reading="strong"
        ):
            added[int(row["token"])] += int(row["chunks"])
        self._put_counts(embedder, shard, added)
        self._forget_state(f"{_COUNTING}{embedder}:{shard}")

    def _put_counts(self, embedder: str, shard: int, counts: Mapping[int, int]) -> None:
        self._client.put(
            tokens(embedder),
            (
                {"id": _row_id(shard, token), "token": token, "shard": shard, "chunks": count}
                for token, count in sorted(counts.items())
            ),
        )

    def _replace_counts(self, embedder: str, counts: Mapping[int, int], chunks: int) -> None:
        """Let these be the counts: those that a copied set has where it comes from."""
        self._client.delete(tokens(embedder), f"shard >= {_COPIED}")
        self._put_counts(embedder, _COPIED, {**counts, _ALL_CHUNKS: chunks})

    def release(self, workers: str) -> None:
        """Let go of what workers hold whose names begin so."""
        self._lanes = {
            key: shard for key, shard in self._lanes.items() if not shard.worker.startswith(workers)
        }
        super().release(workers)

    def _count_what_was_left(self, embedder: str) -> None:
        """Count anew the shards whose holders are gone."""
        what = _lease_of(embedder)
        marked = self._marked(embedder)
        for shard in sorted(marked):
            # Under another name: this writer may hold a shard already, and is not to lose it.
            keeper = f"{self._worker}/{shard}"
            if self._claim(what, [shard], keeper, 1, self._seconds):
                self._count_anew(embedder, shard)
                self._let_go(what, keeper)

    def _lane(self, embedder: str) -> int:
        """The shard that is this worker's."""
        what, worker, seconds = _lease_of(embedder), self._worker, self._seconds
        held, now = self._lanes.get(embedder), time.monotonic()
        if held is None or held.worker != worker or now >= held.until:
            shard = self._take_lane(embedder)
        elif now < held.until - _RENEWED * seconds:
            return held.number
        else:
            self._hold_on(what, worker, seconds)
            shard = held.number
        self._lanes[embedder] = Shard(shard, worker, now + seconds)
        return shard

    def _take_lane(self, embedder: str) -> int:
        """A shard that nobody holds; one whose holder is gone sooner than one that nobody ever had."""
        what = _lease_of(embedder)
        self._let_go(what, self._worker)
        marked = self._marked(embedder)
        order = [*sorted(marked), *(each for each in range(_LANES) if each not in marked)]
        claimed = self._claim(what, order, self._worker, 1, self._seconds)
        if not claimed:
            raise BusyError(f"{_LANES} others are writing vectors to this index", "try again later")
        (shard,) = claimed
        if shard in marked:
            self._count_anew(embedder, shard)
        return shard

    def _marked(self, embedder: str) -> set[int]:
        return {int(shard) for shard in self._states(f"{_COUNTING}{embedder}:", "strong")}

    def _count_anew(self, embedder: str, shard: int) -> None:
        """Count what the chunks of a shard say: writing it was cut short. The caller holds the shard."""
        texts: dict[tuple[int, int], list[int]] = {}
        fields = ["content", "seq", "tokens"]
        for row in self._client.all(vectors(embedder), f"shard == {shard}", fields, page=2_000):
            texts[int(row["content"]), int(row["seq"])] = [int(token) for token in row["tokens"]]
        self._client.delete(tokens(embedder), f"shard == {shard}")
        self._put_counts(embedder, shard, _counted(texts.values()))
        self._forget_state(f"{_COUNTING}{embedder}:{shard}")


def _counted(chunks: Iterable[Sequence[int]]) -> Counter[int]:
    """Token → chunks. One without tokens was copied, and is counted where it comes from."""
    counts: Counter[int] = Counter()
    for each in chunks:
        if each:
            counts.update(set(each))
            counts[_ALL_CHUNKS] += 1
    return counts


def _row_id(shard: int, token: int) -> int:
    return number("token", shard, token)


def _lease_of(embedder: str) -> str:
    return f"shard of {embedder}"

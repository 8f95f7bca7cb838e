"""The number of chunks with each token, counted by several writers at once.

Milvus cannot increment a number, and two writers that read it and write it back lose one of the changes. So
each writer counts in a shard of its own, which it leases as it leases texts. The frequency of a token is the
sum over all shards. Shards are reused: there are as many as there were writers at one time.

A mark says that a shard is being written. If its writer was killed, the next writer counts the shard again
from the chunks that refer to it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from qmd.errors import BusyError
from qmd.features.milvus.client import StoreClient
from qmd.features.milvus.leases import Leases
from qmd.features.milvus.schema import number, token_table, vector_table
from qmd.features.milvus.state import MilvusState
from qmd.store.values import Embedded

#: The maximum number of writers at one time.
_SHARDS = 256
#: The lease of a shard is renewed once less than this share of its time is left.
_RENEW_SHARE = 0.75
#: The shard with the counts that were copied from another store.
_COPIED = -1
#: The token under which all chunks are counted.
ALL_CHUNKS = -1
#: Prefix of the marks of shards that are being written.
_COUNTING = "counting:"


class _Shard(Struct, frozen=True):
    """A shard that a worker has leased until a time of the monotonic clock."""

    number: int
    worker: str
    until: float


class TokenStats(Struct):
    """Token frequencies by embedder fingerprint."""

    _client: StoreClient
    _state: MilvusState
    _leases: Leases
    #: The leased shard of each embedder.
    _shards: dict[str, _Shard] = field(default_factory=dict)

    def counts(self, embedder: str, tokens: Iterable[int] | None = None) -> Counter[int]:
        """Return the number of chunks with each token, or with some tokens, and of `ALL_CHUNKS`."""
        name, fields = token_table(embedder), ["token", "chunks"]
        rows = (
            self._client.all(name, "", fields)
            if tokens is None
            else self._client.among(name, "token", {ALL_CHUNKS, *tokens}, fields)
        )
        counts: Counter[int] = Counter()
        for row in rows:
            counts[row["token"]] += row["chunks"]
        return counts

    def writers(self, embedder: str) -> int:
        """Return the number of workers that embed at this moment, including this one."""
        shards = self._leases.holders(_resource(embedder), range(_SHARDS))
        return len({worker for workers in shards.values() for worker in workers} | {self._leases.worker})

    def begin(self, embedder: str) -> int:
        """Return the shard of this worker and mark it as being written."""
        shard = self._own_shard(embedder)
        self._state.put({f"{_COUNTING}{embedder}:{shard}": ""})
        return shard

    def finish(self, embedder: str, shard: int, new: Iterable[Embedded]) -> None:
        """Add the tokens of stored chunks to a shard and remove its mark."""
        counts = _counted(chunk for item in new for chunk in item.tokens)
        ids = {_row_id(shard, token) for token in counts}
        for row in self._client.among(
            token_table(embedder), "id", ids, ["token", "chunks"], where=f"shard == {shard}", reading="strong"
        ):
            counts[row["token"]] += row["chunks"]
        self._put(embedder, shard, counts)
        self._state.delete(f"{_COUNTING}{embedder}:{shard}")

    def _put(self, embedder: str, shard: int, counts: Mapping[int, int]) -> None:
        self._client.put(
            token_table(embedder),
            (
                {"id": _row_id(shard, token), "token": token, "shard": shard, "chunks": count}
                for token, count in sorted(counts.items())
            ),
        )

    def replace(self, embedder: str, counts: Mapping[int, int], chunks: int) -> None:
        """Replace all counts by those of the store that a set was copied from."""
        self._client.delete(token_table(embedder), f"shard >= {_COPIED}")
        self._put(embedder, _COPIED, {**counts, ALL_CHUNKS: chunks})

    def release(self, prefix: str) -> None:
        self._shards = {
            key: shard for key, shard in self._shards.items() if not shard.worker.startswith(prefix)
        }
        self._leases.release(prefix)

    def repair(self, embedder: str) -> None:
        """Count the shards of killed writers again."""
        resource = _resource(embedder)
        for shard in sorted(self._marked(embedder)):
            # Another name than the worker's, so that its own shard stays leased.
            worker = f"{self._leases.worker}/{shard}"
            if self._leases.claim(resource, [shard], worker, 1, self._leases.seconds):
                self._recount(embedder, shard)
                self._leases.release_worker(resource, worker)

    def _own_shard(self, embedder: str) -> int:
        resource, worker, seconds = _resource(embedder), self._leases.worker, self._leases.seconds
        shard, now = self._shards.get(embedder), time.monotonic()
        if shard is None or shard.worker != worker or now >= shard.until:
            leased = self._claim_shard(embedder)
        elif now < shard.until - _RENEW_SHARE * seconds:
            return shard.number
        else:
            self._leases.renew(resource, worker, seconds)
            leased = shard.number
        self._shards[embedder] = _Shard(leased, worker, now + seconds)
        return leased

    def _claim_shard(self, embedder: str) -> int:
        """Lease a free shard. Shards of killed writers come first."""
        resource, worker = _resource(embedder), self._leases.worker
        self._leases.release_worker(resource, worker)
        marked = self._marked(embedder)
        order = [*sorted(marked), *(shard for shard in range(_SHARDS) if shard not in marked)]
        claimed = self._leases.claim(resource, order, worker, 1, self._leases.seconds)
        if not claimed:
            raise BusyError(f"{_SHARDS} other processes are writing vectors to this index", "try again later")
        (shard,) = claimed
        if shard in marked:
            self._recount(embedder, shard)
        return shard

    def _marked(self, embedder: str) -> set[int]:
        return {int(shard) for shard in self._state.with_prefix(f"{_COUNTING}{embedder}:", "strong")}

    def _recount(self, embedder: str, shard: int) -> None:
        """Count a shard again from its chunks. The caller has leased the shard."""
        texts: dict[tuple[int, int], list[int]] = {}
        fields = ["content", "seq", "tokens"]
        for row in self._client.all(vector_table(embedder), f"shard == {shard}", fields, page=2_000):
            texts[row["content"], row["seq"]] = [int(token) for token in row["tokens"]]
        self._client.delete(token_table(embedder), f"shard == {shard}")
        self._put(embedder, shard, _counted(texts.values()))
        self._state.delete(f"{_COUNTING}{embedder}:{shard}")


def _counted(chunks: Iterable[Sequence[int]]) -> Counter[int]:
    """Return the number of chunks by token. Copied chunks have no tokens and are counted by their source."""
    counts: Counter[int] = Counter()
    for chunk in chunks:
        if chunk:
            counts.update(set(chunk))
            counts[ALL_CHUNKS] += 1
    return counts


def _row_id(shard: int, token: int) -> int:
    return number("token", shard, token)


def _resource(embedder: str) -> str:
    # Written into the index: other versions lease shards under the same name.
    return f"shard of {embedder}"

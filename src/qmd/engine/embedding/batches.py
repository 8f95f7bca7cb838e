"""Embed the texts that have no vectors, in batches, so that an interrupted run can be resumed."""

from __future__ import annotations

import os
import platform
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

from qmd.config.held_file import hold, publish, read_held
from qmd.errors import AlreadyRunningError, StoreError
from qmd.models.base import Embedder
from qmd.store.base import Store
from qmd.store.values import Embedded, Pending, Scope, VectorSet
from qmd.text.chunking import OVERLAP, TARGET, chunk
from qmd.text.data_uris import without_data
from qmd.text.digest import sha256
from qmd.text.layout import known
from qmd.types import Chunk
from qmd.types.cancelling import Cancelled, stop_if_cancelled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Chunks that are embedded and stored together. A crash loses at most these.
BATCH_CHUNKS = 64
#: Characters of the title that are put before later chunks: few enough to fit in the window of the model.
TITLE_CHARACTERS = 60
#: Texts that one call of `embed_texts` takes.
MAX_TEXTS = 1000
#: Chunks of the first batch, so that there soon is an estimate of the time.
FIRST_BATCH = 8
#: If embedding can be cancelled: the chunks of the first call of the model, and the seconds of later ones.
_FIRST_CHUNKS, _STEP_SECONDS = 4, 0.5
#: Characters of a text from which on it is worth while to look for an earlier state of it.
_LONG = 10_000
#: Estimated bytes of a chunk before any text has been cut.
_CHUNK_BYTES = 1_800


class EmbedProgress(Struct, frozen=True):
    """The progress of an `embed`.

    The texts were counted before the first one; `chunks_total` is an estimate from their sizes.
    `seconds_left` is an estimate from the time so far; None before the first chunk.
    """

    texts_done: int
    texts_total: int
    chunks_done: int
    chunks_total: int
    seconds_left: float | None
    share: float = 0.0  #: The part of the bytes of text that is done, 0..1


class EmbedReport(Struct, frozen=True):
    """The result of an `embed`."""

    texts: int  #: Texts that are now completely embedded
    chunks: int  #: Chunks embedded
    seconds: float  #: The time it took
    model: str  #: The name of the embedder
    #: Names of models whose vectors were deleted, because the new ones are complete.
    replaced: tuple[str, ...] = ()
    #: The model whose older vectors searches still use; None if they use the new ones.
    still: str | None = None
    left: int = 0  #: Texts without new vectors
    lost: int = 0  #: Workers that died. Other workers have embedded their texts.


class Share(Struct, frozen=True):
    """A batch of a worker: the number of texts that it completed, of chunks, and of bytes of text in them."""

    texts: int
    chunks: int
    bytes: int


OnProgress = Callable[[EmbedProgress], None]


class Tally:
    """Counts and reports the progress, and estimates the rest, of texts with these `sizes` in bytes."""

    def __init__(self, sizes: Sequence[int], on_progress: OnProgress | None = None) -> None:
        self._on_progress = on_progress
        self._started = time.monotonic()
        self.texts = self.chunks = 0
        self.begin(sizes)

    def begin(self, sizes: Sequence[int]) -> None:
        """Go on with other texts."""
        largest = sorted(sizes, reverse=True)
        self.total = self.texts + len(sizes)
        #: At index n the bytes, and the estimated chunks, of the n largest texts, which are embedded last.
        self._bytes_in = list(accumulate(largest, initial=0))
        self._chunks_in = list(accumulate((max(1.0, size / _CHUNK_BYTES) for size in largest), initial=0.0))
        self._bytes, self._chunks_before = 0, self.chunks
        if sizes:
            self._announce()

    def add(self, share: Share) -> None:
        """Add a batch."""
        self.texts += share.texts
        self.chunks += share.chunks
        self._bytes += share.bytes
        self._announce()

    def report(self, model: str, lost: int = 0) -> EmbedReport:
        """Return the result so far; see `EmbedReport`."""
        return EmbedReport(self.texts, self.chunks, time.monotonic() - self._started, model, lost=lost)

    def progress(self) -> EmbedProgress:
        """Return the progress so far."""
        left = self._chunks_left(max(0, self.total - self.texts))
        seconds = (time.monotonic() - self._started) / self.chunks * left if self.chunks else None
        share = min(1.0, self._bytes / self._bytes_in[-1]) if self._bytes_in[-1] else 0.0
        return EmbedProgress(self.texts, self.total, self.chunks, self.chunks + left, seconds, share)

    def _announce(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress())

    def _chunks_left(self, texts: int) -> int:
        """Estimate how many chunks the last `texts` texts still need."""
        started = max(0, self._bytes - (self._bytes_in[-1] - self._bytes_in[texts]))
        left = max(texts, self._chunks_in[texts] - started / _CHUNK_BYTES)
        expected = self._chunks_in[-1] - left
        # Chunks so far were this many times as numerous as estimated.
        chunks = self.chunks - self._chunks_before
        factor = chunks / expected if chunks and expected > 0 else 1.0
        return max(texts, round(left * factor))


@contextmanager
def embedding_lock(location: str) -> Iterator[str]:
    """Lock embedding for an index on this machine, and yield the prefix of the names of its workers.

    Leases with this prefix belong to workers that have died. Raises `AlreadyRunningError` if another process
    has the lock, and `StoreError` if the lock cannot be written.
    """
    file = hold(f"{location}.embed.lock")
    if file is None:
        raise AlreadyRunningError(
            "another process is making vectors for this index",
            "wait for it to end; if you stop it, its finished vectors stay",
        )
    try:
        state = publish(_running(location), b"%d" % os.getpid())
    except OSError as error:
        os.close(file)
        raise StoreError(f"cannot write beside {location}: {error.strerror}") from error
    try:
        yield _worker_prefix(location)
    finally:
        os.close(state)
        with suppress(OSError):  # nobody needs it any more
            os.unlink(_running(location))
        os.close(file)


def is_running(location: str) -> bool:
    """Return whether a process makes vectors for an index. It does not touch the lock, so none is refused."""
    return read_held(_running(location)) is not None


def _running(location: str) -> str:
    return f"{location}.embed.running"


def shares(
    store: Store,
    embedder: Embedder,
    vectors: VectorSet,
    scope: Scope,
    worker: str,
    lease: float,
    cancelled: Cancelled | None = None,
) -> Iterator[Share]:
    """Lease and embed, for `lease` seconds at a time, the texts that `vectors` lack, and yield each batch.

    A text is embedded from its last chunk to its first, so it is complete if its first chunk has a vector.
    Texts that another worker has leased are left out. Raises `CancelledError` if `cancelled` returns True.
    """
    batch: list[_Part] = []
    batch_size, largest = 0, FIRST_BATCH
    text_count = 1
    try:
        while leased := store.pending.lease(vectors.fingerprint, scope, worker, text_count, lease):
            for item in leased:
                chunks = cut(item, embedder)
                known = _known(store, vectors, item.text)
                todo = len(chunks) if item.embedded_from is None else min(item.embedded_from, len(chunks))
                while todo:
                    start = max(0, todo - (largest - batch_size))
                    batch.append(_Part(item, chunks[start:todo], todo < len(chunks), known))
                    batch_size += todo - start
                    todo = start
                    if batch_size == largest:
                        yield _store(store, embedder, vectors, batch, cancelled)
                        batch, batch_size, largest = [], 0, BATCH_CHUNKS
                        # Renew the leases, because long texts take longer than one lease.
                        store.pending.lease(vectors.fingerprint, scope, worker, 0, lease)
                # About one batch, to limit memory and to leave some of the long texts to other workers.
                text_count = max(1, BATCH_CHUNKS // max(1, len(chunks)))
        if batch:
            yield _store(store, embedder, vectors, batch, cancelled)
    finally:
        store.pending.release(worker)


def worker_name(prefix: str) -> str:
    """Return a unique name for a worker."""
    return f"{prefix}{secrets.token_hex(8)}"


def _worker_prefix(location: str) -> str:
    """Return a prefix for names of workers that is unique for this machine and index, as far as possible."""
    try:
        with open("/etc/machine-id", "rb") as file:
            machine = file.read(64)
    except OSError:
        machine = b""
    place = [platform.node().encode(), machine, os.fsencode(os.path.realpath(location))]
    return sha256(b"\0".join(place))[:16] + "/"


def cut(item: Pending, embedder: Embedder) -> list[Chunk]:
    """Cut a text into chunks that fit in the window of the embedder."""
    text = item.text
    target = min(TARGET, embedder.chunk_tokens)
    overlap = min(int(TARGET * OVERLAP), embedder.chunk_overlap)
    structure = known(item.structure, text)
    offsets = embedder.token_offsets(without_data(text))
    return chunk(text, offsets, structure, target=target, overlap=overlap)


class _Part(Struct, frozen=True):
    """Consecutive chunks of a text; `continues` as in `Embedded`, and vectors by the places of chunks."""

    item: Pending
    chunks: list[Chunk]
    continues: bool
    known: Mapping[tuple[int, int], NDArray[np.float32]]

    @property
    def bytes(self) -> int:
        """The bytes of the text in these chunks."""
        return len(self.item.text[self.chunks[0].start : self.chunks[-1].end].encode())


def _store(
    store: Store, embedder: Embedder, vectors: VectorSet, batch: list[_Part], cancelled: Cancelled | None
) -> Share:
    """Embed a batch, except for chunks whose vectors are known, and store its vectors."""
    import numpy as np

    rows = [(part.item, chunk) for part in batch for chunk in part.chunks]
    found = [part.known.get((chunk.start, chunk.end)) for part in batch for chunk in part.chunks]
    pieces = [without_data(item.text)[chunk.start : chunk.end] for item, chunk in rows]
    # The first chunk contains the title. Later ones do not tell the subject of the document without it.
    texts = [
        f"{item.title[:TITLE_CHARACTERS]}\n{piece}" if chunk.seq else piece
        for (item, chunk), piece in zip(rows, pieces, strict=True)
    ]
    new = [at for at, vector in enumerate(found) if vector is None]
    titles = [item.title for item, _ in rows]
    if new:
        made = _embed(embedder, [texts[at] for at in new], [titles[at] for at in new], cancelled)
        for at, vector in zip(new, made, strict=True):
            found[at] = vector
    matrix = np.stack([vector for vector in found if vector is not None])
    tokens = [embedder.token_ids(piece) for piece in pieces]
    embedded: list[Embedded] = []
    start = 0
    for part in batch:
        end = start + len(part.chunks)
        embedded.append(
            Embedded(part.item.content, part.chunks, matrix[start:end], tokens[start:end], part.continues)
        )
        start = end
    store.vectors.add(vectors, embedded)
    complete = sum(part.chunks[0].seq == 0 for part in batch)
    return Share(complete, len(rows), sum(part.bytes for part in batch))


def _known(store: Store, vectors: VectorSet, text: str) -> Mapping[tuple[int, int], NDArray[np.float32]]:
    """Return the vectors of the chunks that an earlier, shorter state of a long text has, by their places.

    Only the end of a file that grows, such as a transcript, is then embedded.
    """
    earlier = store.pending.earlier(vectors.fingerprint, text) if len(text) >= _LONG else None
    if earlier is None:
        return {}
    digest, before = earlier
    chunks, found = store.vectors.of_texts(vectors.fingerprint, [digest])[digest]
    return {
        (chunk.start, chunk.end): vector
        for chunk, vector in zip(chunks, found, strict=True)
        if before[chunk.start : chunk.end] == text[chunk.start : chunk.end]
    }


def _embed(
    embedder: Embedder, texts: Sequence[str], titles: Sequence[str], cancelled: Cancelled | None
) -> NDArray[np.float32]:
    """Embed texts; if that can be cancelled, only as many at a time as take about half a second."""
    if cancelled is None:
        return embedder.embed_documents(texts, titles)
    import numpy as np

    parts = []
    start, count = 0, _FIRST_CHUNKS
    while start < len(texts):
        stop_if_cancelled(cancelled)
        began = time.monotonic()
        parts.append(embedder.embed_documents(texts[start : start + count], titles[start : start + count]))
        start += count
        # The first call may load the model, so the number grows again.
        in_time = round(count * _STEP_SECONDS / max(time.monotonic() - began, 1e-3))
        count = max(1, min(2 * count, in_time))
    return np.concatenate(parts)

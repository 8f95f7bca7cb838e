"""Vectors for the texts that have none: in batches, resumable, one process at a time (E13)."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from qmd.errors import AlreadyRunningError, StoreError, TooManyError, UsageError
from qmd.models.base import CancelledError, Embedder
from qmd.store.base import Embedded, Pending, Scope, Store, VectorSet
from qmd.text import chunking
from qmd.text.chunking import OVERLAP, TARGET, chunk
from qmd.types import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qmd.models.base import Cancelled

#: Chunks that are embedded and stored together: the most that a crash can cost.
BATCH_CHUNKS = 64
#: How much of a document's title is put before its later chunks: few enough tokens to fit in the window.
TITLE_CHARACTERS = 60
#: Changes when chunks are embedded with something else around them.
VERSION = 2
#: Texts that are embedded without being stored, in one call.
MAX_TEXTS = 1000
#: How many of them go to the model together: so often it is asked whether anybody still wants them.
_TEXTS_AT_ONCE = 16
#: No text has so many characters to a token, white space aside: beyond them nothing is read.
_TOKEN_CHARACTERS = 64
#: Bytes of a chunk, as expected before any text has been cut.
_CHUNK_BYTES = 1_800


@dataclass(frozen=True, slots=True)
class EmbedProgress:
    """The progress of an `embed`.

    `chunks_total` is an estimate from the sizes of the texts, `seconds_left` one from the chunks embedded so
    far; None before there is one.
    """

    texts_done: int
    texts_total: int
    chunks_done: int
    chunks_total: int
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What an `embed` did.

    `replaced` names the models whose vectors these took the place of. `still` is the model whose vectors go
    on answering, because `left` texts lack new ones. `lost` workers died; others did what was theirs.
    """

    texts: int
    chunks: int
    seconds: float
    model: str
    replaced: tuple[str, ...] = ()
    still: str | None = None
    left: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """What a worker has embedded: texts that it completed, chunks, and the bytes of the texts in these."""

    texts: int
    chunks: int
    bytes: int


OnProgress = Callable[[EmbedProgress], None]


class Tally:
    """What has been embedded so far, of texts with these `sizes` in bytes."""

    def __init__(self, sizes: Sequence[int]) -> None:
        largest = sorted(sizes, reverse=True)
        #: Bytes, and chunks as expected, of so many of the largest texts: they come last.
        self._bytes_in = list(accumulate(largest, initial=0))
        self._chunks_in = list(accumulate((max(1.0, each / _CHUNK_BYTES) for each in largest), initial=0.0))
        self._started = time.monotonic()
        self._bytes = self.texts = self.chunks = 0

    def add(self, share: Share) -> None:
        """Count what was embedded."""
        self.texts += share.texts
        self.chunks += share.chunks
        self._bytes += share.bytes

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._started

    def progress(self) -> EmbedProgress:
        """The progress so far."""
        total = len(self._bytes_in) - 1
        left = self._chunks_left(max(0, total - self.texts))
        seconds = self.seconds / self.chunks * left if self.chunks else None
        return EmbedProgress(self.texts, total, self.chunks, self.chunks + left, seconds)

    def _chunks_left(self, texts: int) -> int:
        """Estimate how many chunks are left, in so many texts."""
        begun = max(0, self._bytes - (self._bytes_in[-1] - self._bytes_in[texts]))
        left = max(texts, self._chunks_in[texts] - begun / _CHUNK_BYTES)
        expected = self._chunks_in[-1] - left
        # By how much chunks were larger or smaller than expected so far.
        factor = self.chunks / expected if self.chunks and expected > 0 else 1.0
        return max(texts, round(left * factor))


@contextmanager
def embedding_lock(location: str) -> Iterator[str]:
    """Hold the right to embed for an index on this machine.

    Raises `AlreadyRunningError` if another process has it.

    Yields what the names of its workers begin with: what such a worker still holds, it held when it died.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(location + ".embed.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise AlreadyRunningError(
            "another 'qmd embed' is running for this index",
            "wait for it to end; what it has done is kept in any case",
        ) from error
    except (OSError, NotImplementedError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreError(
            f"cannot write beside {location}: {reason}", "check the folder's permissions and free space"
        ) from error
    try:
        yield _crew(location)
    finally:
        lock.release()


def embed(
    store: Store,
    embedder: Embedder,
    into: VectorSet,
    scope: Scope,
    worker: str,
    lease: float,
    on_progress: OnProgress | None = None,
) -> EmbedReport:
    """Embed every text of a scope that is not in a set yet, and that no other worker is about to embed.

    `lease` is how long it may take for a batch, in seconds, before others take its texts over.
    """
    tally = Tally(store.pending_sizes(into.fingerprint, scope))
    if on_progress is not None:
        on_progress(tally.progress())
    for share in shares(store, embedder, into, scope, worker, lease):
        tally.add(share)
        if on_progress is not None:
            on_progress(tally.progress())
    return EmbedReport(tally.texts, tally.chunks, tally.seconds, embedder.name)


def shares(
    store: Store, embedder: Embedder, into: VectorSet, scope: Scope, worker: str, lease: float
) -> Iterator[Share]:
    """Embed texts that nobody else holds until there are none; yields what each batch was.

    A text is embedded from its last chunk to its first, so that its first one says that it is complete.
    """
    batch: list[_Part] = []
    waiting = 0
    texts = 1
    try:
        while found := store.lease(into.fingerprint, scope, worker, texts, lease):
            for item in found:
                pieces = cut(item.text, embedder)
                todo = len(pieces) if item.embedded_from is None else min(item.embedded_from, len(pieces))
                while todo:
                    start = max(0, todo - (BATCH_CHUNKS - waiting))
                    batch.append(_Part(item, pieces[start:todo], continues=todo < len(pieces)))
                    waiting += todo - start
                    todo = start
                    if waiting == BATCH_CHUNKS:
                        yield _store(store, embedder, into, batch)
                        batch, waiting = [], 0
                        # Long texts take long: what is still to do stays this worker's.
                        store.lease(into.fingerprint, scope, worker, 0, lease)
                # A batch at a time, so that memory holds them, and others get a part of the long texts.
                texts = max(1, BATCH_CHUNKS // max(1, len(pieces)))
        if batch:
            yield _store(store, embedder, into, batch)
    finally:
        store.release(worker)


def worker_name(crew: str) -> str:
    """A name for a worker of a crew that no other one has."""
    return f"{crew}{secrets.token_hex(8)}"


def _crew(location: str) -> str:
    """What tells the workers for an index on this machine from those on others, as far as can be known."""
    try:
        with open("/etc/machine-id", "rb") as file:
            machine = file.read(64)
    except OSError:
        machine = b""
    place = [platform.node().encode(), machine, os.fsencode(os.path.realpath(location))]
    return hashlib.sha256(b"\0".join(place)).hexdigest()[:16] + "/"


def embed_texts(
    embedder: Embedder, texts: Sequence[str], cancelled: Cancelled | None = None
) -> NDArray[np.float32]:
    """Embed texts as documents are: float32 of shape (n, dimension), each row of length 1.

    Of a longer text as many tokens are read as a chunk may have. Raises `UsageError` for no texts,
    `TooManyError` for more than `MAX_TEXTS`, `ModelError`, and `CancelledError` once `cancelled` is true.
    """
    import numpy as np

    if not texts:
        raise UsageError("Empty texts list")
    if len(texts) > MAX_TEXTS:
        raise TooManyError(f"Too many texts ({len(texts)} > {MAX_TEXTS})")
    rows = []
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        if cancelled is not None and cancelled():
            raise CancelledError
        rows.append(
            embedder.embed_documents(
                [_beginning(text, embedder) for text in texts[start : start + _TEXTS_AT_ONCE]]
            )
        )
    return np.concatenate(rows)


def _beginning(text: str, embedder: Embedder) -> str:
    """As much of a text as is embedded at once."""
    short = text[: embedder.chunk_tokens * _TOKEN_CHARACTERS]
    offsets = embedder.token_offsets(short)
    return short if len(offsets) <= embedder.chunk_tokens else short[: offsets[embedder.chunk_tokens - 1][1]]


def fingerprint(embedder: Embedder) -> str:
    """What vectors are made with: the model, how texts are cut for it, and what is put around them (E12)."""
    recipe = (embedder.fingerprint, chunking.VERSION, VERSION, embedder.chunk_tokens, embedder.chunk_overlap)
    return hashlib.sha256(repr(recipe).encode()).hexdigest()[:16]


def cut(text: str, embedder: Embedder) -> list[Chunk]:
    """A text in chunks that the embedder reads whole (E11)."""
    target = min(TARGET, embedder.chunk_tokens)
    overlap = min(int(TARGET * OVERLAP), embedder.chunk_overlap)
    return chunk(text, embedder.token_offsets(text), target=target, overlap=overlap)


@dataclass(frozen=True, slots=True)
class _Part:
    """Neighbouring chunks of a text; `continues` as in `Embedded`."""

    item: Pending
    chunks: list[Chunk]
    continues: bool

    @property
    def bytes(self) -> int:
        """The bytes of the text in these chunks."""
        return len(self.item.text[self.chunks[0].start : self.chunks[-1].end].encode())


def _store(store: Store, embedder: Embedder, into: VectorSet, batch: list[_Part]) -> Share:
    """Embed a batch and store its vectors."""
    places = [(part.item, chunk) for part in batch for chunk in part.chunks]
    pieces = [item.text[chunk.start : chunk.end] for item, chunk in places]
    # A document begins with its title; its later chunks do not say what they belong to.
    named = [
        f"{item.title[:TITLE_CHARACTERS]}\n{piece}" if chunk.seq else piece
        for (item, chunk), piece in zip(places, pieces, strict=True)
    ]
    vectors = embedder.embed_documents(named, [item.title for item, _ in places])
    tokens = [embedder.token_ids(piece) for piece in pieces]
    embedded: list[Embedded] = []
    at = 0
    for part in batch:
        to = at + len(part.chunks)
        embedded.append(
            Embedded(part.item.content, part.chunks, vectors[at:to], tokens[at:to], part.continues)
        )
        at = to
    store.add_vectors(into, embedded)
    texts = sum(part.chunks[0].seq == 0 for part in batch)
    return Share(texts, len(places), sum(part.bytes for part in batch))

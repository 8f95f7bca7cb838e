"""Embed the documents of an index, and texts that are in no document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from qmd.engine.embedding import active_vectors, batches
from qmd.engine.embedding.workers import embed_in_processes
from qmd.engine.models import egress
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.errors import TooManyError, UsageError
from qmd.models.base import Embedder
from qmd.models.catalog import DEFAULTS
from qmd.models.registry import stable_name
from qmd.processes import processors
from qmd.types.cancelling import Cancelled, stop_if_cancelled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Texts of `embed_texts` that go to the model together; between these batches it can be cancelled.
_TEXT_BATCH = 16
#: In the background, up to this size of texts no process is started, which would take longer than they do.
_FEW_BYTES = 8_192
#: No text has more characters per token, white space aside, so it is cut there before it is tokenized.
_TOKEN_CHARACTERS = 64
#: Processor seconds of the default model for a kilobyte of text; bench/README.md has the measurement.
_SECONDS_PER_KB = 0.16


class MissingVectors(Struct, frozen=True):
    """The number of texts without vectors, and about how many seconds `embed` takes; None if unknown."""

    texts: int
    seconds: float | None


class EmbeddingMethods(Part):
    """Make the vectors of documents, and of texts that are in no document."""

    def embed(
        self,
        collections: Sequence[str] = (),
        *,
        force: bool = False,
        workers: int = 1,
        background: bool = False,
        on_progress: batches.OnProgress | None = None,
        cancelled: Cancelled | None = None,
    ) -> batches.EmbedReport:
        """Make the missing vectors of some collections; `force` makes all of them again.

        If there are vectors of another model, searches use them until every text has new ones. `workers` is
        the number of processes. `background` uses processes of low priority and half of the processors,
        unless there are only a few kilobytes of text. Raises `AlreadyRunningError` if another process embeds,
        `ModelError` if there is no embedder, and `CancelledError` if `cancelled` returned True.
        """
        workspace = self._workspace
        store, models, config = workspace.store, workspace.models, workspace.config
        collections_of(config, collections)
        scope = active_vectors.embeddable(config, models, collections)
        egress.disclose(store, models, "embed")
        with batches.embedding_lock(workspace.locations.index) as prefix:
            # Only this process embeds here now, so these leases belong to workers that have died.
            store.pending.release(prefix)
            vectors = models.vector_set
            if force:
                store.vector_sets.drop(scope, vectors.fingerprint)
            sizes = store.pending.sizes(vectors.fingerprint, scope)
            tally = batches.Tally(sizes, on_progress)
            lost = 0
            if workers > 1 or (background and sum(sizes) > _FEW_BYTES):
                lost = embed_in_processes(
                    workspace, scope, prefix, workers, tally, background=background, cancelled=cancelled
                )
            else:
                worker, lease = batches.worker_name(prefix), workspace.settings.embed_lease_seconds
                for share in batches.shares(store, models.embedder, vectors, scope, worker, lease, cancelled):
                    tally.add(share)
            report = tally.report(vectors.name, lost)
            if background:
                # Earlier states of files that have changed are not needed any more.
                store.documents.prune()
            # Older vectors stay until all collections have new ones, including those that are not visible.
            complete = workspace.configuration.permitted()
            return active_vectors.activate(store, complete, workspace.config, models, report)

    def embed_texts(self, texts: Sequence[str], *, cancelled: Cancelled | None = None) -> NDArray[np.float32]:
        """Embed texts as if they were documents. Of a long text only the first chunk is used.

        Return float32 of shape (number of texts, dimension), each row of length 1. Raises `UsageError` for
        no texts or too many, `ModelError` if the embedder fails, `CancelledError` if `cancelled` says so.
        """
        import numpy as np

        workspace = self._workspace
        egress.disclose(workspace.store, workspace.models, "embed")
        embedder = workspace.models.embedder
        if not texts:
            raise UsageError("Empty texts list")
        if len(texts) > batches.MAX_TEXTS:
            raise TooManyError(f"Too many texts ({len(texts)} > {batches.MAX_TEXTS})")
        rows = []
        for start in range(0, len(texts), _TEXT_BATCH):
            stop_if_cancelled(cancelled)
            part = texts[start : start + _TEXT_BATCH]
            rows.append(embedder.embed_documents([_beginning(text, embedder) for text in part]))
        return np.concatenate(rows)

    def missing_vectors(self, collections: Sequence[str] = ()) -> MissingVectors:
        """Count the texts of collections (all, if none is named) without vectors.

        Raises `ModelError` if there is no embedder.
        """
        workspace = self._workspace
        store, models, config = workspace.store, workspace.models, workspace.config
        collections_of(config, collections)
        scope = active_vectors.embeddable(config, models, collections)
        sizes = store.pending.sizes(models.fingerprint, scope)
        seconds = None
        if stable_name(workspace.settings.embed_model, "embed") == DEFAULTS["embed"].name:
            threads = workspace.settings.threads or processors()
            seconds = sum(sizes) / 1024 * _SECONDS_PER_KB / threads
        return MissingVectors(len(sizes), seconds)


def _beginning(text: str, embedder: Embedder) -> str:
    """Return the part of a text that fits in a chunk."""
    start = text[: embedder.chunk_tokens * _TOKEN_CHARACTERS]
    offsets = embedder.token_offsets(start)
    return start if len(offsets) <= embedder.chunk_tokens else start[: offsets[embedder.chunk_tokens - 1][1]]

"""Embed the documents of an index, and texts that are in no document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.engine.embedding import active_vectors, batches
from qmd.engine.models import egress
from qmd.engine.requests import collections_of
from qmd.engine.workspace import Workspace
from qmd.errors import TooManyError, UsageError
from qmd.models.base import CancelledError, Embedder
from qmd.store.values import Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qmd.models.base import Cancelled

#: Texts of `embed_texts` that go to the model together; between these batches it can be cancelled.
_TEXT_BATCH = 16
#: In the background, up to this size of texts no process is started, which would take longer than they do.
_FEW_BYTES = 8_192
#: No text has more characters per token, white space aside, so it is cut there before it is tokenized.
_TOKEN_CHARACTERS = 64


def embed(
    workspace: Workspace,
    collections: Sequence[str],
    *,
    force: bool,
    workers: int,
    background: bool = False,
    on_progress: batches.OnProgress | None = None,
    cancelled: Cancelled | None = None,
) -> batches.EmbedReport:
    """Embed the documents of some collections, all if none is named; see `Index.embed`."""
    store, models, config = workspace.store, workspace.models, workspace.config
    collections_of(config, collections)
    names = tuple(collections) or tuple(config.collections)
    scope = Scope(egress.allowed(names, egress.local_only(config, models, "embed")))
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
            from qmd.engine.embedding import workers as processes

            lost = processes.embed(
                workspace, scope, prefix, workers, tally, background=background, cancelled=cancelled
            )
        else:
            worker, lease = batches.worker_name(prefix), workspace.settings.embed_lease_seconds
            for share in batches.shares(store, models.embedder, vectors, scope, worker, lease, cancelled):
                tally.add(share)
        report = tally.report(vectors.name, lost)
        # Older vectors stay until all collections have new ones, including those that are not visible.
        complete = workspace.configuration.permitted()
        return active_vectors.activate(store, complete, workspace.config, models, report)


def embed_texts(
    workspace: Workspace, texts: Sequence[str], cancelled: Cancelled | None
) -> NDArray[np.float32]:
    """Embed texts that are in no document; see `Index.embed_texts`."""
    import numpy as np

    egress.disclose(workspace.store, workspace.models, "embed")
    embedder = workspace.models.embedder
    if not texts:
        raise UsageError("Empty texts list")
    if len(texts) > batches.MAX_TEXTS:
        raise TooManyError(f"Too many texts ({len(texts)} > {batches.MAX_TEXTS})")
    rows = []
    for start in range(0, len(texts), _TEXT_BATCH):
        if cancelled is not None and cancelled():
            raise CancelledError
        part = texts[start : start + _TEXT_BATCH]
        rows.append(embedder.embed_documents([_beginning(text, embedder) for text in part]))
    return np.concatenate(rows)


def _beginning(text: str, embedder: Embedder) -> str:
    """Return the part of a text that fits in a chunk."""
    start = text[: embedder.chunk_tokens * _TOKEN_CHARACTERS]
    offsets = embedder.token_offsets(start)
    return start if len(offsets) <= embedder.chunk_tokens else start[: offsets[embedder.chunk_tokens - 1][1]]

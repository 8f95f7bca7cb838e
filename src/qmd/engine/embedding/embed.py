"""Embed the documents of an index, and texts that are in no document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.engine.embedding import active_vectors, batches
from qmd.engine.models import egress
from qmd.engine.workspace import Workspace
from qmd.store.base import Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qmd.models.base import Cancelled


def embed(
    workspace: Workspace,
    collections: Sequence[str],
    *,
    force: bool,
    workers: int,
    on_progress: batches.OnProgress | None,
) -> batches.EmbedReport:
    """Embed the documents of some collections, all if none is named; see `Index.embed`."""
    store, models, config = workspace.store, workspace.models, workspace.config
    names = workspace.scope(tuple(collections)).collections
    scope = Scope(egress.allowed(names, egress.local_only(config, models, "embed")))
    egress.disclose(store, models, "embed")
    with batches.embedding_lock(workspace.locations.index) as prefix:
        # Only this process embeds here now, so these leases belong to workers that have died.
        store.pending.release(prefix)
        vectors = models.vector_set
        if force:
            store.vector_sets.drop(scope, vectors.fingerprint)
        if workers > 1:
            from qmd.engine.embedding import workers as processes

            task = processes.Task(workspace.locations, dict(workspace.environ), scope.collections)
            threads = workspace.settings.threads
            report = processes.embed(store, task, vectors, prefix, workers, threads, on_progress)
        else:
            worker, lease = batches.worker_name(prefix), workspace.settings.embed_lease_seconds
            report = batches.embed(store, models.embedder, vectors, scope, worker, lease, on_progress)
        # Older vectors stay until all collections have new ones, including those that are not visible.
        complete = workspace.configuration.permitted()
        return active_vectors.activate(store, complete, workspace.config, models, report)


def embed_texts(
    workspace: Workspace, texts: Sequence[str], cancelled: Cancelled | None
) -> NDArray[np.float32]:
    """Embed texts that are in no document; see `batches.embed_texts`."""
    egress.disclose(workspace.store, workspace.models, "embed")
    return batches.embed_texts(workspace.models.embedder, texts, cancelled)

"""Embed the documents of an index, and texts that are in no document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.access.rules import READ, Rule
from qmd.engine.embedding import active_vectors, batches
from qmd.engine.embedding.asked import Asked
from qmd.engine.embedding.unasked import record_embedder
from qmd.engine.embedding.workers import embed_in_processes
from qmd.engine.models import egress
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.engine.workspace import Workspace
from qmd.errors import AlreadyRunningError, TooManyError, UsageError
from qmd.models.base import Embedder
from qmd.models.catalog import DEFAULTS
from qmd.models.registry import stable_name
from qmd.processes import processors
from qmd.store.values import Scope
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


class EmbeddingMethods(Part, rule=READ):
    """Make the vectors of documents, and of texts that are in no document."""

    _rules: Mapping[str, Rule] = {"embed": Rule(changes=True, collections="collections")}

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
        unless there are only a few kilobytes of text. It ends when nothing is missing, also of what was
        indexed, or asked for by other processes, meanwhile.

        Raises `AlreadyRunningError` if another process embeds. Unless `force` or `background` is set, that
        one embeds these collections too. Raises `ModelError` if there is no embedder, and `CancelledError` if
        `cancelled` returned True.
        """
        workspace = self._workspace
        collections_of(workspace.config, collections)
        egress.disclose(workspace.store, workspace.models, "embed")
        run = _Run(workspace, collections, workers, background, batches.Tally((), on_progress), cancelled)
        try:
            report = run.hold(force=force)
        except AlreadyRunningError as error:
            if force or background:  # the other process does not know that, or goes first
                raise
            run.asked.ask(tuple(collections or workspace.config.collections))
            try:
                report = run.hold()
            except AlreadyRunningError:
                message = f"{error.message}, and was asked to make these vectors too"
                raise AlreadyRunningError(message, "'qmd status' says how many are missing") from None
        while run.asked.read():
            # Somebody asked between the last look and the end of the lock.
            try:
                report = run.hold()
            except AlreadyRunningError:
                break  # and that process has seen it, or will
        return report

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
        # Counting is quick if nothing has changed since.
        missing = store.pending.count(models.fingerprint, scope)
        sizes = store.pending.sizes(models.fingerprint, scope) if missing else []
        seconds = None
        if stable_name(workspace.settings.embed_model, "embed") == DEFAULTS["embed"].name:
            threads = workspace.settings.threads or processors()
            seconds = sum(sizes) / 1024 * _SECONDS_PER_KB / threads
        return MissingVectors(len(sizes), seconds)


class _Run:
    """A call of `embed`, which takes the lock once or several times."""

    def __init__(
        self,
        workspace: Workspace,
        collections: Sequence[str],
        workers: int,
        background: bool,
        tally: batches.Tally,
        cancelled: Cancelled | None,
    ) -> None:
        self._workspace = workspace
        self._collections = collections
        self._workers = workers
        self._background = background
        self._tally = tally
        self._cancelled = cancelled
        self._lost = 0
        self._replaced: tuple[str, ...] = ()
        self.asked = Asked(workspace.locations.index)

    def hold(self, *, force: bool = False) -> batches.EmbedReport:
        """Embed, with the lock, until nothing is missing. Raises as `embed`."""
        workspace = self._workspace
        store, models = workspace.store, workspace.models
        with batches.embedding_lock(workspace.locations.index) as prefix:
            # Only this process embeds here now, so these leases belong to workers that have died.
            store.pending.release(prefix)
            if force:
                store.vector_sets.drop(self._scope(()), models.fingerprint)
            # The requests of others are forgotten before the last look.
            while self._round(self._scope(self.asked.read()), prefix) | self.asked.answered():
                pass
            report = self._tally.report(models.vector_set.name, self._lost)
            if self._background:
                # Earlier states of files that have changed are not needed any more.
                store.documents.prune()
            # Older vectors stay until all collections have new ones, including those that are not visible.
            complete = workspace.configuration.permitted()
            report = active_vectors.activate(store, complete, workspace.config, models, report)
            record_embedder(store, models)
        self._replaced += report.replaced
        return replace(report, replaced=self._replaced)

    def _scope(self, asked: Sequence[str]) -> Scope:
        """Return the collections to embed, as the configuration is now, with those that others asked for."""
        visible = self._workspace.config  # reads the configuration again
        complete = self._workspace.configuration.permitted()
        names = dict.fromkeys([*(self._collections or visible.collections), *asked])
        present = [name for name in names if name in complete.collections]
        return active_vectors.embeddable(complete, self._workspace.models, present) if present else Scope(())

    def _round(self, scope: Scope, prefix: str) -> bool:
        """Make the missing vectors; return whether there were any."""
        workspace, tally = self._workspace, self._tally
        store, models = workspace.store, workspace.models
        vectors = models.vector_set
        sizes = store.pending.sizes(vectors.fingerprint, scope)
        if not sizes:
            return False
        before = tally.chunks
        tally.begin(sizes)
        if self._workers > 1 or (self._background and sum(sizes) > _FEW_BYTES):
            self._lost += embed_in_processes(
                workspace,
                scope,
                prefix,
                self._workers,
                tally,
                background=self._background,
                cancelled=self._cancelled,
            )
        else:
            worker, lease = batches.worker_name(prefix), workspace.settings.embed_lease_seconds
            embedder, cancelled = models.embedder, self._cancelled
            for share in batches.shares(store, embedder, vectors, scope, worker, lease, cancelled):
                tally.add(share)
        return tally.chunks > before


def _beginning(text: str, embedder: Embedder) -> str:
    """Return the part of a text that fits in a chunk."""
    start = text[: embedder.chunk_tokens * _TOKEN_CHARACTERS]
    offsets = embedder.token_offsets(start)
    return start if len(offsets) <= embedder.chunk_tokens else start[: offsets[embedder.chunk_tokens - 1][1]]

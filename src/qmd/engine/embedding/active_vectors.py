"""Select the vectors that searches use: older ones until the vectors of a new model are complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.models.egress import allowed, explain_local, local_only
from qmd.engine.models.provider import ModelProvider
from qmd.errors import ModelError, VectorIndexMissingError
from qmd.models.base import Probe, ProbingEmbedder
from qmd.models.registry import remote_host
from qmd.store.base import Store
from qmd.store.values import ChunkMatch, Scope, VectorSet
from qmd.types import Config

if TYPE_CHECKING:
    from qmd.engine.embedding.batches import EmbedReport
    from qmd.models.base import Embedder


class ActiveVectors(Struct, frozen=True):
    """The set of vectors to search, and the embedder for the query."""

    fingerprint: str  #: The set
    embedder: Embedder  #: The model that made the set
    configured: bool  #: Whether it is the model that the settings name
    #: Why another set is used, or how complete this one is if an older set cannot be used.
    note: str | None = None

    def probes(self, queries: Sequence[str]) -> list[Probe]:
        """Embed queries, and return the probe of each."""
        if isinstance(self.embedder, ProbingEmbedder):
            return self.embedder.probes(queries)
        return [Probe(vector, vector) for vector in self.embedder.embed_queries(queries)]

    def search(self, store: Store, probe: Probe, scope: Scope, limit: int) -> list[ChunkMatch]:
        """Return the documents with the nearest chunks, best first, with the query's cosines."""
        matches = store.vectors.search(self.fingerprint, probe.vector, scope, limit)
        return [_on_scale(match, probe) for match in matches]

    def nearest_chunks(self, store: Store, probe: Probe, documents: Sequence[int]) -> dict[int, ChunkMatch]:
        """Return the best chunk of each document that has any, with the query's cosine."""
        matches = store.vectors.similarities(self.fingerprint, probe.vector, documents)
        return {document: _on_scale(match, probe) for document, match in matches.items()}


def select(store: Store, config: Config, models: ModelProvider, scope: Scope) -> ActiveVectors:
    """Return the first set `by_priority` that has vectors in a scope and whose model is available.

    Raises `VectorIndexMissingError` if there is none, and `ModelError` if the configured model is not
    available either.
    """
    failure: ModelError | None = None
    configured = ""
    try:
        configured = models.fingerprint
    except ModelError as error:
        failure = error
    unusable: str | None = None
    for vectors in by_priority(store, config, configured):
        if not store.vectors.exist(vectors.fingerprint, scope):
            continue
        if vectors.fingerprint == configured:
            note = f"{unusable}; in use: {_progress(store, config, models)}" if unusable else None
            return ActiveVectors(configured, models.embedder, True, note)
        try:
            embedder = _earlier_embedder(config, models, scope, vectors)
        except ModelError as error:
            if models.portable:
                raise  # there can be no vectors of another model
            unusable = f"vectors of {vectors.name} cannot be used: {error.in_one_line()}"
            continue
        if failure is not None:
            reason = f": {failure.in_one_line()}"
        else:
            reason = f" until 'qmd embed' has finished {_progress(store, config, models)}"
        return ActiveVectors(vectors.fingerprint, embedder, False, f"vectors of {vectors.name}{reason}")
    if models.portable and scope.collections:
        raise ModelError("this index file has no vectors of these documents, so it is searched by words only")
    raise failure or VectorIndexMissingError()


def by_priority(store: Store, config: Config, configured: str) -> list[VectorSet]:
    """Return the sets of vectors, the one to use first; `configured` is the fingerprint of the settings.

    A set that was complete once goes first, because it lacks only new texts. Of the others, the set that
    lacks the fewest texts goes first. If they are equal, the configured set does. For a restricted index no
    set counts as complete, because that would reveal something about other collections.
    """
    sets = store.vector_sets.all()
    if config.restricted:
        sets = [replace(vectors, complete=False) for vectors in sets]
    scope = Scope(tuple(config.collections))
    several_partial = sum(not vectors.complete for vectors in sets) > 1

    def priority(vectors: VectorSet) -> tuple[bool, int, bool]:
        pending = 0
        if several_partial and not vectors.complete:
            pending = store.pending.count(vectors.fingerprint, scope)
        return not vectors.complete, pending, vectors.fingerprint != configured

    return sorted(sets, key=priority)


def embedded_share(store: Store, config: Config, models: ModelProvider, fingerprint: str) -> float:
    """Return the share of texts with vectors in a set, 0..1; 1 if there are no texts.

    Only texts that the configured embedder may get count.
    """
    scope = embeddable(config, models)
    total = store.pending.count("", scope)
    return 1.0 if not total else 1.0 - store.pending.count(fingerprint, scope) / total


def activate(
    store: Store, config: Config, visible: Config, models: ModelProvider, report: EmbedReport
) -> EmbedReport:
    """Use the configured set from now on if it is complete, and delete the others.

    `config` is the whole configuration, `visible` the part that the caller may see. Return the report with
    the models whose vectors were replaced, or the model whose vectors are still used.
    """
    fingerprint = models.fingerprint
    replaced = store.vector_sets.activate(fingerprint, embeddable(config, models))
    if replaced is not None:
        models.forget_earlier()
        # The other vectors are replaced only if every text has new ones, also texts that are not visible.
        return report if visible.restricted else replace(report, replaced=tuple(replaced))
    pending = store.pending.count(fingerprint, embeddable(visible, models))
    if visible.restricted and not pending:
        return report
    first = next(iter(by_priority(store, visible, fingerprint)), None)
    still = first.name if first is not None and first.fingerprint != fingerprint else None
    return replace(report, still=still, left=pending)


def percent(share: float) -> str:
    """Format a share, rounded down, so that only a complete set has 100%."""
    return f"{int(100 * share)}%"


def embeddable(config: Config, models: ModelProvider, names: Sequence[str] = ()) -> Scope:
    """Return the collections, of those named or of all, whose text the configured embedder may get."""
    return Scope(allowed(names or config.collections, local_only(config, models, "embed")))


def _on_scale(match: ChunkMatch, probe: Probe) -> ChunkMatch:
    return match._replace(similarity=probe.scale * match.similarity + probe.offset)


def _earlier_embedder(config: Config, models: ModelProvider, scope: Scope, vectors: VectorSet) -> Embedder:
    """Return the model that made an older set. Raises `ModelError` if it is not available."""
    local = {name for name, collection in config.collections.items() if not collection.remote}
    if remote_host(vectors.source) is not None and local.issuperset(scope.collections):
        raise ModelError(explain_local(scope.collections))
    return models.earlier(vectors)


def _progress(store: Store, config: Config, models: ModelProvider) -> str:
    """Return the name of the configured embedder, and how complete its vectors are."""
    share = embedded_share(store, config, models, models.fingerprint)
    return f"{models.embedder.name}: {percent(share)}"

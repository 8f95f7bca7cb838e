"""`Index`: everything that can be done with an index. All interfaces call it, and nothing below it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self, Unpack, cast

from qmd.config.paths import marks_path
from qmd.engine.calls import Calls, call, check_values, not_copied
from qmd.engine.opening import find_locations
from qmd.engine.parts import Parts
from qmd.engine.requests import (
    HybridSearchOptions,
    SearchOptions,
    SearchRequest,
    SimilarOptions,
    VectorSearchOptions,
    collections_of,
    make_request,
    of_document,
)
from qmd.engine.workspace import Workspace, open_workspace
from qmd.types import Config, SearchResponse

if TYPE_CHECKING:
    from qmd.engine.access.permissions import Permissions
    from qmd.engine.access.project_trust import Trust
    from qmd.engine.collections import CollectionMethods
    from qmd.engine.configuring import ConfigurationMethods
    from qmd.engine.documents.fields import FieldMethods
    from qmd.engine.documents.freshness import FreshnessMethods
    from qmd.engine.documents.library import DocumentMethods
    from qmd.engine.documents.links import LinkMethods
    from qmd.engine.documents.lookup import AbsenceMethods
    from qmd.engine.embedding.embed import EmbeddingMethods
    from qmd.engine.indexing.update import UpdateMethods
    from qmd.engine.marking import MarkMethods
    from qmd.engine.retrieval.adjust import Guide
    from qmd.engine.retrieval.pipeline import Pipeline
    from qmd.engine.upkeep.backup import BackupMethods
    from qmd.engine.upkeep.cleanup import CleanupMethods
    from qmd.engine.upkeep.models import ModelMethods
    from qmd.engine.upkeep.status import StatusMethods
    from qmd.features.public import Methods
    from qmd.types.cancelling import Cancelled

    class _Methods(
        CollectionMethods,
        ConfigurationMethods,
        DocumentMethods,
        FieldMethods,
        FreshnessMethods,
        LinkMethods,
        AbsenceMethods,
        MarkMethods,
        UpdateMethods,
        EmbeddingMethods,
        StatusMethods,
        ModelMethods,
        CleanupMethods,
        BackupMethods,
        Methods,
    ):
        """The methods that are not in this module."""

else:
    _Methods = Parts


class Index(_Methods):
    """An index and its configuration. Safe to share between threads. Close it, or use it in a `with`.

    `locations` are its files; `notes` are messages for the user.
    """

    def __init__(self, workspace: Workspace, *, owns_store: bool = True) -> None:
        super().__init__(workspace)
        self._calls: Calls = Calls()
        self._owns_store = owns_store
        self._store = workspace.store
        self.locations = workspace.locations
        self.settings = workspace.settings
        self.model_provider = workspace.models
        self.notes = workspace.notes
        self._lock = threading.Lock()
        self._pipeline: Pipeline | None = None
        self._restricted: dict[Permissions, tuple[Index, Index]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    __reduce__ = not_copied

    def close(self) -> None:
        """Close the index and its restricted versions. Wait for running calls to end.

        Other calls raise `ClosedError` from now on. Raises `BusyError` if a running call calls this.
        """
        self._calls.close()
        for index, _ in self._restricted.values():
            index.close()
        if self._pipeline is not None:
            self._pipeline.close()
        if self._owns_store:
            self._store.close()

    @call
    def limited(
        self,
        collections: Sequence[str] | None = None,
        *,
        read_only: bool = False,
        contexts: bool = True,
        agent: bool = False,
        existing: bool = True,
    ) -> Index:
        """Return this index, restricted to some collections (None: all), to reading, or without contexts.

        For an `agent` secrets are masked, and documents kept from agents do not exist. It shares everything
        with this index, and is closed with it. Calls that are not permitted raise `ForbiddenError`. Raises
        `CollectionNotFoundError`, unless names need not be of `existing` collections, as those of keys.
        """
        from qmd.engine.access.restricted import RestrictedIndex

        granted = self._workspace.permissions
        allowed = granted.narrowed(collections, read_only=read_only, contexts=contexts, agent=agent)
        if existing and collections:
            collections_of(self.config, collections)
        with self._lock:
            made = self._restricted.get(allowed)
            if made is None or made[0]._calls.closed:
                index = Index(self._workspace.seen_with(allowed), owns_store=False)
                # Not a subclass of `Index`, so that it inherits no method that its rules do not list.
                self._restricted[allowed] = index, cast("Index", RestrictedIndex(index, allowed))
            return self._restricted[allowed][1]

    @property
    @call
    def config(self) -> Config:
        """The configuration, read again if its file has changed, without the requests that are not approved.

        Raises `ConfigError` if it is broken.
        """
        return self._workspace.config

    @property
    @call
    def permissions(self) -> Permissions:
        """What the caller may see and change. Methods ask for it themselves."""
        return self._workspace.permissions

    @property
    @call
    def trust(self) -> Trust:
        """The requests of a project's configuration, and those that the user has approved."""
        return self._workspace.configuration.trust

    @call
    def search(self, query: str | SearchRequest, **options: Unpack[SearchOptions]) -> SearchResponse:
        """Search by keywords (BM25). The options are those of `SearchRequest`.

        Filters can also be typed in the query, `author:"two words" after:2024`; options take precedence.
        Raises `UsageError` for values out of range, and `CollectionNotFoundError`.
        """
        return self._fitted("search", make_request("search", query, options))

    @call
    def vsearch(self, query: str | SearchRequest, **options: Unpack[VectorSearchOptions]) -> SearchResponse:
        """Search by meaning. Raises `VectorIndexMissingError` before the first `embed`, else as `search`."""
        return self._fitted("vsearch", make_request("vsearch", query, options))

    @call
    def query(
        self, query: str | SearchRequest = "", **options: Unpack[HybridSearchOptions]
    ) -> SearchResponse:
        """Search by words and meaning together and rerank, which gives the best results.

        `query` is a question or a query document; or give `searches`. The `stages` of the response say what
        could not run. Raises `QueryError` for a query document that cannot be read, else as `search`.
        """
        return self._fitted("query", make_request("query", query, options))

    @call
    def similar(self, reference: str, **options: Unpack[SimilarOptions]) -> SearchResponse:
        """Find documents that are similar to one, by the vectors that exist; without vectors, by its words.

        `reference` is anything that `get` takes; its lines or section are compared alone if it names them.
        Raises `DocumentNotFoundError`, else as `search`.
        """
        return self._fitted("similar", of_document(make_request("similar", reference, options)))

    def _fitted(self, kind: str, request: SearchRequest) -> SearchResponse:
        """Run a search, and leave out the rest beyond its number of tokens."""
        response = self.run(kind, request)
        if request.tokens is None:
            return response
        from qmd.engine.documents.fitting import Limit, as_json, fit_response

        limit = Limit(request.tokens, "tokens")
        return fit_response(response, limit, lambda made: made, lambda made: as_json(made.hits, made.note))

    @call
    def run(self, kind: str, request: SearchRequest, *, cancelled: Cancelled | None = None) -> SearchResponse:
        """Run a search; `kind` is a key of `PLANS`. The hits may have more tokens than it says.

        Raises `CancelledError` as soon as `cancelled` returns true.
        """
        from qmd.engine.retrieval.pipeline import PLANS, Pipeline

        with self._lock:
            if self._pipeline is None:
                self._pipeline = Pipeline(self._store, self.model_provider)
        self._workspace.traffic.note()
        request = request.checked().completed(self.settings)
        return self._pipeline.run(PLANS[kind], self.config, request, self._guide(request), cancelled)

    def _guide(self, request: SearchRequest) -> Guide | None:
        """Return the function that tells which pins and marks count for a query; None if none do."""
        if not request.marks or not os.path.lexists(marks_path(self.locations.config)):
            return None
        from qmd.engine.marks import MarksOf

        return MarksOf(self._workspace).guidance


def open_index(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    name: str | None = None,
    store: str | None = None,
    environ: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Index:
    """Open an index; it is made if it does not exist.

    Args:
        path: The index file; None for the index that the command line uses.
        config: The configuration file; by default the file beside `path` that ends with `.yml`.
        name: The name of an index without a path, as with `--index`.
        store: The address of a store to use in place of the file, such as `milvus://localhost:19530`.
        environ: Environment variables; by default those of the process.
        progress: Called with a line of text about work that takes long.

    Raises:
        ForeignIndexError: The file was made by another program.
        ConfigError: The configuration is broken.
        StoreError: The store cannot be used.
    """
    check_values(open_index.__annotations__, {"path": path, "config": config, "name": name, "store": store})
    variables = os.environ if environ is None else environ
    locations = find_locations(variables, name, path=path, config=config, store=store)
    return Index(open_workspace(locations, variables, progress))

"""`Index`: everything that can be done with an index. All interfaces call it, and nothing below it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self, Unpack, cast

from msgspec.structs import replace

from qmd.engine.facade.collections import CollectionMethods
from qmd.engine.facade.fields import FieldMethods
from qmd.engine.facade.maintenance import MaintenanceMethods
from qmd.engine.facade.marks import MarkMethods
from qmd.engine.opening import find_locations, with_store
from qmd.engine.requests import (
    HybridSearchOptions,
    SearchKind,
    SearchOptions,
    SearchRequest,
    VectorSearchOptions,
    make_request,
)
from qmd.engine.workspace import Workspace, open_workspace
from qmd.errors import QmdError
from qmd.types import Config, SearchResponse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qmd.engine.access.permissions import Permissions
    from qmd.engine.access.project_trust import Trust
    from qmd.engine.embedding import batches
    from qmd.engine.evaluation import benchmarking, modes
    from qmd.engine.explain.explainer import Why
    from qmd.engine.explain.lookup import Absence, Lookup
    from qmd.engine.indexing import scan
    from qmd.engine.retrieval.pipeline import Pipeline
    from qmd.models.base import Cancelled


class Index(CollectionMethods, FieldMethods, MarkMethods, MaintenanceMethods):
    """An index and its configuration. Safe to share between threads. Close it, or use it in a `with`.

    Modules are imported in the methods that need them, because a keyword search needs few of them.
    `locations` are its files; `notes` are messages for the user.
    """

    def __init__(self, workspace: Workspace, *, owns_store: bool = True) -> None:
        self._owns_store = owns_store
        self._workspace = workspace
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

    def close(self) -> None:
        """Close the index and its restricted versions. Wait for running searches to end."""
        for index, _ in self._restricted.values():
            index.close()
        if self._pipeline is not None:
            self._pipeline.close()
        if self._owns_store:
            self._store.close()

    def limited(
        self,
        collections: Sequence[str] | None = None,
        *,
        read_only: bool = False,
        contexts: bool = True,
    ) -> Index:
        """Return this index, restricted to some collections (None: all), to reading, or without contexts.

        It shares everything with this index, and is closed with it. Calls that are not permitted raise
        `ForbiddenError`.
        """
        from qmd.engine.access.restricted import RestrictedIndex

        permissions = self._workspace.permissions.narrowed(
            collections, read_only=read_only, contexts=contexts
        )
        with self._lock:
            if permissions not in self._restricted:
                index = Index(replace(self._workspace, permissions=permissions), owns_store=False)
                # Not a subclass of `Index`, so that it inherits no method that its rules do not list.
                self._restricted[permissions] = index, cast("Index", RestrictedIndex(index, permissions))
            return self._restricted[permissions][1]

    @property
    def config(self) -> Config:
        """The configuration, read again if its file has changed, without what a project may not do.

        Raises `ConfigError` if it is broken.
        """
        return self._workspace.config

    @property
    def trust(self) -> Trust:
        """What the configuration of a project asks for, and what the user has approved."""
        return self._workspace.configuration.trust

    def update(
        self,
        collections: Sequence[str] = (),
        *,
        pull: bool = False,
        commands: bool = True,
        allow_empty: bool = False,
        on_progress: scan.OnProgress | None = None,
        on_report: Callable[[scan.ScanReport], None] | None = None,
    ) -> list[scan.ScanReport]:
        """Bring collections (all, if none is named) up to date with their folders.

        If a folder is missing, its report has an `error`, and its documents stay. What a project asks for
        without approval is left out; see `trust`.

        Args:
            collections: Names of collections.
            pull: First run `git pull --ff-only` in folders that are git work trees.
            commands: First run the update commands of the collections.
            allow_empty: Also remove documents if that may be a mistake: all documents of a folder that is
                empty or was replaced by another one, and collections that the configuration no longer names
                if it names none, or if the index belongs to another configuration. Otherwise the former is an
                `error` in the report, and the latter raises `ConfigError`.
            on_progress: Called with collection, files done and files in total.
            on_report: Called with each report as soon as it is complete.
        """
        from qmd.engine.indexing.update import update

        return update(
            self._workspace,
            collections,
            pull=pull,
            commands=commands,
            allow_empty=allow_empty,
            on_progress=on_progress,
            on_report=on_report,
        )

    def rescan(
        self,
        collection: str,
        within: Sequence[str] = (),
        *,
        record: bool = False,
        background: bool = False,
        on_change: scan.OnChange | None = None,
        cancelled: Cancelled | None = None,
    ) -> scan.ScanReport:
        """Compare files of one collection with the index, as `update` does, and run no commands.

        Args:
            collection: The name of the collection.
            within: Paths of files and folders relative to the collection; all files if there are none.
            record: Also record the time of a scan that finds no change, which is a write.
            background: Scan in a process of low priority, and do not call `on_change`.
            on_change: Called with collection, path and the kind of change after a change has been stored.
            cancelled: Called between files; if it returns true, `CancelledError` is raised, and
                finished batches stay.

        Raises `CollectionNotFoundError`. If the folder is missing, the report has an `error`.
        """
        if background:
            from qmd.engine.indexing.background import rescan as rescan_in_background

            return rescan_in_background(self._workspace, collection, within, record, cancelled)
        from qmd.engine.indexing.update import rescan

        return rescan(
            self._workspace, collection, within, record=record, on_change=on_change, cancelled=cancelled
        )

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
        from qmd.engine.embedding.embed import embed

        return embed(
            self._workspace,
            collections,
            force=force,
            workers=workers,
            background=background,
            on_progress=on_progress,
            cancelled=cancelled,
        )

    def embed_texts(self, texts: Sequence[str], *, cancelled: Cancelled | None = None) -> NDArray[np.float32]:
        """Embed texts as if they were documents. Of a long text only the first chunk is used.

        Return float32 of shape (number of texts, dimension), each row of length 1. Raises `UsageError` for
        no texts or too many, `ModelError` if the embedder fails, `CancelledError` if `cancelled` says so.
        """
        from qmd.engine.embedding.embed import embed_texts

        return embed_texts(self._workspace, texts, cancelled)

    def search(self, query: str | SearchRequest, **options: Unpack[SearchOptions]) -> SearchResponse:
        """Search by keywords (BM25). The options are those of `SearchRequest`.

        Filters can also be typed in the query, `author:"two words" after:2024`; options take precedence.
        Raises `UsageError` for values out of range, and `CollectionNotFoundError`.
        """
        return self.run("search", make_request("search", query, options))

    def vsearch(self, query: str | SearchRequest, **options: Unpack[VectorSearchOptions]) -> SearchResponse:
        """Search by meaning. Raises `VectorIndexMissingError` before the first `embed`, else as `search`."""
        return self.run("vsearch", make_request("vsearch", query, options))

    def query(
        self, query: str | SearchRequest = "", **options: Unpack[HybridSearchOptions]
    ) -> SearchResponse:
        """Search by words and meaning together and rerank, which gives the best results.

        `query` is a question or a query document; or give `searches`. The `stages` of the response say what
        could not run. Raises `QueryError` for a query document that cannot be read, else as `search`.
        """
        return self.run("query", make_request("query", query, options))

    def run(self, kind: str, request: SearchRequest, *, cancelled: Cancelled | None = None) -> SearchResponse:
        """Run a search; `kind` is search, vsearch or query.

        Raises `CancelledError` as soon as `cancelled` returns true.
        """
        from qmd.engine.retrieval.pipeline import Pipeline
        from qmd.engine.retrieval.plan import PLANS

        with self._lock:
            if self._pipeline is None:
                self._pipeline = Pipeline(self._store, self.model_provider)
        request = request.checked().completed(self.settings)
        return self._pipeline.run(PLANS[kind], self.config, request, self._guide(request), cancelled)

    def why(self, reference: str, kind: SearchKind, request: SearchRequest) -> Why:
        """Explain why a document, or a file on disk, is or is not among the results of a search.

        `reference` is anything that `get` takes, or the path of a file. Raises as `get` if it is neither, and
        as the search, except that `VectorIndexMissingError` becomes part of the explanation.
        """
        from qmd.engine.explain.explainer import Explainer

        explainer = Explainer(self._store, self.config, self.model_provider, self._lookup, self.run)
        return explainer.answer(reference, kind, request)

    def absence(self, reference: str) -> Absence | None:
        """Explain why a file on disk is not in the index; None if the reference names no such file.

        `reference` is a path on disk, or what `get` would take if the file were indexed.
        """
        lookup = self._lookup
        try:
            match = lookup.find(reference)
        except QmdError:  # neither a document nor a file
            return None
        return lookup.absence(match) if isinstance(match, str) else None

    @property
    def _lookup(self) -> Lookup:
        from qmd.engine.explain.lookup import Lookup

        refused = {request.name: request.value for request in self.trust.unapproved({"path"})}
        return Lookup(self._store, self.config, self._library, refused)

    def evaluate(
        self, benchmark: benchmarking.Benchmark, on_progress: modes.OnProgress | None = None
    ) -> modes.Evaluation:
        """Measure how well searches find the documents that a benchmark expects.

        A fixture file is put to this index, and so are the pins and marks if the benchmark names no fixture.
        A folder in BEIR layout gets an index of its own, with the same models. Raises `SourceError` if the
        fixture cannot be read, `UsageError` for values out of range, and `NotFoundError` if there are no
        documents to search, or no pins and marks.
        """
        from qmd.engine.evaluation import benchmarking, fixtures

        return benchmarking.evaluate(
            self,
            open_index,
            self._workspace.environ,
            lambda: fixtures.of_marks(self._marks_of.entries()),
            benchmark,
            on_progress,
        )


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
    variables = os.environ if environ is None else environ
    locations = find_locations(path, config, name, variables)
    return Index(open_workspace(with_store(locations, store), variables, progress))

"""`Index`: everything that can be done with an index. Every edge calls this, and nothing below it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from qmd.config import contexts
from qmd.config.index_yml import digest, parse, read_bytes
from qmd.config.paths import Locations, cache_dir, check_project, locate
from qmd.config.settings import Settings, resolve
from qmd.config.validate import nfc, require_file_name
from qmd.engine.models.provider import ModelProvider
from qmd.engine.opening import at, open_of
from qmd.engine.requests import (
    DEFAULT_CANDIDATES,
    DEFAULT_LIMIT,
    DEFAULT_MAX_BYTES,
    DEFAULT_RANKING,
    DEFAULT_TIMEOUT,
    VECTOR_MIN_SCORE,
    SearchRequest,
    collections_of,
)
from qmd.errors import ConfigError, QmdError
from qmd.store.base import Scope, Store
from qmd.store.sqlite.opening import belongs_to_us, is_database
from qmd.types import (
    DEFAULT_PATTERN,
    Author,
    Collection,
    Config,
    Document,
    Ranking,
    SearchResponse,
    TypedSearch,
)

if TYPE_CHECKING:
    # ImportedModel on use: searching and reading need none of them.
    import numpy as np
    from numpy.typing import NDArray

    from qmd.engine.access.project_trust import Trust
    from qmd.engine.access.restricted import Permissions
    from qmd.engine.doctor import Finding
    from qmd.engine.documents.library import Library, Page, Pages
    from qmd.engine.embedding import batches
    from qmd.engine.evaluation import benchmarking, modes
    from qmd.engine.explain.explainer import Kind, Why
    from qmd.engine.explain.lookup import Absence, Lookup
    from qmd.engine.indexing import scan
    from qmd.engine.models.usage import ModelUse
    from qmd.engine.retrieval.searcher import Searcher
    from qmd.engine.upkeep import copying
    from qmd.engine.upkeep.backup import Backup
    from qmd.engine.upkeep.cleanup import CleanupReport
    from qmd.engine.upkeep.copying import CopyReport
    from qmd.engine.upkeep.status import Status
    from qmd.models.base import Cancelled
    from qmd.models.bundle import BundledModel, ImportedModel
    from qmd.models.catalog import ModelCard
    from qmd.models.downloads import Download, OnBytes
    from qmd.store.base import OnPages, OnStep

#: The default index where another program keeps its own at the same place (E1).
_BESIDE = "index-python.sqlite"
#: Unknown keys of a configuration that are named; of the others only the number.
_UNKNOWN_KEYS = 5


class Index:
    """An index and its configuration. Safe to share between threads; close it, or use it in a `with`.

    Paths given to it are files: `path` the index, `config` the `index.yml` that says what is in it.
    """

    def __init__(
        self,
        locations: Locations,
        *,
        environ: Mapping[str, str] | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        for path in (locations.index, locations.config):
            require_file_name(path)
        self._environ = os.environ if environ is None else environ
        self.notes: list[str] = []
        self.locations = beside_foreign(locations)
        self._lock = threading.RLock()
        data = read_bytes(self.locations.config)
        self._store: Store
        self._store, written = open_of(self.locations, data, self._environ)
        beside = self._store.location
        if beside == self.locations.index != locations.index and not os.path.exists(beside):
            self.notes.append(
                f"{locations.index} belongs to another program and is left alone; using {beside}"
            )
        # Parsing the file takes longer than a search: the index keeps what it said when it was last synced.
        self._written = (
            written
            or self._store.config_copy(self.locations.config, digest(data))
            or parse(data, self.locations.config)
        )
        self.notes += unknown_keys(self._written)
        self._searcher: Searcher | None = None
        self._views: dict[Permissions, Index] = {}
        self.settings: Settings = resolve(self._adopt(self._written), self._environ)
        self.roles = ModelProvider(
            self.settings,
            cache_dir(self._environ),
            progress,
            foreign_index=self.locations.project is not None,
        )

    # -- life ----------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file and the models."""
        for view in self._views.values():
            view.close()
        if self._searcher is not None:
            self._searcher.close()
        self._store.close()

    @property
    def model_loaded(self) -> bool:
        """Whether the embedder is in memory."""
        return self.roles.loaded

    def release_models(self) -> None:
        """Free the models' memory; the next call that needs them loads them again."""
        self.roles.release()

    def limited(self, collections: Sequence[str] | None = None, *, read_only: bool = False) -> Index:
        """This index as someone sees it who may see some collections only (None: all), or change nothing.

        It shares all there is with this one, which closes it. What it refuses raises `ForbiddenError`.
        """
        from qmd.engine.access.restricted import Permissions, RestrictedIndex

        limits = Permissions(None if collections is None else frozenset(collections), read_only)
        with self._lock:
            return self._views.setdefault(limits, RestrictedIndex(self, limits))

    # -- configuration -------------------------------------------------------------------------------------

    @property
    def config(self) -> Config:
        """The configuration, read anew where the file has changed, without what a project may not do.

        Raises `ConfigError` if it is broken.
        """
        return self._adopt(self._read())

    @property
    def trust(self) -> Trust:
        """What a project's own file asks for, and what the user said to it."""
        from qmd.engine.access.project_trust import Trust

        return Trust(self.locations.project, self._written, self._environ)

    def _read(self) -> Config:
        """All that the file says, approved or not."""
        if self.locations.project is not None:
            # A pull may have brought a link since it was opened.
            check_project(self.locations.project)
        data = read_bytes(self.locations.config)
        with self._lock:
            if digest(data) == self._written.digest:
                return self._written
            return parse(data, self.locations.config)

    def _adopt(self, written: Config) -> Config:
        """Go by what the file says from now on; returns what of it is permitted."""
        with self._lock:
            self._written = written
            config = self._permitted()
            if self._searcher is not None:
                self._searcher.config = config
            return config

    def _permitted(self) -> Config:
        """What the file says, without what a project may not do."""
        return self._written if self.locations.project is None else self.trust.permitted()

    def _write(self, written: Config) -> None:
        """Go by the file as it was edited, and so does the store."""
        self._adopt(written)
        self._sync()

    def _sync(self, *, drop: bool = False) -> None:
        """Make the store's collections those of the file; see `Store.sync`."""
        self._store.sync(self._written, drop=drop)

    def collection(self, name: str) -> Collection:
        """A collection by name. Raises `CollectionNotFoundError`, listing the known ones."""
        config = self.config
        collections_of(config, [name])
        return config.collections[name]

    def add_collection(
        self,
        path: str,
        name: str | None = None,
        *,
        pattern: str = DEFAULT_PATTERN,
        ignore: Sequence[str] = (),
        encoding: str | None = None,
        on_progress: scan.OnProgress | None = None,
    ) -> scan.ScanReport:
        """Make a folder a collection and index it.

        The name defaults to the folder's. Raises `SourceError` for a folder that cannot be listed,
        `ConflictError` for a name or folder that is taken, `StoreError` and `BusyError` for an index that
        cannot be written; then nothing has changed.
        """
        from qmd.config import editing
        from qmd.engine.indexing import collections, scan

        collection = collections.new_collection(path, name, pattern, tuple(ignore), encoding)
        # Refuses a pattern that cannot be read before anything is written.
        scan.check(collection)
        self._refuse_to_empty()
        written = editing.add_collection(self.locations.config, collection)
        try:
            self._write(written)
        except QmdError:
            self._adopt(editing.remove_collection(self.locations.config, collection.name))
            raise
        self.trust.approve_typed(collection.name, "path")
        added = written.collections[collection.name]
        report = scan.scan(self._store, added, on_progress, owner=self.locations.config)
        self._store.refresh_statistics()
        return report

    def remove_collection(self, name: str) -> int:
        """Forget a collection; its files stay. Returns how many documents left the index."""
        from qmd.config import editing

        collections_of(self._read(), [name])
        self._adopt(editing.remove_collection(self.locations.config, name))
        removed = self._store.remove_collection(name)
        self._sync()
        return removed

    def rename_collection(self, old: str, new: str) -> None:
        """Give a collection another name. Raises `ConflictError` where that is taken."""
        from qmd.config import editing

        collections_of(self._read(), [old])
        self._adopt(editing.rename_collection(self.locations.config, old, nfc(new)))
        self._store.rename_collection(old, nfc(new))
        self._sync()

    def include_collection(self, name: str, include: bool = True) -> None:
        """Search a collection where none is named, or only where it is. Raises `CollectionNotFoundError`."""
        from qmd.config import editing

        self._write(editing.set_include(self.locations.config, name, include))

    def set_update_command(self, name: str, command: str | None) -> None:
        """Have `update` run a shell command in a collection's folder first; None or a blank one: none.

        Raises `CollectionNotFoundError`.
        """
        from qmd.config import editing

        self._write(editing.set_update_command(self.locations.config, name, command))
        self.trust.approve_typed(nfc(name), "update")

    def add_context(self, target: str, text: str) -> str:
        """Describe everything (`/`), a collection or a folder in one; returns the place as a `qmd://` URI.

        `target` is `/`, `qmd://collection/path`, or a folder or file on disk inside a collection.
        """
        from qmd.config import editing

        collection, prefix = self._context_place(target)
        self._write(editing.set_context(self.locations.config, collection, prefix, text))
        place = contexts.context_uri(collection, prefix)
        self.trust.approve_typed(place, "context")
        return place

    def remove_context(self, target: str) -> str:
        """Forget a description. Raises `NotFoundError` where there is none."""
        from qmd.config import editing

        collection, prefix = self._context_place(target)
        self._write(editing.remove_context(self.locations.config, collection, prefix))
        return contexts.context_uri(collection, prefix)

    def contexts(self) -> list[tuple[str, str]]:
        """Every description: (place as a `qmd://` URI, text)."""
        return contexts.list_contexts(self.config)

    def undescribed(self) -> list[tuple[str, int]]:
        """Collections and their top folders without a context: (place as a `qmd://` URI, documents)."""
        from qmd.engine.indexing import collections

        return collections.undescribed(self.config, self.documents())

    def _context_place(self, target: str) -> tuple[str | None, str]:
        from qmd.engine.indexing import collections

        return collections.context_target(self.config, target)

    # -- indexing ------------------------------------------------------------------------------------------

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
        """Bring collections (all, where none is named) up to date with their folders.

        `pull`: first `git pull --ff-only` if a folder is in a git work tree. `commands`: first run the
        collections' own update commands. A folder that is missing is an `error` in its report, and its
        documents stay. What a project asks for without approval is left out: see `trust`.

        `allow_empty`: also remove what a mistake would explain as well: all documents of a folder that is
        empty or was replaced by another one, and collections that the configuration no longer names if it
        names none, or if the index belongs to another configuration. Otherwise the former is an `error` in
        the report, and the latter raises `ConfigError`.
        """
        from qmd.engine.indexing import scan

        config = self.config
        for name in collections:
            self.collection(name)
        self._refuse_to_empty(allow_empty)
        self._sync(drop=allow_empty)
        chosen = [each for each in config.collections.values() if not collections or each.name in collections]
        reports = []
        for report in scan.scan_all(
            self._store,
            chosen,
            pulling=pull,
            unpulled=self.trust.unpulled() if pull else None,
            commands=commands,
            owner=self.locations.config,
            allow_empty=allow_empty,
            on_progress=on_progress,
        ):
            reports.append(report)
            if on_report is not None:
                on_report(report)
        if not collections and not any(report.error for report in reports):
            # A text may have moved from one collection to another: only now is it known to be gone.
            self._store.prune()
        self._store.refresh_statistics()
        return reports

    def _refuse_to_empty(self, allow_empty: bool = False) -> None:
        """A configuration that went away is no wish to forget everything. Raises `ConfigError`."""
        path = self.locations.config
        if self._read().collections:
            return
        held = [name for name, stats in self._store.collection_stats().items() if stats.documents]
        if held and not os.path.exists(path):
            raise ConfigError(
                f"{path} is missing, and the index holds documents of: {', '.join(held)}",
                f"put it back; to begin anew, delete {self._store.location}",
            )
        if held and not allow_empty:
            raise ConfigError(
                f"{path} names no collections, and the index holds documents of: {', '.join(held)}",
                "correct it; to remove them from the index, run 'qmd update --allow-empty'",
            )

    def embed(
        self,
        collections: Sequence[str] = (),
        *,
        force: bool = False,
        workers: int = 1,
        on_progress: batches.OnProgress | None = None,
    ) -> batches.EmbedReport:
        """Make the vectors that are missing; `force`: make all of them anew. `workers`: by so many processes.

        Where another model's vectors are there, they answer until every text has new ones.

        Raises `AlreadyRunningError` if another process is at it, `ModelError` if there is no embedder.
        """
        from qmd.engine.embedding import active_vectors, batches
        from qmd.engine.models import egress

        local = egress.local_only(self.config, self.roles, "embed")
        scope = Scope(egress.allowed(self._scope(collections).collections, local))
        egress.disclose(self._store, self.roles, "embed")
        with batches.embedding_lock(self.locations.index) as crew:
            self._store.release(crew)
            into = self.roles.vector_set
            if force:
                self._store.drop_vectors(scope, into.fingerprint)
            if workers > 1:
                from qmd.engine.embedding.workers import Task
                from qmd.engine.embedding.workers import embed as embed_together

                task = Task(self.locations, dict(self._environ), scope.collections)
                threads = self.settings.threads
                report = embed_together(self._store, task, into, crew, workers, threads, on_progress)
            else:
                worker, lease = batches.worker_name(crew), self.settings.embed_lease_seconds
                embedder = self.roles.embedder
                report = batches.embed(self._store, embedder, into, scope, worker, lease, on_progress)
            # Not this view's own: vectors of what it does not see stay until they are replaced as well.
            return active_vectors.finish(self._store, Index._permitted(self), self.config, self.roles, report)

    def embed_share(
        self, collections: Sequence[str], worker: str, on_share: Callable[[batches.Share], None]
    ) -> None:
        """Embed, as one worker of several, what no other holds; see `workers`."""
        from qmd.engine.embedding import batches

        scope, lease = Scope(tuple(collections)), self.settings.embed_lease_seconds
        embedder, into = self.roles.embedder, self.roles.vector_set
        for share in batches.shares(self._store, embedder, into, scope, worker, lease):
            on_share(share)

    def embed_texts(self, texts: Sequence[str], *, cancelled: Cancelled | None = None) -> NDArray[np.float32]:
        """Vectors of texts that are in no document; see `embedding.embed_texts`."""
        from qmd.engine.embedding import batches
        from qmd.engine.models import egress

        egress.disclose(self._store, self.roles, "embed")
        return batches.embed_texts(self.roles.embedder, texts, cancelled)

    def _scope(self, collections: Sequence[str]) -> Scope:
        config = self.config
        collections_of(config, collections)
        return Scope(tuple(collections) or tuple(config.collections))

    # -- search --------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        limit: int | None = DEFAULT_LIMIT,
        min_score: float = 0.0,
        collections: Sequence[str] = (),
        author: str | None = None,
        after: str | None = None,
        before: str | None = None,
        explain: bool = False,
        full: bool = False,
    ) -> SearchResponse:
        """Full-text search by BM25. `limit` None returns all; `full` fills in the hits' `body`.

        `author`, `after` (included) and `before` (not included) filter; a date may be a part of one,
        `2024-06`. They can also be typed in the query, `author:"two words" after:2024`; those given here
        count before that.

        Raises `UsageError` for values that mean nothing and `CollectionNotFoundError`.
        """
        return self.run(
            "search",
            SearchRequest(
                query,
                limit,
                min_score,
                tuple(collections),
                explain=explain,
                full=full,
                author=author,
                after=after,
                before=before,
            ),
        )

    def vsearch(
        self,
        query: str,
        *,
        limit: int | None = DEFAULT_LIMIT,
        min_score: float = VECTOR_MIN_SCORE,
        collections: Sequence[str] = (),
        author: str | None = None,
        after: str | None = None,
        before: str | None = None,
        expand: bool = True,
        explain: bool = False,
        full: bool = False,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> SearchResponse:
        """Search by meaning, with the filters of `search`.

        Raises `VectorIndexMissingError` before the first `embed`, else as `search`.
        """
        return self.run(
            "vsearch",
            SearchRequest(
                query,
                limit,
                min_score,
                tuple(collections),
                expand=expand,
                explain=explain,
                full=full,
                timeout=timeout,
                author=author,
                after=after,
                before=before,
            ),
        )

    def query(
        self,
        query: str = "",
        *,
        searches: Sequence[TypedSearch] = (),
        intent: str | None = None,
        limit: int | None = DEFAULT_LIMIT,
        min_score: float = 0.0,
        collections: Sequence[str] = (),
        author: str | None = None,
        after: str | None = None,
        before: str | None = None,
        candidate_limit: int = DEFAULT_CANDIDATES,
        rerank: bool = True,
        expand: bool = True,
        ranking: Ranking | None = None,
        explain: bool = False,
        full: bool = False,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> SearchResponse:
        """Search by words and meaning together, reranked: the best answer there is.

        `query` is a question, or a query document of typed lines; or give `searches`. Filters as in `search`;
        those of a lexical line are about the whole search. What could not run is
        in the answer's `stages`. Raises `QueryError` for a query document that cannot be read, else as
        `search`.
        """
        return self.run(
            "query",
            SearchRequest(
                query,
                limit,
                min_score,
                tuple(collections),
                tuple(searches),
                intent,
                candidate_limit,
                rerank,
                expand,
                ranking,
                explain,
                full,
                timeout,
                author,
                after,
                before,
            ),
        )

    def run(self, kind: str, request: SearchRequest, *, cancelled: Cancelled | None = None) -> SearchResponse:
        """One search, given as a value; `kind` is search, vsearch or query.

        `cancelled` turns true where nobody waits for the answer any more. Raises `CancelledError` then.
        """
        request = request.checked()
        config = self.config
        if kind == "search":
            from qmd.engine.retrieval import keyword_search

            return keyword_search.search(self._store, config, request)
        with self._lock:
            if self._searcher is None:
                from qmd.engine.retrieval.searcher import Searcher

                self._searcher = Searcher(self._store, config, self.roles, self.settings.ranking)
            searcher = self._searcher
        return (searcher.dense if kind == "vsearch" else searcher.hybrid)(request, cancelled)

    def why(self, reference: str, kind: Kind, request: SearchRequest) -> Why:
        """Why a document, or a file on disk, is or is not among the results of a search.

        `reference` is anything that `get` takes, or the path of a file. Raises as `get` does where it is
        neither, and as the search does, but for `VectorIndexMissingError`, which is an answer.
        """
        from qmd.engine.explain.explainer import Explainer

        lookup = self._lookup()
        return Explainer(self._store, self.config, self.roles, lookup, self.run).answer(
            reference, kind, request
        )

    def absence(self, reference: str) -> Absence | None:
        """Why a file on disk is not in the index; None if the reference names no such file.

        `reference` is a path on disk, or what `get` would take if the file were indexed.
        """
        lookup = self._lookup()
        try:
            found = lookup.find(reference)
        except QmdError:  # neither a document nor a file
            return None
        return lookup.absence(found) if isinstance(found, str) else None

    def _lookup(self) -> Lookup:
        from qmd.engine.explain.lookup import Lookup

        refused = {each.name: each.value for each in self.trust.unapproved({"path"})}
        return Lookup(self._store, self.config, self._library(), refused)

    def evaluate(
        self, benchmark: benchmarking.Benchmark, on_progress: modes.OnProgress | None = None
    ) -> modes.Evaluation:
        """Measure how well the ways to search answer questions whose answers are known.

        A fixture file is asked of this index; a folder in BEIR layout of an index of its own, with this one's
        models. Raises `SourceError` for a fixture that cannot be read, `UsageError` for a benchmark that
        means nothing, `CollectionNotFoundError`, and `NotFoundError` where there is nothing to search.
        """
        from qmd.engine.evaluation import benchmarking

        return benchmarking.evaluate(self, self._environ, benchmark, on_progress)

    # -- documents -----------------------------------------------------------------------------------------

    def get(self, reference: str, *, from_line: int | None = None, max_lines: int | None = None) -> Page:
        """One document; see `Library.get`."""
        return self._library().get(reference, from_line, max_lines)

    def multi_get(
        self,
        pattern: str,
        *,
        max_lines: int | None = None,
        max_bytes: int | None = DEFAULT_MAX_BYTES,
        cancelled: Cancelled | None = None,
        max_total: int | None = None,
    ) -> Pages:
        """Many documents; see `Library.multi_get`."""
        return self._library().multi_get(pattern, max_lines, max_bytes, cancelled, max_total)

    def documents(self, target: str | None = None) -> list[Document]:
        """Documents of a collection or a folder of one, all where `target` is None."""
        return self._library().listing(target)

    def authors(self, collections: Sequence[str] = ()) -> list[Author]:
        """Whose documents there are in collections (those searched, where none is named), by name.

        One author is one spelling, whatever the case. Raises `CollectionNotFoundError`.
        """
        from qmd.engine.documents import authors

        return authors.list_authors(self._store, collections_of(self.config, collections))

    def _library(self) -> Library:
        from qmd.engine.documents.library import Library

        return Library(self._store, self.config)

    # -- state ---------------------------------------------------------------------------------------------

    def indexed_at(self, collections: Sequence[str] = ()) -> str | None:
        """When collections (those searched, where none is named) were last scanned: the oldest scan of them.

        ISO 8601 in UTC; None where one was never scanned. Changes on disk since then are in no answer.
        """
        scans = self._store.last_scans()
        moments = [scans.get(name) for name in collections_of(self.config, collections)]
        known = [moment for moment in moments if moment is not None]
        return min(known) if known and len(known) == len(moments) else None

    def status(self) -> Status:
        """What there is. Reads only."""
        from qmd.engine.upkeep import status

        notes = [*self.notes, *self.trust.notes()]
        if os.path.basename(self._store.location) == _BESIDE:
            notes.append("the default index file belongs to another program: this one stands beside it")
        ranking = self.settings.ranking or DEFAULT_RANKING
        return status.gather(self._store, self.config, self.roles, ranking, notes)

    def models(self) -> tuple[ModelUse, ...]:
        """Which model each role uses, and what is on this machine of it. Reads only, and loads nothing."""
        from qmd.engine.models.usage import models

        return models(self.settings, cache_dir(self._environ))

    def pullable(self, names: Sequence[str] = ()) -> list[ModelCard]:
        """The models that `pull` can fetch; see `pulling.select`."""
        from qmd.engine.models import pulling

        return pulling.select(self.settings, names)

    def pull(self, card: ModelCard, *, on_bytes: OnBytes = lambda done, total: None) -> Download:
        """Fetch a model's file. Raises `ModelError`, and `BusyError` where another process is at it."""
        from qmd.engine.models import pulling

        return pulling.pull(card, cache_dir(self._environ), self._environ, on_bytes)

    def copy_store(
        self, source: str, target: str, *, on_progress: copying.OnProgress = lambda *_: None
    ) -> CopyReport:
        """Copy what one store holds to another, without embedding anything; see `copying.between`."""
        from qmd.engine.upkeep import copying

        return copying.between(source, target, self.config, self._environ, on_progress)

    def export_models(
        self, path: str, names: Sequence[str] = (), *, on_bytes: OnBytes = lambda done, total: None
    ) -> list[BundledModel]:
        """Put fetched models into one new file, for a machine without a network; see `pulling.export`."""
        from qmd.engine.models import pulling

        return pulling.export(self.settings, path, names, cache_dir(self._environ), on_bytes)

    def import_models(
        self, path: str, *, on_bytes: OnBytes = lambda done, total: None
    ) -> list[ImportedModel]:
        """Have the models of such a file on this machine; see `bundle.import_`."""
        from qmd.engine.models import pulling

        return pulling.import_(path, cache_dir(self._environ), on_bytes)

    def doctor(self, *, on_step: OnStep = lambda _: None) -> tuple[Finding, ...]:
        """Look for what is wrong, from the program to the vectors. Changes nothing.

        `on_step` is told before what takes long. Where an index cannot be opened, ask
        `qmd.engine.doctor.diagnose`.
        """
        from qmd.engine import doctor

        return tuple(doctor.examine(self.locations, self._environ, on_step))

    def cleanup(self, *, dry_run: bool = False, on_step: OnStep = lambda _: None) -> CleanupReport:
        """Throw away what nothing uses any more: see `CleanupReport`. `dry_run`: only find it.

        Each kind goes in a transaction of its own; others may read, and write in between. `on_step` is told
        what is being done.
        """
        from qmd.engine.upkeep import cleanup

        return cleanup.clean(
            self._store, self._read(), self.roles, cache_dir(self._environ), dry_run=dry_run, on_step=on_step
        )

    def backup(
        self,
        target: str | None = None,
        *,
        force: bool = False,
        on_pages: OnPages = lambda done, total: None,
    ) -> Backup:
        """Copy the index and its configuration to one file, while others write; see `backup.make`."""
        from qmd.engine.upkeep import backup

        return backup.make(self._store, self.locations, target, force=force, on_pages=on_pages)


def unknown_keys(config: Config) -> list[str]:
    """A note on the keys of a configuration that have no meaning, if there are any."""
    named = [
        f"line {each.line} '{each.key}'" + (f" (did you mean '{each.nearest}'?)" if each.nearest else "")
        for each in config.unknown_keys[:_UNKNOWN_KEYS]
    ]
    if not named:
        return []
    more = len(config.unknown_keys) - len(named)
    rest = f", and {more:,} more" if more else ""
    return [f"{config.path} has keys without a meaning, which are ignored: {', '.join(named)}{rest}"]


def beside_foreign(locations: Locations) -> Locations:
    """The same, with another index file where another program's is at the default place (E1).

    A file that is no database is none of another program's: more likely it is ours, and damaged.
    """
    if not locations.is_default_index or belongs_to_us(locations.index):
        return locations
    beside = os.path.join(os.path.dirname(locations.index), _BESIDE)
    if not is_database(locations.index) and not os.path.exists(beside):
        return locations
    return replace(locations, index=beside)


def open_index(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    name: str | None = None,
    store: str | None = None,
    environ: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Index:
    """Open an index; it is made where there is none.

    `path` is the index file; its configuration is `config`, by default the file beside it with the ending
    `.yml`. Without a path, the same index as the command line uses (`name` as with `--index`). `store` is the
    address of a store that is used instead of the file, such as `milvus://localhost:19530`. `progress` is
    told, in a line, of work that takes long.

    Raises `ForeignIndexError` for a file that another program made, `ConfigError` for a broken configuration,
    `StoreError` where the file cannot be used.
    """
    variables = os.environ if environ is None else environ
    if path is not None:
        file = os.path.abspath(os.fspath(path))
        beside = os.path.splitext(file)[0] + ".yml"
        chosen = os.path.abspath(os.fspath(config)) if config is not None else beside
        locations = Locations(file, chosen, is_default_index=False)
    else:
        locations = locate(name, variables, os.getcwd())
        if config is not None:
            # A file that the caller names is not the project's own.
            chosen = os.path.abspath(os.fspath(config))
            locations = replace(locations, config=chosen, project=None)
    return Index(at(locations, store), environ=variables, progress=progress)

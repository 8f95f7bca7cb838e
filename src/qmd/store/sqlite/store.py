"""The SQLite store: an index in one file. The default."""

from __future__ import annotations

import os

from qmd.store.sqlite.collections import Collections
from qmd.store.sqlite.copying import Copying
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.documents import Documents
from qmd.store.sqlite.leases import Leases
from qmd.store.sqlite.lexical import Lexical
from qmd.store.sqlite.upkeep import Upkeep
from qmd.store.sqlite.vector_sets import VectorSets
from qmd.store.sqlite.vectors import Vectors


class SqliteStore:
    """An index in one file. The methods of `Store` are those of the parts, bound in `__init__`.

    Raises:
        StoreError: If the file cannot be used or is damaged.
        ForeignIndexError: If another program or a newer version wrote the file.
    """

    def __init__(self, path: str, *, busy_timeout_ms: int = 120_000) -> None:
        self._database = database = Database(path, busy_timeout_ms=busy_timeout_ms)
        self.close = database.close

        collections = Collections(database)
        self.sync = collections.sync
        self.config_copy = collections.config_copy
        self.collection_stats = collections.collection_stats
        self.last_scans = collections.last_scans
        self.rename_collection = collections.rename_collection
        self.remove_collection = collections.remove_collection
        self.finish_scan = collections.finish_scan
        self.last_root = collections.last_root
        self.cache_get = collections.cache_get
        self.cache_put = collections.cache_put
        self.cache_items = collections.cache_items

        documents = Documents(database)
        self.manifest = documents.manifest
        self.apply = documents.apply
        self.prune = documents.prune
        self.refresh_statistics = documents.refresh_statistics
        self.documents = documents.documents
        self.texts = documents.texts
        self.find = documents.find
        self.ending_with = documents.ending_with
        self.path_contains = documents.path_contains
        self.by_hash = documents.by_hash
        self.listing = documents.listing

        self.lexical = Lexical(database).lexical

        vectors = Vectors(database)
        self.dense = vectors.dense
        self.similarities = vectors.similarities
        self.has_vectors = vectors.has_vectors
        self.pending_count = vectors.pending_count
        self.pending_sizes = vectors.pending_sizes
        self.pending = vectors.pending
        self.add_vectors = vectors.add_vectors
        self.sample = vectors.sample
        self.token_frequencies = vectors.token_frequencies

        sets = VectorSets(database, vectors)
        self.drop_vectors = sets.drop_vectors
        self.activate_vectors = sets.activate_vectors
        self.vector_sets = sets.vector_sets
        self.chunk_counts = sets.chunk_counts

        leases = Leases(database)
        self.lease = leases.lease
        self.release = leases.release

        copying = Copying(database)
        self.vectors_of = copying.vectors_of
        self.all_token_frequencies = copying.all_token_frequencies
        self.import_statistics = copying.import_statistics

        upkeep = Upkeep(database)
        self.faults = upkeep.faults
        self.waste = upkeep.waste
        self.clear = upkeep.clear
        self.backup = upkeep.backup

    @property
    def location(self) -> str:
        """The path of the file."""
        return self._database.path

    def size(self) -> int:
        """Return the bytes on disk, including the write-ahead log."""
        return sum(
            os.path.getsize(path) for path in (self.location, self.location + "-wal") if os.path.exists(path)
        )

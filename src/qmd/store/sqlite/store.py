"""The default store: one SQLite file, put together from its parts."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from qmd.store.base import LexicalMatches, Scope
from qmd.store.sqlite.collections import CollectionsPart
from qmd.store.sqlite.copying import CopyingPart
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.documents import DocumentsPart
from qmd.store.sqlite.leases import LeasesPart
from qmd.store.sqlite.lexical import Lexical
from qmd.store.sqlite.scope_filter import narrowed
from qmd.store.sqlite.upkeep import UpkeepPart
from qmd.store.sqlite.vector_sets import SetsPart
from qmd.text.query import LexicalQuery


class SqliteStore(CollectionsPart, DocumentsPart, SetsPart, LeasesPart, CopyingPart, UpkeepPart):
    """An index in one file. Raises `StoreError` and `ForeignIndexError` as `Database` does."""

    def __init__(self, path: str, *, busy_timeout_ms: int = 120_000) -> None:
        self._database = Database(path, busy_timeout_ms=busy_timeout_ms)
        self._local = threading.local()
        self._blocks = OrderedDict()
        self._leased_to = {}
        self._frequencies = {}
        self._resident = 0
        self._block_lock = threading.Lock()

    @property
    def location(self) -> str:
        """The file's path."""
        return self._database.path

    def size(self) -> int:
        """Bytes on disk, the write-ahead log included."""
        return sum(
            os.path.getsize(path) for path in (self.location, self.location + "-wal") if os.path.exists(path)
        )

    def lexical(
        self, query: LexicalQuery, scope: Scope, limit: int, *, longer: bool = True
    ) -> LexicalMatches:
        """The best documents by BM25; `longer`: where they are too few, also those with longer words."""
        with self._database.snapshot() as db:
            engine: Lexical | None = getattr(self._local, "lexical", None)
            if engine is None or engine.db is not db:
                engine = self._local.lexical = Lexical(db)
            counted = None
            if scope.population is not None:
                counted = self._collection_ids(Scope(scope.population))
            return engine.search(query, narrowed(db, self._within(scope)), limit, longer, counted)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

"""What the parts of the SQLite store share: the database, and its collections' ids."""

from __future__ import annotations

from qmd.errors import CollectionNotFoundError
from qmd.store.base import Scope
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.scope_filter import Within, within


class Part:
    """Base of the store's parts."""

    _database: Database

    def _collection_ids(self, scope: Scope) -> list[int]:
        """Ids of a scope's collections; those that were never indexed are left out."""
        with self._database.errors():
            known = dict(self._database.connection().execute("SELECT name, id FROM collections"))
        return [known[name] for name in scope.collections if name in known]

    def _within(self, scope: Scope) -> Within:
        return within(scope, self._collection_ids(scope))

    def _collection_id(self, name: str) -> int:
        with self._database.errors():
            found = self._database.connection().execute("SELECT id FROM collections WHERE name = ?", (name,))
            row = found.fetchone()
        if row is None:
            raise CollectionNotFoundError(f"no such collection in the index: {name}", "run 'qmd index' first")
        return int(row[0])

"""Collections, the copy of the configuration, and the cache of model answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import apsw

from qmd.config.contexts import list_contexts
from qmd.errors import ConflictError
from qmd.store.base import CollectionStats
from qmd.store.records import (
    CACHE_ROWS,
    now,
    other_owner,
    pack,
    refuse_to_drop,
    renamed,
    reread,
    unpack,
)
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.documents import drop_documents
from qmd.types import Config


class Collections:
    """The collections of the index, kept in line with the configuration."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def sync(self, config: Config, *, drop: bool = False) -> None:
        """Make the collections match the configuration; see `DocumentStore.sync`."""
        # The copy of a version with other configuration fields differs, and is replaced.
        if self.config_copy(config.path, config.digest) == config:
            return
        with self._database.transaction() as db:
            # Another process may have changed the file, and synced, while this one waited.
            config = reread(config)
            existing = db.execute("SELECT name, path, pattern FROM collections ORDER BY id")
            for old, new in renamed(existing, config).items():
                db.execute("UPDATE collections SET name = ? WHERE name = ?", (new, old))
            if not drop:
                self._refuse_other_owner(db, config)
            for name, identity in list(db.execute("SELECT name, id FROM collections")):
                if name not in config.collections:
                    drop_documents(db, identity)
                    db.execute("DELETE FROM collections WHERE id = ?", (identity,))
            for collection in config.collections.values():
                db.execute(
                    "INSERT INTO collections (name, path, pattern, include_by_default) VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (name) DO UPDATE SET path = excluded.path, pattern = excluded.pattern, "
                    "include_by_default = excluded.include_by_default",
                    (collection.name, collection.path, collection.pattern, collection.include_by_default),
                )
            # Not read here: for those who look into the file with other programs.
            db.execute("DELETE FROM path_contexts")
            db.executemany("INSERT OR REPLACE INTO path_contexts VALUES (?, ?)", list_contexts(config))
            db.execute("INSERT OR REPLACE INTO meta VALUES ('config', ?)", (config.digest,))
            db.execute("INSERT OR REPLACE INTO meta VALUES ('config copy', ?)", (pack(config),))

    def _refuse_other_owner(self, db: apsw.Connection, config: Config) -> None:
        copy = db.execute("SELECT value FROM meta WHERE key = 'config copy'").fetchone()
        owner = other_owner(str(copy[0]) if copy else None, config)
        if owner is not None:
            filled = db.execute(
                "SELECT name FROM collections c "
                "WHERE EXISTS (SELECT 1 FROM documents d WHERE d.collection_id = c.id) ORDER BY name"
            )
            names = [name for (name,) in filled if name not in config.collections]
            refuse_to_drop(owner, config, names)

    def config_copy(self, path: str, digest: str) -> Config | None:
        """Return the configuration of the last `sync`, or None if its file has changed since."""
        with self._database.errors():
            row = (
                self._database.connection()
                .execute(
                    "SELECT c.value FROM meta d JOIN meta c ON c.key = 'config copy' "
                    "WHERE d.key = 'config' AND d.value = ?",
                    (digest,),
                )
                .fetchone()
            )
        return unpack(str(row[0]), path) if row else None

    def collection_stats(self) -> Mapping[str, CollectionStats]:
        """Return the size and the last scan of each collection by name."""
        with self._database.errors():
            rows = self._database.connection().execute(
                "SELECT c.name, count(d.id), coalesce(sum(t.bytes), 0), c.updated_at FROM collections c "
                "LEFT JOIN documents d ON d.collection_id = c.id LEFT JOIN contents t ON t.id = d.content_id "
                "GROUP BY c.id"
            )
            return {name: CollectionStats(count, size, updated) for name, count, size, updated in rows}

    def last_scans(self) -> Mapping[str, str | None]:
        """Return the time of each collection's last scan, ISO 8601 in UTC; None before the first scan."""
        with self._database.errors():
            rows = self._database.connection().execute("SELECT name, updated_at FROM collections")
            return dict(rows)

    def rename_collection(self, old: str, new: str) -> None:
        """Rename a collection; its documents keep their ids."""
        with self._database.transaction() as db:
            if not db.execute("SELECT 1 FROM collections WHERE name = ?", (old,)).fetchone():
                return  # another process read the new configuration and renamed it
            if db.execute("SELECT 1 FROM collections WHERE name = ?", (new,)).fetchone():
                raise ConflictError(f"a collection named {new} already exists")
            db.execute("UPDATE collections SET name = ? WHERE name = ?", (new, old))
            _forget_config(db)

    def remove_collection(self, name: str) -> int:
        """Drop a collection with its documents and return the number of documents."""
        with self._database.transaction() as db:
            row = db.execute("SELECT id FROM collections WHERE name = ?", (name,)).fetchone()
            if row is None:
                return 0
            dropped = drop_documents(db, row[0])
            db.execute("DELETE FROM collections WHERE id = ?", (row[0],))
            _forget_config(db)
            return dropped

    def finish_scan(self, collection: str, root: str = "") -> None:
        """Record that a collection was scanned; see `DocumentStore.finish_scan`."""
        with self._database.transaction() as db:
            db.execute(
                "UPDATE collections SET updated_at = ?, root = ? WHERE name = ?",
                (now(), root or None, collection),
            )

    def last_root(self, collection: str) -> str | None:
        """Return the `root` of a collection's last scan, or None if it had none."""
        with self._database.errors():
            row = (
                self._database.connection()
                .execute("SELECT root FROM collections WHERE name = ?", (collection,))
                .fetchone()
            )
        return str(row[0]) if row and row[0] is not None else None

    def cache_get(self, key: str) -> str | None:
        """Return the cached answer for a key."""
        with self._database.errors():
            row = (
                self._database.connection()
                .execute("SELECT value FROM llm_cache WHERE key = ?", (key,))
                .fetchone()
            )
        return str(row[0]) if row else None

    def cache_items(self) -> Iterator[tuple[str, str]]:
        """Return all cached keys and answers."""
        with self._database.errors():
            rows = self._database.connection().execute("SELECT key, value FROM llm_cache ORDER BY key")
            for key, value in rows:
                yield str(key), str(value)

    def cache_put(self, answers: Mapping[str, str]) -> None:
        """Cache answers by key. The oldest answers make room if there are too many."""
        with self._database.transaction() as db:
            moment = now()
            db.executemany(
                "INSERT OR REPLACE INTO llm_cache VALUES (?, ?, ?)",
                ((key, value, moment) for key, value in answers.items()),
            )
            (count,) = db.execute("SELECT count(*) FROM llm_cache").fetchone() or (0,)
            if count > CACHE_ROWS:
                db.execute(
                    "DELETE FROM llm_cache WHERE key IN "
                    "(SELECT key FROM llm_cache ORDER BY created_at LIMIT ?)",
                    (count - CACHE_ROWS * 3 // 4,),
                )


def _forget_config(db: apsw.Connection) -> None:
    """Make the next `sync` compare everything, because the collections have changed since the last one."""
    db.execute("DELETE FROM meta WHERE key = 'config'")

"""Collections, the copy of the configuration, and the cache of model answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager

from qmd.config.contexts import list_contexts
from qmd.store import base
from qmd.store.collections import Fields, StoredCollections
from qmd.store.records import CACHE_ROWS
from qmd.store.sqlite.database import SqlitePart
from qmd.store.sqlite.documents import drop_documents
from qmd.store.values import CollectionStats
from qmd.types import Config
from qmd.types.clock import now

_FIELDS = ("name", "path", "pattern", "include_by_default", "updated_at", "root")


class Collections(SqlitePart, StoredCollections):
    """Rows of the table `collections`."""

    _configured = ("name", "path", "pattern", "include_by_default")

    def stats(self) -> Mapping[str, CollectionStats]:
        rows = self._database.rows(
            "SELECT c.name, count(d.id), coalesce(sum(t.bytes), 0), c.updated_at FROM collections c "
            "LEFT JOIN documents d ON d.collection_id = c.id LEFT JOIN contents t ON t.id = d.content_id "
            "GROUP BY c.id"
        )
        return {name: CollectionStats(*stats) for name, *stats in rows}

    def _writing(self) -> AbstractContextManager[object]:
        return self._database.transaction()

    def _rows(self, strong: bool = False) -> dict[int, Fields]:
        rows = self._database.rows(f"SELECT id, {', '.join(_FIELDS)} FROM collections ORDER BY id")
        return {identity: dict(zip(_FIELDS, values, strict=True)) for identity, *values in rows}

    def _add(self, fields: Fields, taken: Iterable[int]) -> None:
        self._database.execute(
            f"INSERT INTO collections ({', '.join(fields)}) VALUES ({', '.join('?' * len(fields))})",
            tuple(fields.values()),
        )

    def _put(self, identity: int, fields: Fields) -> None:
        columns = ", ".join(f"{field} = ?" for field in fields)
        self._database.execute(f"UPDATE collections SET {columns} WHERE id = ?", (*fields.values(), identity))

    def _drop(self, identity: int) -> int:
        dropped = drop_documents(self._database.connection(), identity)
        self._database.execute("DELETE FROM collections WHERE id = ?", (identity,))
        return dropped

    def _config(self, strong: bool = False) -> tuple[str | None, str | None]:
        values = dict(
            self._database.rows("SELECT key, value FROM meta WHERE key IN ('config', 'config copy')")
        )
        return values.get("config"), values.get("config copy")

    def _put_config(self, config: Config, packed: str) -> None:
        db = self._database.connection()
        # Not read here: for those who look into the file with other programs.
        db.execute("DELETE FROM path_contexts")
        db.executemany("INSERT OR REPLACE INTO path_contexts VALUES (?, ?)", list_contexts(config))
        values = [("config", config.digest), ("config copy", packed)]
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)

    def _forget_config(self) -> None:
        self._database.execute("DELETE FROM meta WHERE key = 'config'")


class Answers(SqlitePart, base.Answers):
    """Rows of the table `llm_cache`."""

    def get(self, key: str) -> str | None:
        answer: str | None = self._database.value("SELECT value FROM llm_cache WHERE key = ?", (key,))
        return answer

    def items(self) -> Iterator[tuple[str, str]]:
        return self._database.rows("SELECT key, value FROM llm_cache ORDER BY key")

    def put(self, answers: Mapping[str, str]) -> None:
        with self._database.transaction() as db:
            moment = now()
            db.executemany(
                "INSERT OR REPLACE INTO llm_cache VALUES (?, ?, ?)",
                ((key, value, moment) for key, value in answers.items()),
            )
            count = db.execute("SELECT count(*) FROM llm_cache").get
            if count > CACHE_ROWS:
                db.execute(
                    "DELETE FROM llm_cache WHERE key IN "
                    "(SELECT key FROM llm_cache ORDER BY created_at LIMIT ?)",
                    (count - CACHE_ROWS * 3 // 4,),
                )

"""Which store an index has: a SQLite file, or what an address names. Only that one is imported."""

from __future__ import annotations

from collections.abc import Mapping

from qmd.store.base import Store


def open_store(
    path: str, url: str | None, environ: Mapping[str, str], *, busy_timeout_ms: int = 120_000
) -> Store:
    """The store at an address, else the file at `path`. Raises `ConfigError` for what is no address."""
    if url is not None:
        from qmd.store.milvus.store import MilvusStore

        return MilvusStore(url, environ)
    from qmd.store.sqlite.store import SqliteStore

    return SqliteStore(path, busy_timeout_ms=busy_timeout_ms)

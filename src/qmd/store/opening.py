"""Opening a store by its address. Only the store in use is imported."""

from __future__ import annotations

from collections.abc import Mapping

from qmd.store.base import Store


def open_store(
    path: str, url: str | None, environ: Mapping[str, str], *, busy_timeout_ms: int = 120_000
) -> Store:
    """Open the store at an address, or the SQLite file at `path` if there is no address.

    Raises:
        ConfigError: If the address is invalid.
    """
    if url is not None:
        from qmd.store.milvus.store import MilvusStore

        return MilvusStore(url, environ)
    from qmd.store.sqlite.store import SqliteStore

    return SqliteStore(path, busy_timeout_ms=busy_timeout_ms)

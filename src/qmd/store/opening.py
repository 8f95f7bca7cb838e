"""Opening a store by its address. Only the store in use is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from qmd.errors import ConfigError
from qmd.plugins import Table
from qmd.store.base import Store


@runtime_checkable
class OpenStore(Protocol):
    """Opens a store. Raises `ConfigError` if the address is invalid."""

    def __call__(self, url: str, environ: Mapping[str, str]) -> Store: ...


#: By the scheme of the address.
STORES = Table("qmd.stores", {}, OpenStore)


def open_store(
    path: str, url: str | None, environ: Mapping[str, str], *, busy_timeout_ms: int = 120_000
) -> Store:
    """Open the store at an address, or the SQLite file at `path` if there is no address.

    Raises:
        ConfigError: If the address is invalid.
        PluginError: If the package that has the store is broken.
    """
    if url is not None:
        scheme, colon, _ = url.partition(":")
        if not colon:
            raise ConfigError(f"'{url}' is not the address of a store", _hint())
        open_it: OpenStore | None = STORES.load(scheme.lower())
        if open_it is None:
            raise ConfigError(f"'{scheme}' is not a known kind of store", _hint())
        return open_it(url, environ)
    from qmd.store.sqlite.store import SqliteStore

    return SqliteStore(path, busy_timeout_ms=busy_timeout_ms)


def _hint() -> str:
    return f"addresses begin with {', '.join(f'{name}://' for name in STORES.names())}; see docs/stores.md"

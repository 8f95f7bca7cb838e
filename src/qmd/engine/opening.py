"""Which store an index has, by what the user, the environment or the configuration says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from qmd.config.index_yml import parse
from qmd.config.paths import Locations
from qmd.config.settings import busy_timeout_ms
from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.types import Config

#: A file without this names no store, and need not be parsed to open one.
_NAMED = re.compile(rb"store[\"']?\s*:")


def address(locations: Locations, config: Config) -> str | None:
    """The address of the store in use, None where it is the file; `config` is what is permitted."""
    return locations.store or config.store


def open_of(locations: Locations, data: bytes, environ: Mapping[str, str]) -> tuple[Store, Config | None]:
    """The store of an index, and its configuration where that had to be read for it.

    `data` are the bytes of the configuration file. Raises `ConfigError`, and as the store does.
    """
    url, written = place_of(locations, data, environ)
    store = open_store(locations.index, url, environ, busy_timeout_ms=busy_timeout_ms(environ))
    return store, written


def place_of(
    locations: Locations, data: bytes, environ: Mapping[str, str]
) -> tuple[str | None, Config | None]:
    """The address of the store in use, None where it is the file; the configuration if that was needed."""
    if locations.store is not None or not _NAMED.search(data):
        return locations.store, None
    # Most files name no store, and need not wait for what reads them.
    from qmd.engine.access.project_trust import Trust

    written = parse(data, locations.config)
    return Trust(locations.project, written, environ).permitted().store, written


def at(locations: Locations, store: str | None) -> Locations:
    """The same with another store, where one is named; a path or a URL as typed."""
    return locations if store is None else replace(locations, store=store)

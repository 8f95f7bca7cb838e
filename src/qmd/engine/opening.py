"""Find the files of an index, and open its store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace

from qmd.config.index_yml import parse
from qmd.config.paths import Locations, locate
from qmd.config.settings import busy_timeout_ms
from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.store.sqlite.opening import belongs_to_us, is_database
from qmd.types import Config

#: Name of the default index file if another program has a file of its own under the usual name.
ALTERNATIVE_INDEX = "index-python.sqlite"
#: A configuration file that does not match this names no store, so it need not be parsed to open one.
_STORE_KEY = re.compile(rb"store[\"']?\s*:")
#: Unknown keys of a configuration that a note lists by name.
_MAX_UNKNOWN_KEYS = 5


def find_locations(
    path: str | os.PathLike[str] | None,
    config: str | os.PathLike[str] | None,
    name: str | None,
    environ: Mapping[str, str],
) -> Locations:
    """Return the files of an index.

    Args:
        path: The index file; None for the index that the command line uses.
        config: The configuration file; by default the file beside `path` that ends with `.yml`.
        name: The name of an index, as with `--index`. Ignored if there is a `path`.
        environ: The environment variables.
    """
    config_path = None if config is None else os.path.abspath(os.fspath(config))
    if path is not None:
        index = os.path.abspath(os.fspath(path))
        beside = os.path.splitext(index)[0] + ".yml"
        return Locations(index, config_path or beside, is_default_index=False)
    locations = locate(name, environ, os.getcwd())
    if config_path is None:
        return locations
    # A configuration file that the caller names does not belong to the project.
    return replace(locations, config=config_path, project=None)


def with_store(locations: Locations, store: str | None) -> Locations:
    """Return the locations with another store, given as a path or URL; None changes nothing."""
    return locations if store is None else replace(locations, store=store)


def beside_foreign(locations: Locations) -> Locations:
    """Use another index file if the default one was made by another program.

    A default file that is no database more likely is a damaged index of ours, so it stays in use.
    """
    if not locations.is_default_index or belongs_to_us(locations.index):
        return locations
    alternative = os.path.join(os.path.dirname(locations.index), ALTERNATIVE_INDEX)
    if not is_database(locations.index) and not os.path.exists(alternative):
        return locations
    return replace(locations, index=alternative)


def store_url(locations: Locations, config: Config) -> str | None:
    """Return the URL of the store, None if it is the index file. `config` must be the permitted one."""
    return locations.store or config.store


def read_store_url(
    locations: Locations, data: bytes, environ: Mapping[str, str]
) -> tuple[str | None, Config | None]:
    """Return the URL of the store, and the configuration if it had to be parsed for that.

    Args:
        locations: The files of the index.
        data: The content of the configuration file.
        environ: The environment variables.
    """
    if locations.store is not None or not _STORE_KEY.search(data):
        return locations.store, None
    # Imported here because most configurations name no store.
    from qmd.engine.access.project_trust import Trust

    written = parse(data, locations.config)
    return Trust(locations.project, written, environ).permitted().store, written


def open_index_store(
    locations: Locations, data: bytes, environ: Mapping[str, str]
) -> tuple[Store, Config | None]:
    """Open the store of an index; also return the configuration if it had to be parsed for that.

    Raises `ConfigError` if the configuration is broken, and the errors of `open_store`.
    """
    url, written = read_store_url(locations, data, environ)
    store = open_store(locations.index, url, environ, busy_timeout_ms=busy_timeout_ms(environ))
    return store, written


def unknown_keys(config: Config) -> list[str]:
    """Return a note on the unknown keys of a configuration, if there are any."""
    keys = [
        f"line {key.line} '{key.key}'" + (f" (did you mean '{key.nearest}'?)" if key.nearest else "")
        for key in config.unknown_keys[:_MAX_UNKNOWN_KEYS]
    ]
    if not keys:
        return []
    more = len(config.unknown_keys) - len(keys)
    rest = f", and {more:,} more" if more else ""
    return [f"{config.path} has unknown keys, which are ignored: {', '.join(keys)}{rest}"]

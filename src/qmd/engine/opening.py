"""Find the files of an index and its store."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping

from msgspec.structs import replace

from qmd.config.index_yml import parse
from qmd.config.locations import Locations, locate
from qmd.config.paths import ALTERNATIVE_INDEX
from qmd.errors import StoreError
from qmd.store.sqlite.opening import belongs_to_us, is_database
from qmd.types import Config

#: A configuration file that does not match this names no store, so it need not be parsed to open one.
_STORE_KEY = rb"store[\"']?\s*:"
#: Unknown keys of a configuration that a note lists by name.
_MAX_UNKNOWN_KEYS = 5


def find_locations(
    environ: Mapping[str, str],
    name: str | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    store: str | None = None,
    folder: str | None = None,
) -> Locations:
    """Return the files of an index; see `open_index`. `name` is ignored if there is a `path`.

    `folder` stands for the working folder.
    """
    config_path = None if config is None else os.path.abspath(os.fspath(config))
    if path is not None:
        index = os.path.abspath(os.fspath(path))
        beside = os.path.splitext(index)[0] + ".yml"
        return Locations(index, config_path or beside, is_default_index=False, store=store)
    locations = locate(name, environ, folder or os.getcwd())
    if config_path is not None:
        # A configuration file that the caller names does not belong to the project.
        locations = replace(locations, config=config_path, project=None)
    return locations if store is None else replace(locations, store=store)


def require_place(path: str) -> None:
    """Raise `StoreError` if no index can be at a path."""
    try:
        reason = None if stat.S_ISREG(os.stat(path).st_mode) else "it is not a file"
    except (FileNotFoundError, PermissionError):  # a missing file is made; what may not be read says so
        return
    except OSError as error:
        reason = error.strerror
    if reason is not None:
        raise StoreError(f"no index can be at {path}: {reason}", "name a file in a folder; it need not exist")


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


def read_store_url(
    locations: Locations, data: bytes, environ: Mapping[str, str]
) -> tuple[str | None, Config | None]:
    """Return the URL of the store, and the configuration if its `data` had to be parsed for that."""
    if locations.store is not None or (b"store" not in data or not re.search(_STORE_KEY, data)):
        return locations.store, None
    # Imported here because most configurations name no store.
    from qmd.engine.access.project_trust import Trust

    written = parse(data, locations.config)
    return Trust(locations.project, written, environ).permitted().store, written


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

"""The file of saved searches, beside `index.yml`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from qmd.config.atomic import locked, replace_file
from qmd.config.index_yml import read_bytes
from qmd.config.locations import Locations
from qmd.errors import ConfigError, UsageError

#: It may come with somebody else's project, so its size is bounded.
_MAX_BYTES = 5_000_000


class SavedSearch(Struct, frozen=True):
    """A saved search.

    Attributes:
        name: Its name.
        command: The command that runs it: `search`, `vsearch` or `query`.
        words: The words after the command.
        query: The query with its filters as they are typed.
        seen: The documents that it has found, by display path.
    """

    name: str
    command: str
    words: tuple[str, ...]
    query: str
    seen: tuple[str, ...] = ()


def saved_path(locations: Locations) -> str:
    """Return the path of the file. Raises `UsageError` for an index that is only read."""
    if locations.portable:
        raise UsageError("searches cannot be saved in a file that is only read")
    return os.path.splitext(locations.config)[0] + ".saved.json"


def read(path: str) -> dict[str, SavedSearch]:
    """Return the saved searches by name. Raises `ConfigError` if the file is broken."""
    data = read_bytes(path, _MAX_BYTES)
    try:
        if len(data) > _MAX_BYTES:
            raise ValueError(f"larger than {_MAX_BYTES // 1_000_000} MB")
        found = msgspec.json.decode(data, type=list[SavedSearch]) if data else []
    except ValueError as error:
        raise ConfigError(f"{path}: {error}", "remove the file: it has saved searches alone") from error
    return {each.name: each for each in found}


@contextmanager
def changed(path: str) -> Iterator[dict[str, SavedSearch]]:
    """Yield the saved searches, and write what they have become."""
    with locked(path) as target:
        saved = read(target)
        yield saved
        data = msgspec.json.encode(sorted(saved.values(), key=lambda each: each.name))
        replace_file(target, msgspec.json.format(data, indent=1) + b"\n", private=True)

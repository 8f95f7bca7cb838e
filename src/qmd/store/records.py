"""Rules that all stores share: timestamps, the copy of the configuration, and refused operations."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Collection as Group
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from qmd.config.index_yml import digest, parse, read_bytes
from qmd.errors import ConfigError, ModelError
from qmd.store.base import Embedded
from qmd.types import Collection, Config, Models, UnknownKey

#: The maximum number of cached model answers.
CACHE_ROWS = 20_000
#: The longest lease in seconds. A lease with a later end was made before the clock was set back.
MAX_LEASE_SECONDS = 3_600.0


def now() -> str:
    """Return the current time as a `timestamp`."""
    return timestamp(datetime.now(UTC))


def timestamp(moment: datetime) -> str:
    """Return a time in UTC as ISO 8601 with milliseconds, so that the strings sort by time."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def pack(config: Config) -> str:
    """Return the configuration as JSON for `unpack`."""
    return json.dumps(dataclasses.asdict(config), ensure_ascii=False)


def unpack(text: str, path: str) -> Config | None:
    """Return a packed configuration, or None if it is damaged or belongs to another file or version."""
    try:
        values = json.loads(text)
        collections = {
            name: Collection(**{**fields, "ignore": tuple(fields["ignore"])})
            for name, fields in values.pop("collections").items()
        }
        unknown = tuple(UnknownKey(**key) for key in values.pop("unknown_keys"))
        models = Models(**values.pop("models"))
        config = Config(**values, collections=collections, models=models, unknown_keys=unknown)
    except (KeyError, TypeError, ValueError):
        return None
    return config if config.path == path else None


def other_owner(copy: str | None, config: Config) -> str | None:
    """Return the path of the configuration that an index belongs to, if it is another file than `config`.

    Args:
        copy: The packed configuration of the last `sync`.
        config: The current configuration.
    """
    try:
        owner = json.loads(copy or "{}").get("path")
    except (AttributeError, ValueError):
        return None
    if not isinstance(owner, str) or "\0" in owner:
        return None
    return owner if os.path.realpath(owner) != os.path.realpath(config.path) else None


def refuse_to_drop(owner: str, config: Config, names: Sequence[str]) -> None:
    """Raise `ConfigError` if collections of another configuration, with documents, would be removed."""
    if names:
        raise ConfigError(
            f"this index belongs to {owner}: {config.path} would remove from it what is indexed of "
            f"{', '.join(names)}",
            "use another index with --index NAME; to remove it, run 'qmd update --allow-empty'",
        )


def reread(config: Config) -> Config:
    """Return the configuration from its file if the file has changed, otherwise `config`.

    Raises:
        ConfigError: If the file is invalid.
    """
    data = read_bytes(config.path)
    return parse(data, config.path) if data and digest(data) != config.digest else config


def renamed(existing: Iterable[tuple[str, str, str]], config: Config) -> dict[str, str]:
    """Find collections that were renamed in the configuration, but not in the index.

    The file was edited by hand, or a command was killed before it reached the index.

    Args:
        existing: (name, path, pattern) of each collection in the index.
        config: The current configuration.

    Returns:
        The new name of each renamed collection by its old name. A renamed collection has the same files.
    """
    rows = list(existing)
    names = {name for name, _, _ in rows}
    added = [collection for collection in config.collections.values() if collection.name not in names]
    new_names: dict[str, str] = {}
    for name, path, pattern in rows:
        match = next((new for new in added if (new.path, new.pattern) == (path, pattern)), None)
        if name not in config.collections and match is not None:
            added.remove(match)
            new_names[name] = match.name
    return new_names


def new_chunks(item: Embedded, stored: Group[int]) -> Embedded | None:
    """Return `item` with only the chunks that should be stored, or None if there are none.

    Args:
        item: Chunks with their vectors.
        stored: Numbers of the text's chunks that already have vectors, up to the chunk after `item`.
    """
    if item.continues and item.chunks[-1].seq + 1 not in stored:
        return None
    new = [at for at, chunk in enumerate(item.chunks) if chunk.seq not in stored]
    if not new or 0 in stored:
        return None
    if len(new) == len(item.chunks):
        return item
    chunks, tokens = [item.chunks[at] for at in new], [item.tokens[at] for at in new]
    return dataclasses.replace(item, chunks=chunks, vectors=item.vectors[new], tokens=tokens)


def other_dimension(name: str, before: int, now: int) -> ModelError:
    """Return the error for a model name that now stands for another model."""
    return ModelError(
        f"the vectors of '{name}' in this index have {before} dimensions, but the model now returns {now}: "
        "it is another model",
        "name the model that was used before, or run 'qmd embed --force'",
    )

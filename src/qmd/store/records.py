"""What stores of every kind write alike: moments, a copy of the configuration, and what they refuse."""

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

#: Answers of models that are kept.
CACHE_ROWS = 20_000
#: No lease lasts longer, in seconds: one that says so was made before the clock was put back.
LONGEST = 3_600.0


def now() -> str:
    """The time, as `written`."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    """A time in UTC as the index keeps it: ISO 8601, to the millisecond, so that texts sort as times do."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def pack(config: Config) -> str:
    """The configuration as text, for `unpack`."""
    return json.dumps(dataclasses.asdict(config), ensure_ascii=False)


def unpack(text: str, path: str) -> Config | None:
    """The configuration of a copy; None for one of another file, of other fields, or damaged."""
    try:
        values = json.loads(text)
        collections = {
            name: Collection(**{**each, "ignore": tuple(each["ignore"])})
            for name, each in values.pop("collections").items()
        }
        unknown = tuple(UnknownKey(**each) for each in values.pop("unknown_keys"))
        models = Models(**values.pop("models"))
        config = Config(**values, collections=collections, models=models, unknown_keys=unknown)
    except (KeyError, TypeError, ValueError):
        return None
    return config if config.path == path else None


def other_owner(copy: str | None, config: Config) -> str | None:
    """The file of the configuration that an index belongs to, if that is another one than `config`.

    `copy` is the configuration as of the last `sync`, as `pack` gives it.
    """
    try:
        owner = json.loads(copy or "{}").get("path")
    except (AttributeError, ValueError):
        return None
    if not isinstance(owner, str) or "\0" in owner:
        return None
    return owner if os.path.realpath(owner) != os.path.realpath(config.path) else None


def refuse_to_drop(owner: str, config: Config, names: Sequence[str]) -> None:
    """Raise `ConfigError` if there are `names`: collections of another configuration's, with documents."""
    if names:
        raise ConfigError(
            f"this index belongs to {owner}: {config.path} would remove from it what is indexed of "
            f"{', '.join(names)}",
            "use another index with --index NAME; to remove it, run 'qmd update --allow-empty'",
        )


def as_of_now(config: Config) -> Config:
    """What the file says now; a file that is gone says nothing. Raises `ConfigError` where it is broken."""
    data = read_bytes(config.path)
    return parse(data, config.path) if data and digest(data) != config.digest else config


def renamed(known: Iterable[tuple[str, str, str]], config: Config) -> dict[str, str]:
    """Old name → new name of collections that are gone where a new one has the same files.

    So they were renamed in the file by hand, or by a command that was killed before it came to the index.
    `known` are (name, path, pattern) of those in the index.
    """
    rows = list(known)
    names = {name for name, _, _ in rows}
    new = [each for each in config.collections.values() if each.name not in names]
    heirs: dict[str, str] = {}
    for name, path, pattern in rows:
        heir = next((each for each in new if (each.path, each.pattern) == (path, pattern)), None)
        if name not in config.collections and heir is not None:
            new.remove(heir)
            heirs[name] = heir.name
    return heirs


def new_chunks(item: Embedded, stored: Group[int]) -> Embedded | None:
    """The chunks of `item` that are to be stored; None if there are none.

    Args:
        item: Chunks with their vectors.
        stored: Numbers of the text's chunks that have vectors; those from `item` on are enough.
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
    """The error for a model behind whose name another one answers by now."""
    return ModelError(
        f"'{name}' made vectors of {before} numbers for this index, and now makes {now}: it is another model",
        "Name the model that was used, or run 'qmd embed --force'.",
    )

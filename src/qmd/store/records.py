"""What stores of every kind write alike: moments, a copy of the configuration, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime

from qmd.errors import ModelError
from qmd.types import Collection, Config, Models

#: Answers of models that are kept.
CACHE_ROWS = 20_000


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
    """The configuration of a copy; None for one of another file, or of a version with other fields."""
    values = json.loads(text)
    try:
        collections = {
            name: Collection(**{**each, "ignore": tuple(each["ignore"])})
            for name, each in values.pop("collections").items()
        }
        config = Config(**{**values, "collections": collections, "models": Models(**values["models"])})
    except (KeyError, TypeError):
        return None
    return config if config.path == path else None


def other_dimension(name: str, before: int, now: int) -> ModelError:
    """The error for a model behind whose name another one answers by now."""
    return ModelError(
        f"'{name}' made vectors of {before} numbers for this index, and now makes {now}: it is another model",
        "Name the model that was used, or run 'qmd embed --force'.",
    )

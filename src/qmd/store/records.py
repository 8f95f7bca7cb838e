"""Rules that all stores share: limits, the chunks to store, and dimensions of vectors."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from msgspec.structs import replace

from qmd.errors import ModelError

if TYPE_CHECKING:
    from qmd.store.values import Embedded

#: The maximum number of cached model answers.
CACHE_ROWS = 20_000
#: The longest lease in seconds. A lease with a later end was made before the clock was set back.
MAX_LEASE_SECONDS = 3_600.0


def new_chunks(item: Embedded, stored: Collection[int]) -> Embedded | None:
    """Return `item` with only the chunks that should be stored, or None if there are none.

    `stored` has the numbers of the text's chunks that already have vectors, up to the chunk after `item`.
    """
    if item.continues and item.chunks[-1].seq + 1 not in stored:
        return None
    new = [at for at, chunk in enumerate(item.chunks) if chunk.seq not in stored]
    if not new or 0 in stored:
        return None
    if len(new) == len(item.chunks):
        return item
    chunks, tokens = [item.chunks[at] for at in new], [item.tokens[at] for at in new]
    return replace(item, chunks=chunks, vectors=item.vectors[new], tokens=tokens)


def other_dimension(name: str, before: int, now: int) -> ModelError:
    """Return the error for a model name that now stands for another model."""
    return ModelError(
        f"the vectors of '{name}' in this index have {before} dimensions, but the model now returns {now}: "
        "it is another model",
        "name the model that was used before, or run 'qmd embed --force'",
    )

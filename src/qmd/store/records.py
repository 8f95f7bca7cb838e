"""Rules that all stores share: limits, the chunks to store, dimensions of vectors, and rows of links."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec.structs import replace

from qmd.errors import ModelError
from qmd.text.link_targets import target_name
from qmd.types import Anchor, Link, LinkKind

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


#: (line, kind, target) of a link, or of an anchor: a link that leads to a place in the document's own file.
LinkRow: TypeAlias = tuple[int, str, str]
#: The kind of links that are anchors.
ANCHOR = "anchor"


def link_rows(links: Iterable[Link], anchors: Iterable[Anchor]) -> list[LinkRow]:
    """Return the rows of a document's links and anchors, in order."""
    rows: list[LinkRow] = [(link.line, link.kind, link.target) for link in links]
    return rows + [(anchor.line, ANCHOR, f"{anchor.kind} {anchor.value}") for anchor in anchors]


def name_of(kind: str, target: str) -> str:
    """Return the name by which the document that a link leads to is found; "" if it leads to none."""
    return "" if kind in ("url", ANCHOR) else target_name(target)


def links_of(rows: Iterable[LinkRow]) -> list[Link]:
    """Return the links of rows. Their texts are not stored."""
    return [Link(target, "", line, cast("LinkKind", kind)) for line, kind, target in rows if kind != ANCHOR]


def anchors_of(rows: Iterable[LinkRow]) -> list[Anchor]:
    """Return the anchors of rows."""
    places = [(line, target.rpartition(" ")) for line, kind, target in rows if kind == ANCHOR]
    return [Anchor(line, kind, int(value)) for line, (kind, _, value) in places]

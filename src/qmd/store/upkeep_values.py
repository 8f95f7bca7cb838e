"""The values of upkeep that pass between a store and the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime

#: Called with a description of each step of a long operation before the step begins.
OnStep = Callable[[str], None]
#: Called with (pages copied, total pages).
OnPages = Callable[[int, int], None]

WasteKind = Literal["answers", "documents", "texts", "vectors", "slots", "segments", "pages"]


class CollectionStats(Struct, frozen=True):
    """The size of a collection in the index, and the time of its last scan (ISO 8601 in UTC)."""

    documents: int
    bytes: int
    updated_at: str | None


class Retention(Struct, frozen=True):
    """The data that a cleanup keeps: collections, vectors of embedders, and cached answers since a moment.

    None for `collections` or `embedders` keeps all of them.
    """

    collections: tuple[str, ...] | None
    embedders: tuple[str, ...] | None
    answers_since: datetime


class Waste(Struct, frozen=True):
    """Data of one kind that an index does not need: number of items and approximate size in bytes."""

    kind: WasteKind
    count: int
    bytes: int


class Fault(Struct, frozen=True):
    """An inconsistency in an index. `hint` says how to repair it."""

    message: str
    hint: str

"""The SQLite store: an index in one file. The default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from qmd.store.sqlite.collections import Answers, Collections
from qmd.store.sqlite.database import Database, Opener
from qmd.store.sqlite.documents import Documents
from qmd.store.sqlite.fields import Fields

if TYPE_CHECKING:
    from qmd.store.sqlite.lexical import Lexical
    from qmd.store.sqlite.pending import PendingTexts
    from qmd.store.sqlite.upkeep import Upkeep
    from qmd.store.sqlite.vector_sets import VectorSets
    from qmd.store.sqlite.vectors import Vectors
    from qmd.store.sqlite.windows import Windows
    from qmd.store.values import OnPages

_Part = TypeVar("_Part")


class SqliteStore:
    """An index in one file.

    Raises:
        StoreError: If the file cannot be used or is damaged.
        ForeignIndexError: If another program or a newer version wrote the file.
    """

    def __init__(self, path: str, *, busy_timeout_ms: int = 120_000, opener: Opener | None = None) -> None:
        self._database = Database(path, busy_timeout_ms=busy_timeout_ms, opener=opener)
        self.collections = self._part(Collections(self._database))
        self.documents = self._part(Documents(self._database))
        self.fields = self._part(Fields(self._database))
        self.answers = self._part(Answers(self._database))

    def _part(self, part: _Part) -> _Part:
        """Return a part as it is handed out."""
        return part

    # A search by words does without the others, reading a document also without it: both start faster.
    @cached_property
    def lexical(self) -> Lexical:
        from qmd.store.sqlite.lexical import Lexical

        return self._part(Lexical(self._database))

    @cached_property
    def vectors(self) -> Vectors:
        from qmd.store.sqlite.vectors import Vectors

        return self._part(Vectors(self._database))

    @cached_property
    def pending(self) -> PendingTexts:
        from qmd.store.sqlite.pending import PendingTexts

        return self._part(PendingTexts(self._database))

    @cached_property
    def vector_sets(self) -> VectorSets:
        from qmd.store.sqlite.vector_sets import VectorSets

        return self._part(VectorSets(self._database, self.pending))

    @cached_property
    def windows(self) -> Windows:
        from qmd.store.sqlite.windows import Windows

        return self._part(Windows(self._database))

    @cached_property
    def upkeep(self) -> Upkeep:
        from qmd.store.sqlite.upkeep import Upkeep

        return self._part(Upkeep(self._database))

    @property
    def location(self) -> str:
        """The path of the file."""
        return self._database.path

    def size(self) -> int:
        """Return the bytes on disk, including the write-ahead log."""
        return sum(
            os.path.getsize(path) for path in (self.location, self.location + "-wal") if os.path.exists(path)
        )

    def backup(self, path: str, notes: Mapping[str, bytes], on_pages: OnPages) -> None:
        """Copy the current state of the index to a new file; see `backup.make`."""
        from qmd.store.sqlite import backup

        backup.make(self._database, path, notes, on_pages)

    def computed(self) -> dict[Any, Any]:
        return self._database.computed()

    def snapshot(self) -> AbstractContextManager[object]:
        return self._database.snapshot()

    def close(self) -> None:
        self._database.close()

"""The operations of a watcher on an open index."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qmd.engine.embedding.unasked import embeds_unasked
from qmd.engine.index import Index
from qmd.engine.indexing.scan import OnChange, ScanReport
from qmd.types import Collection
from qmd.types.cancelling import Cancelled

if TYPE_CHECKING:
    from qmd.engine.embedding.batches import EmbedReport

#: Models that are unused for this many seconds are freed.
_IDLE_SECONDS = 300.0


class IndexWork:
    """The work of a watcher of an index that this process has open; see `Work`.

    It is stopped after the next batch if `cancelled` returns true.
    """

    def __init__(self, index: Index, cancelled: Cancelled) -> None:
        self._opened = index
        self._cancelled = cancelled
        self._models_used_at: float | None = None

    @property
    def _index(self) -> Index:
        return self._opened

    @property
    def index_file(self) -> str:
        return self._index.locations.index

    def collections(self) -> Mapping[str, Collection]:
        return self._index.config.collections

    def embeds(self, collection: Collection) -> bool:
        return embeds_unasked(collection, self._index.model_provider)

    def scan(self, collection: str, within: Sequence[str], on_change: OnChange, *, burst: bool) -> ScanReport:
        return self._index.rescan(collection, within, on_change=on_change, cancelled=self._cancelled)

    def lacks_vectors(self, collections: Sequence[str]) -> bool:
        return self._index.missing_vectors(collections).texts > 0

    def embed(self, collections: Sequence[str]) -> EmbedReport:
        try:
            return self._index.embed(collections, background=True, cancelled=self._cancelled)
        finally:
            self._models_used_at = time.monotonic()

    def rest(self) -> None:
        if self._models_used_at is not None and time.monotonic() - self._models_used_at > _IDLE_SECONDS:
            self._models_used_at = None
            self._index.release_models()

"""The tables that several parts of a store in Milvus use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from qmd.features.milvus.chunks import Chunks
from qmd.features.milvus.client import Reading, Row, StoreClient
from qmd.features.milvus.field_rows import FieldRows
from qmd.features.milvus.garbage import Garbage
from qmd.features.milvus.leases import Leases
from qmd.features.milvus.schema import DOCUMENTS, LIVE
from qmd.features.milvus.scope_filter import Filters
from qmd.features.milvus.state import MilvusState
from qmd.features.milvus.token_stats import TokenStats


class Shared:
    """The client of a store, and the readers and writers of the tables that several parts use."""

    def __init__(self, client: StoreClient) -> None:
        self.client = client
        self.state = MilvusState(client)
        self.chunks = Chunks(client, self.state)
        self.garbage = Garbage(client, self.state, self.chunks)
        self.leases = Leases(client, self.state.writer)
        self.token_stats = TokenStats(client, self.state, self.leases)
        self.field_rows = FieldRows(client, self.state)
        self.filters = Filters(client, self.state, self.field_rows)


class MilvusPart:
    """A part of a store."""

    def __init__(self, shared: Shared) -> None:
        self._client = shared.client
        self._state = shared.state
        self._garbage = shared.garbage
        self._chunks = shared.chunks
        self._leases = shared.leases
        self._token_stats = shared.token_stats
        self._field_rows = shared.field_rows
        self._filters = shared.filters

    def _live(
        self, field: str, values: Iterable[int], columns: Sequence[str], reading: Reading = "fresh"
    ) -> Iterator[Row]:
        """Return the rows of the documents whose `field` is one of `values`."""
        return self._client.among(DOCUMENTS, field, values, columns, where=LIVE, reading=reading)

"""The Milvus store: an index that several machines can share."""

from __future__ import annotations

from collections.abc import Mapping

from qmd.errors import ForeignIndexError, StoreError
from qmd.store.milvus import lite
from qmd.store.milvus.address import parse
from qmd.store.milvus.chunks import Chunks
from qmd.store.milvus.client import Client
from qmd.store.milvus.collections import Answers, Collections
from qmd.store.milvus.documents import Documents
from qmd.store.milvus.field_rows import FieldRows
from qmd.store.milvus.fields import Fields
from qmd.store.milvus.garbage import Garbage
from qmd.store.milvus.leases import Leases
from qmd.store.milvus.lexical import Lexical
from qmd.store.milvus.pending import PendingTexts
from qmd.store.milvus.schema import FORMAT, FORMER, UNRELEASED
from qmd.store.milvus.scope_filter import Filters
from qmd.store.milvus.state import State
from qmd.store.milvus.token_stats import TokenStats
from qmd.store.milvus.upkeep import Upkeep
from qmd.store.milvus.vector_sets import VectorSets
from qmd.store.milvus.vectors import Vectors


class MilvusStore:
    """An index in Milvus. Reading creates nothing: a missing index reads as an empty one.

    Raises:
        ConfigError: If the address is invalid.
        ForeignIndexError: If a newer version wrote the index.
        StoreError: If Milvus cannot be reached or refuses a call, or a version before 1.0.0 wrote the index.
    """

    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        self._address = parse(url, environ)
        self._client = client = Client(self._address)
        self._state = state = State(client)
        garbage = Garbage(client, state)
        chunks = Chunks(client, state)
        leases = Leases(client, state.writer)
        token_stats = TokenStats(client, state, leases)
        rows = FieldRows(client, state)
        filters = Filters(client, state, rows)
        self.fields = Fields(client, state, rows, filters)
        self.documents = Documents(client, state, chunks, rows, garbage)
        self.collections = Collections(client, state, garbage, self.documents)
        self.lexical = Lexical(client, state, rows, filters, self.documents)
        self.pending = PendingTexts(client, filters, self.documents, leases, token_stats)
        self.vector_sets = VectorSets(client, state, filters, self.pending, token_stats)
        self.vectors = Vectors(
            client, state, filters, self.documents, chunks, leases, token_stats, self.vector_sets
        )
        self.answers = Answers(client)
        self.upkeep = Upkeep(client, state, garbage, rows, self.documents, self.vector_sets)
        try:
            self._refuse_other_layouts()
        except BaseException:
            client.close()
            raise

    @property
    def location(self) -> str:
        """The address, without secrets."""
        return self._address.url

    def size(self) -> int:
        """Return the bytes on disk of a Milvus Lite; 0 for a server, whose disk is not visible."""
        return lite.size(self._address.file) if self._address.file is not None else 0

    def close(self) -> None:
        self._client.close()

    def _refuse_other_layouts(self) -> None:
        layout = self._state.get("format")
        if layout in UNRELEASED:
            raise StoreError(
                f"the index at {self.location} was written by a qmd before 1.0.0 (format {layout})",
                "name another store: the index is made from your files alone",
            )
        if layout not in (None, FORMER, FORMAT):
            raise ForeignIndexError(
                f"the index at {self.location} was written by a newer qmd (format {layout})",
                "upgrade qmd-python, or name another store",
            )

"""The Milvus store: an index that several machines can share."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from qmd.errors import ForeignIndexError, StoreError
from qmd.features.milvus import lite
from qmd.features.milvus.address import parse
from qmd.features.milvus.client import StoreClient
from qmd.features.milvus.collections import Answers, Collections
from qmd.features.milvus.documents import Documents
from qmd.features.milvus.fields import Fields
from qmd.features.milvus.lexical import Lexical
from qmd.features.milvus.parts import Shared
from qmd.features.milvus.pending import PendingTexts
from qmd.features.milvus.schema import FORMAT, FORMER, UNRELEASED
from qmd.features.milvus.upkeep import Upkeep
from qmd.features.milvus.vector_sets import VectorSets
from qmd.features.milvus.vectors import Vectors
from qmd.store.base import Windows


class MilvusStore:
    """An index in Milvus. Reading creates nothing: a missing index reads as an empty one.

    Raises:
        ConfigError: If the address is invalid.
        ForeignIndexError: If a newer version wrote the index.
        StoreError: If Milvus cannot be reached or refuses a call, or a version before 1.0.0 wrote the index.
    """

    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        self._address = parse(url, environ)
        self._client = StoreClient(self._address)
        shared = Shared(self._client)
        self._state = shared.state
        self.fields = Fields(shared)
        self.documents = documents = Documents(shared)
        self.collections = Collections(shared, documents)
        self.lexical = Lexical(shared, documents)
        self.pending = PendingTexts(shared, documents)
        self.vector_sets = VectorSets(shared, self.pending)
        self.vectors = Vectors(shared, documents, self.vector_sets)
        self.answers = Answers(shared)
        self.windows = Windows()
        self.upkeep = Upkeep(shared, self.vector_sets)
        try:
            self._refuse_other_layouts()
        except BaseException:
            self._client.close()
            raise

    @property
    def location(self) -> str:
        """The address, without secrets."""
        return self._address.url

    def size(self) -> int:
        """Return the bytes on disk of a Milvus Lite; 0 for a server, whose disk is not visible."""
        return lite.size(self._address.file) if self._address.file is not None else 0

    def computed(self) -> dict[Any, Any]:
        return {}  # other machines may change the index at any time

    def snapshot(self) -> AbstractContextManager[object]:
        return nullcontext()

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

"""The store for more than one machine: a Milvus, put together from its parts."""

from __future__ import annotations

from collections.abc import Mapping

from qmd.errors import ForeignIndexError
from qmd.store.base import LexicalMatches, Scope
from qmd.store.milvus import lite
from qmd.store.milvus.address import parse
from qmd.store.milvus.client import Client
from qmd.store.milvus.collections import CollectionsPart
from qmd.store.milvus.lexical import Lexical
from qmd.store.milvus.schema import FORMAT, FORMER
from qmd.store.milvus.upkeep import UpkeepPart
from qmd.text.query import LexicalQuery
from qmd.types import Config

#: How long a writer that leased no texts keeps others from what it writes, in seconds.
_HELD = 600.0


class MilvusStore(CollectionsPart, UpkeepPart):
    """An index in Milvus. Raises `ConfigError` for an address that is none, `StoreError` as `Client` does.

    What only reads makes nothing: where there is no index yet, it reads as an empty one.
    """

    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        super().__init__()
        self._address = parse(url, environ)
        self._client = Client(self._address)
        self._vocabulary = set()
        self._queue = None
        self._shifts, self._lanes = {}, {}
        self._worker, self._seconds = self._writer, _HELD
        try:
            self._refuse_newer()
        except BaseException:
            self._client.close()
            raise

    @property
    def location(self) -> str:
        """The address, without secrets."""
        return self._address.url

    def size(self) -> int:
        """Bytes on disk of a Milvus Lite; 0 for a server, whose disk is its own."""
        return lite.size(self._address.file) if self._address.file is not None else 0

    def sync(self, config: Config, *, drop: bool = False) -> None:
        """Make the collections and contexts those of the configuration, in an index of this format."""
        if self._state("format", "strong") == FORMER:
            self._put_into_terms_again()
            self._set_states({"format": FORMAT})
        super().sync(config, drop=drop)

    def lexical(
        self, query: LexicalQuery, scope: Scope, limit: int, *, longer: bool = True
    ) -> LexicalMatches:
        """The best documents by BM25; `longer`: where they are too few, also those with longer words."""
        totals = self._totals(scope.population)
        within = self._within(scope)
        if not query.terms or not totals.documents or within is None:
            return LexicalMatches((), 0.0, {})
        population = None
        if scope.population is not None:
            population = self._within(Scope(scope.population))
        return Lexical(self, self._client, totals, within, population).search(query, limit, longer)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def _refuse_newer(self) -> None:
        layout = self._state("format")
        if layout not in (None, FORMER, FORMAT):
            raise ForeignIndexError(
                f"the index at {self.location} was written by a newer qmd (format {layout})",
                "upgrade qmd-python, or name another store",
            )

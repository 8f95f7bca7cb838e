"""The Milvus store: an index that several machines can share."""

from __future__ import annotations

from collections.abc import Mapping

from qmd.errors import ForeignIndexError
from qmd.store.milvus import lite
from qmd.store.milvus.address import parse
from qmd.store.milvus.chunks import Chunks
from qmd.store.milvus.client import Client
from qmd.store.milvus.collections import Collections
from qmd.store.milvus.documents import Documents
from qmd.store.milvus.garbage import Garbage
from qmd.store.milvus.leases import Leases
from qmd.store.milvus.lexical import Lexical
from qmd.store.milvus.schema import FORMAT, FORMER
from qmd.store.milvus.state import State
from qmd.store.milvus.token_stats import TokenStats
from qmd.store.milvus.upkeep import Upkeep
from qmd.store.milvus.vectors import Vectors
from qmd.store.milvus.work_queue import WorkQueue
from qmd.types import Config


class MilvusStore:
    """An index in Milvus. The methods of `Store` are those of the parts, bound in `__init__`.

    Reading creates nothing: a missing index reads as an empty one.

    Raises:
        ConfigError: If the address is invalid.
        ForeignIndexError: If a newer version wrote the index.
        StoreError: If Milvus cannot be reached or refuses a call.
    """

    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        self._address = parse(url, environ)
        self._client = client = Client(self._address)
        self._state = state = State(client)
        garbage = Garbage(client, state)
        chunks = Chunks(client, state)
        leases = Leases(client, state.writer)
        token_stats = TokenStats(client, state, leases)
        self._documents = documents = Documents(client, state, chunks)
        vectors = Vectors(client, state, documents, chunks, leases, token_stats)
        work_queue = WorkQueue(leases, token_stats, vectors)
        self._collections = collections = Collections(client, state, garbage)
        upkeep = Upkeep(client, state, garbage, documents, vectors)

        self.config_copy = collections.config_copy
        self.collection_stats = collections.collection_stats
        self.last_scans = collections.last_scans
        self.rename_collection = collections.rename_collection
        self.remove_collection = collections.remove_collection
        self.finish_scan = collections.finish_scan
        self.last_root = collections.last_root
        self.cache_get = collections.cache_get
        self.cache_put = collections.cache_put
        self.cache_items = collections.cache_items

        self.manifest = documents.manifest
        self.apply = documents.apply
        self.refresh_statistics = documents.refresh_statistics
        self.documents = documents.documents
        self.texts = documents.texts
        self.find = documents.find
        self.ending_with = documents.ending_with
        self.path_contains = documents.path_contains
        self.by_hash = documents.by_hash
        self.listing = documents.listing
        self.prune = garbage.prune

        self.lexical = Lexical(client, state, documents).lexical

        self.dense = vectors.dense
        self.similarities = vectors.similarities
        self.has_vectors = vectors.has_vectors
        self.pending_count = vectors.pending_count
        self.pending_sizes = vectors.pending_sizes
        self.pending = vectors.pending
        self.lease = work_queue.lease
        self.release = work_queue.release
        self.add_vectors = vectors.add_vectors
        self.drop_vectors = vectors.drop_vectors
        self.activate_vectors = vectors.activate_vectors
        self.vector_sets = vectors.vector_sets
        self.chunk_counts = vectors.chunk_counts
        self.sample = vectors.sample
        self.vectors_of = vectors.vectors_of
        self.import_statistics = vectors.import_statistics
        self.token_frequencies = token_stats.token_frequencies
        self.all_token_frequencies = token_stats.all_token_frequencies

        self.faults = upkeep.faults
        self.waste = upkeep.waste
        self.clear = upkeep.clear

        try:
            self._refuse_newer()
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

    def sync(self, config: Config, *, drop: bool = False) -> None:
        """Upgrade an index in the former format, then make its collections match the configuration."""
        if self._state.get("format", "strong") == FORMER:
            self._documents.upgrade_terms()
            self._state.put({"format": FORMAT})
        self._collections.sync(config, drop=drop)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _refuse_newer(self) -> None:
        layout = self._state.get("format")
        if layout not in (None, FORMER, FORMAT):
            raise ForeignIndexError(
                f"the index at {self.location} was written by a newer qmd (format {layout})",
                "upgrade qmd-python, or name another store",
            )

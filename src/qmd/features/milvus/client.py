"""The connection to Milvus: opened at first use, with errors translated for users.

Every call has a timeout of `_CALL_SECONDS`. Within it pymilvus retries failed and rate-limited calls with
growing pauses (10 ms to 3 s). All writes may be repeated: see `ids`.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from qmd.errors import StoreError
from qmd.features.milvus import lite
from qmd.features.milvus.address import MilvusAddress
from qmd.features.milvus.failures import failure, kinds
from qmd.features.milvus.schema import MilvusTable, complete, create, table
from qmd.installation import install_command

#: Numbers are `int` or `float`, texts are `str`.
Row = Mapping[str, Any]
#: `strong` sees all earlier writes; `fresh` may miss writes of other processes in the last seconds.
Reading = Literal["strong", "fresh"]

_CONNECT_SECONDS = 10.0
#: Rare keepalive pings: some servers close connections that send pings while no call is running.
CHANNEL = {"grpc.keepalive_time_ms": 300_000, "grpc.keepalive_permit_without_calls": False}
_CALL_SECONDS = 60.0
#: Pauses between attempts if another process may be doing the same, in seconds.
_PAUSES = (0.05, 0.2, 0.8)
#: The error code of Milvus for a collection that is not loaded.
_NOT_LOADED = 101
#: The most rows that Milvus returns for one query or search, and the page size for large rows.
MAX_ROWS = 16_384
HEAVY = 500
#: Values in one filter.
_LISTED = 1_000
#: The most rows and the approximate bytes of one write; servers accept messages of 64 MB.
_BATCH_ROWS, _BATCH_BYTES = 2_000, 16_000_000


class StoreClient:
    """A Milvus client. Safe to share between threads. The first write to a Milvus collection creates it."""

    def __init__(self, address: MilvusAddress) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._client: Any = None
        self._loaded: set[str] = set()
        self._wrote = False
        #: The port at which another process serves the file; 0 if this process serves it.
        self._port = 0
        self.embedded = False

    @property
    def is_absent(self) -> bool:
        """True if the file does not exist yet, so that connecting would create it."""
        file = self._address.file
        return self._client is None and file is not None and not lite.exists(file)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._disconnect()

    # -- reading -------------------------------------------------------------------------------------------

    def query(
        self,
        name: str,
        where: str,
        fields: Sequence[str],
        *,
        limit: int = MAX_ROWS,
        reading: Reading = "fresh",
    ) -> list[Row]:
        """Return up to `limit` matching rows, none if the Milvus collection does not exist."""
        return list(
            self._on("query", name, reading, filter=where, output_fields=[*fields], limit=limit) or ()
        )

    def all(
        self,
        name: str,
        where: str,
        fields: Sequence[str],
        *,
        reading: Reading = "strong",
        page: int = MAX_ROWS,
    ) -> Iterator[Row]:
        """Return all matching rows, page by page, in order of key."""
        pages = self._on(
            "query_iterator", name, reading, batch_size=page, filter=where, output_fields=[*fields]
        )
        if pages is None:
            return
        try:
            while True:
                with self.errors():
                    rows = pages.next()
                if not rows:
                    return
                yield from rows
        finally:
            pages.close()

    def among(
        self,
        name: str,
        field: str,
        values: Iterable[int | str],
        fields: Sequence[str],
        *,
        where: str = "",
        reading: Reading = "fresh",
        page: int = MAX_ROWS,
    ) -> Iterator[Row]:
        """Return all matching rows whose `field` is one of `values`."""
        for condition in _conditions(field, values, where):
            rows = self.query(name, condition, fields, limit=page, reading=reading)
            # Usually one page has all rows. A full page may not.
            yield from (
                rows if len(rows) < page else self.all(name, condition, fields, reading=reading, page=page)
            )

    def count(self, name: str, where: str, *, reading: Reading = "fresh") -> int:
        rows = self._on("query", name, reading, filter=where, output_fields=["count(*)"])
        return int(rows[0]["count(*)"]) if rows is not None else 0

    def search(
        self,
        name: str,
        field: str,
        vectors: Sequence[Any],
        where: str,
        limit: int,
        fields: Sequence[str],
        *,
        depth: int = 0,
    ) -> list[list[tuple[float, Row]]]:
        """Return (similarity, row) of each vector's nearest rows, best first. `depth` is `ef` of HNSW."""
        hits_by_vector = self._on(
            "search",
            name,
            "fresh",
            data=[*vectors],
            anns_field=field,
            filter=where,
            limit=limit,
            output_fields=[*fields],
            search_params={"params": {"ef": depth}} if depth else {},
        )
        if hits_by_vector is None:
            return [[] for _ in vectors]
        return [[(hit["distance"], hit["entity"]) for hit in hits] for hits in hits_by_vector]

    def has(self, name: str) -> bool:
        """Return whether a Milvus collection exists, and load it if it does."""
        if self.is_absent:
            return False
        # Another process may serve the file now, with nothing loaded.
        with self.errors():
            self._connected()
        if name in self._loaded:
            return True
        if not self._call("has_collection", name):
            return False
        if str(self._call("get_load_state", name)["state"]) != "Loaded":
            with self.errors():
                _retry(lambda: self._load(name))
        self._loaded.add(name)
        return True

    def _load(self, name: str) -> None:
        try:
            complete(self._connected(), name, table(name), embedded=self.embedded)
        except kinds():
            # A process that was killed may have left half an index file. The next attempt builds them again.
            if self.embedded and self._address.file is not None:
                lite.remove_index_files(self._address.file, name)
            raise

    def names(self) -> list[str]:
        if self.is_absent:
            return []
        return sorted(name for name in self._call("list_collections") if name.startswith("qmd_"))

    # -- writing -------------------------------------------------------------------------------------------

    def put(self, name: str, rows: Iterable[Row], *, dimension: int = 0, whole: bool = False) -> None:
        """Insert rows or replace rows with the same key. With `whole`, one call makes all of them visible."""
        shape = table(name, dimension)
        batch: list[Row] = []
        size = 0
        for row in rows:
            weight = _weight(row)
            if batch and not whole and (len(batch) >= _BATCH_ROWS or size + weight > _BATCH_BYTES):
                self._upsert(name, batch, shape)
                batch, size = [], 0
            batch.append(row if "filler" not in shape.fields else {**row, "filler": [1.0, 0.0]})
            size += weight
        if batch:
            self._upsert(name, batch, shape)

    def delete(self, name: str, where: str) -> None:
        if self._on("delete", name, filter=where) is not None:
            self._wrote = True

    def delete_among(self, name: str, field: str, values: Iterable[int | str], *, where: str = "") -> None:
        for condition in _conditions(field, values, where):
            self.delete(name, condition)

    def drop(self, name: str) -> None:
        if self.has(name):
            self._loaded.discard(name)
            self._call("drop_collection", name)

    def flush(self) -> None:
        """Make an embedded Milvus sort its new rows for faster searches. Servers do so themselves."""
        if self.embedded and self._wrote:
            for name in self.names():
                self._call("flush", name)

    def _upsert(self, name: str, rows: Sequence[Row], shape: MilvusTable) -> None:
        if not self.has(name):
            with self.errors():
                _retry(lambda: self._make(name, shape))
            self.has(name)
        self._wrote = True
        self._call("upsert", name, data=[*rows])

    def _make(self, name: str, shape: MilvusTable) -> None:
        client = self._connected()
        if not client.has_collection(name):
            create(client, name, shape, embedded=self.embedded)

    # -- the connection ------------------------------------------------------------------------------------

    def _call(self, method: str, *names: str, **options: Any) -> Any:
        with self.errors():
            return getattr(self._connected(), method)(*names, timeout=_CALL_SECONDS, **options)

    def _on(self, method: str, name: str, reading: Reading | None = None, **options: Any) -> Any:
        """Call a method of the client on a Milvus collection, or return None if that does not exist.

        If another process starts to serve the file after the check, the call fails because the collection is
        not loaded. It is then loaded and the call is repeated.
        """
        if reading is not None:
            level = "Strong" if reading == "strong" else "Session" if self._wrote else "Bounded"
            options["consistency_level"] = level
        for pause in (*_PAUSES, None):
            if not self.has(name):
                return None
            try:
                return self._call(method, name, **options)
            except StoreError as error:
                if pause is None or getattr(error.__cause__, "code", None) != _NOT_LOADED:
                    raise
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _connected(self) -> Any:
        with self._lock:
            file = self._address.file
            if self._port and file is not None and lite.served_at(file) != self._port:
                # The process that served the file has ended. Another one serves it, or this one will.
                self._disconnect()
            if self._client is None:
                try:
                    self._client = self._connect()
                except ImportError as error:
                    raise StoreError(
                        "a Milvus store needs the extra 'milvus'", install_command("milvus")
                    ) from error
            return self._client

    def _disconnect(self) -> None:
        self._client.close()
        self._client = None
        self._loaded.clear()
        if self._address.file is not None and not self._port:
            lite.stop(self._address.file)
        self._port = 0

    def _connect(self) -> Any:
        # Our errors contain the messages that gRPC would print to stderr.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        from pymilvus import MilvusClient

        # pymilvus logs errors that it also raises, and errors that it retries.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
        file = self._address.file
        uri, is_ours = self._address.uri, False
        if file is not None:
            port, is_ours = lite.start(file)
            uri, self._port = f"http://127.0.0.1:{port}", 0 if is_ours else port
        try:
            client = MilvusClient(
                uri,
                token=self._address.token,
                db_name=self._address.database,
                timeout=_CONNECT_SECONDS,
                server_pem_path=self._address.authority,
                grpc_options=CHANNEL,
            )
            self.embedded = "lite" in str(client.get_server_version())
        except BaseException:
            if file is not None and is_ours:
                lite.stop(file)
            self._port = 0
            raise
        return client

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of Milvus into `StoreError`."""
        try:
            yield
        except kinds() as error:
            # Another process may have dropped a Milvus collection, so check again which ones exist.
            self._loaded.clear()
            raise failure(error, self._address) from error


def _conditions(field: str, values: Iterable[int | str], where: str) -> Iterator[str]:
    """Return filters for rows whose `field` is one of `values`, each for a part of the values."""
    listed = sorted(set(values))
    for at in range(0, len(listed), _LISTED):
        condition = f"{field} in {literal(listed[at : at + _LISTED])}"
        yield f"{condition} and {where}" if where else condition


def _retry(work: Callable[[], object]) -> None:
    """Retry work that fails if another process does the same at the same time."""
    for pause in _PAUSES:
        try:
            work()
        except kinds():
            time.sleep(pause)
        else:
            return
    work()


def literal(values: Sequence[int | str]) -> str:
    """Return values as a list in a filter."""
    return f"[{', '.join(map(quoted, values))}]"


def like(before: str, text: str, after: str) -> str:
    """Return a pattern for `like`. Special characters of the text become `_`, which matches any character."""
    escaped = "".join("_" if character in '%_\\"' else character for character in text)
    return quoted(before + escaped + after)


def quoted(value: int | str) -> str:
    """Return a value as a literal in a filter."""
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _weight(row: Row) -> int:
    """Return the approximate bytes of a row."""
    return sum(
        8 * len(value) if isinstance(value, (list, dict)) else len(value) * 3 if isinstance(value, str) else 8
        for value in row.values()
    )

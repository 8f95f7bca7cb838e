"""The connection to Milvus: made at first use, its errors in our words, reading apart from writing.

Every call may take `_CALL_SECONDS` in all; within them pymilvus repeats what failed on the way, or was too
much at once, with growing pauses (10 ms to 3 s). All writes may be repeated: see `ids`.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from qmd.errors import StoreError
from qmd.store.milvus import lite
from qmd.store.milvus.address import Address
from qmd.store.milvus.schema import complete, create, table

Answer = TypeVar("Answer")
Row = Mapping[str, Any]
#: `strong` sees all that anyone wrote before; `fresh` may miss what others wrote in the last seconds.
Reading = Literal["strong", "fresh"]

_CONNECT_SECONDS = 10.0
#: Servers that do not expect to be asked whether they are there, while a model works, hang up.
CHANNEL = {"grpc.keepalive_time_ms": 300_000, "grpc.keepalive_permit_without_calls": False}
_CALL_SECONDS = 60.0
#: Between attempts at what another process may be doing as well, in seconds.
_PAUSES = (0.05, 0.2, 0.8)
#: The most rows that Milvus gives for one query or search; fewer a page where they are large.
MOST = 16_384
HEAVY = 500
#: Numbers in one filter.
_LISTED = 1_000
#: Rows and about bytes of one call that writes; servers take messages of 64 MB.
_WRITTEN_ROWS, _WRITTEN_BYTES = 2_000, 16_000_000


class Client:
    """One Milvus. Safe to share between threads. Collections are made by the first row written to them."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._client: Any = None
        self._known: set[str] = set()
        self._wrote = False
        #: Where a file is served: the port of the process that does; 0 where this one does.
        self._port = 0
        self.embedded = False

    @property
    def is_absent(self) -> bool:
        """Whether there is nothing to connect to, and connecting would make it."""
        file = self._address.file
        return self._client is None and file is not None and not lite.exists(file)

    def close(self) -> None:
        """Let go of the connection, and of the Milvus Lite in this program."""
        with self._lock:
            if self._client is None:
                return
            self._leave()

    # -- reading -------------------------------------------------------------------------------------------

    def query(
        self, name: str, where: str, fields: Sequence[str], *, limit: int = MOST, reading: Reading = "fresh"
    ) -> list[Row]:
        """Some rows that fulfil a condition; none where the collection is not there."""
        return list(
            self._on(
                name,
                lambda client, options: client.query(
                    name, filter=where, output_fields=[*fields], limit=limit, **options
                ),
                reading,
            )
            or ()
        )

    def all(
        self, name: str, where: str, fields: Sequence[str], *, reading: Reading = "strong", page: int = MOST
    ) -> Iterator[Row]:
        """Every row that fulfils a condition, page by page, by key."""
        pages = self._on(
            name,
            lambda client, options: client.query_iterator(
                name, batch_size=page, filter=where, output_fields=[*fields], **options
            ),
            reading,
        )
        if pages is None:
            return
        try:
            while rows := self._call(lambda _, __: pages.next(), reading):
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
        page: int = MOST,
    ) -> Iterator[Row]:
        """Every row whose `field` is one of `values`, and that fulfils a condition."""
        for condition in _conditions(field, values, where):
            rows = self.query(name, condition, fields, limit=page, reading=reading)
            # A full page may not be all: most often it is.
            yield from (
                rows if len(rows) < page else self.all(name, condition, fields, reading=reading, page=page)
            )

    def count(self, name: str, where: str, *, reading: Reading = "fresh") -> int:
        """How many rows fulfil a condition."""
        rows = self._on(
            name,
            lambda client, options: client.query(name, filter=where, output_fields=["count(*)"], **options),
            reading,
        )
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
        """For each vector the nearest rows, best first, as (similarity, row). `depth` is HNSW's `ef`."""
        parameters = {"params": {"ef": depth}} if depth else {}
        found = self._on(
            name,
            lambda client, options: client.search(
                name,
                data=[*vectors],
                anns_field=field,
                filter=where,
                limit=limit,
                output_fields=[*fields],
                search_params=parameters,
                **options,
            ),
            "fresh",
        )
        if found is None:
            return [[] for _ in vectors]
        return [[(float(hit["distance"]), hit["entity"]) for hit in hits] for hits in found]

    def has(self, name: str) -> bool:
        """Whether a collection is there; but for `drop`, one that is stays."""
        if self.is_absent:
            return False
        # Who serves a file may be another one by now, which has loaded nothing yet.
        with self.errors():
            self._connected()
        if name in self._known:
            return True
        if not self._call(lambda client, options: client.has_collection(name, timeout=_CALL_SECONDS)):
            return False
        state = self._call(lambda client, options: client.get_load_state(name, timeout=_CALL_SECONDS))
        if str(state["state"]) != "Loaded":
            with self.errors():
                client = self._connected()
                _together(lambda: complete(client, name, table(name), embedded=self.embedded))
        self._known.add(name)
        return True

    def names(self) -> list[str]:
        """The collections of an index that are there."""
        if self.is_absent:
            return []
        listed = self._call(lambda client, options: client.list_collections(timeout=_CALL_SECONDS))
        return sorted(name for name in listed if name.startswith("qmd_"))

    # -- writing -------------------------------------------------------------------------------------------

    def put(self, name: str, rows: Iterable[Row], *, dimension: int = 0, whole: bool = False) -> None:
        """Write rows over those with the same keys. `whole`: in one call, seen by others all at once."""
        shape = table(name, dimension)
        batch: list[Row] = []
        size = 0
        for row in rows:
            weight = _weight(row)
            if batch and not whole and (len(batch) >= _WRITTEN_ROWS or size + weight > _WRITTEN_BYTES):
                self._upsert(name, batch, dimension)
                batch, size = [], 0
            batch.append(row if "filler" not in shape.fields else {**row, "filler": [1.0, 0.0]})
            size += weight
        if batch:
            self._upsert(name, batch, dimension)

    def delete(self, name: str, where: str) -> None:
        """Delete what fulfils a condition."""
        if self.has(name):
            self._wrote = True
            self._on(name, lambda client, options: client.delete(name, filter=where, timeout=_CALL_SECONDS))

    def delete_among(self, name: str, field: str, values: Iterable[int | str], *, where: str = "") -> None:
        """Delete the rows whose `field` is one of `values`, and that fulfil a condition."""
        for condition in _conditions(field, values, where):
            self.delete(name, condition)

    def drop(self, name: str) -> None:
        """Drop a collection with all that is in it."""
        if self.has(name):
            self._known.discard(name)
            self._call(lambda client, options: client.drop_collection(name, timeout=_CALL_SECONDS))

    def flush(self) -> None:
        """Have an embedded Milvus sort what was written, so that searches need not; servers do so anyway."""
        if self.embedded and self._wrote:
            for name in self.names():
                self._flush(name)

    def _flush(self, name: str) -> None:
        self._call(lambda client, options: client.flush(name, timeout=_CALL_SECONDS))

    def _upsert(self, name: str, rows: Sequence[Row], dimension: int) -> None:
        self._make(name, dimension)
        self._wrote = True
        self._call(lambda client, options: client.upsert(name, data=[*rows], timeout=_CALL_SECONDS))

    def _make(self, name: str, dimension: int) -> None:
        if self.has(name):
            return
        shape = table(name, dimension)
        with self.errors():
            client = self._connected()

            def make() -> None:
                if not client.has_collection(name):
                    create(client, name, shape, embedded=self.embedded)

            _together(make)
        self.has(name)

    # -- the connection ------------------------------------------------------------------------------------

    def _call(self, work: Callable[[Any, dict[str, Any]], Answer], reading: Reading = "strong") -> Answer:
        """Do something with the connection; the second argument of `work` are the options of a reading."""
        level = "Strong" if reading == "strong" else "Session" if self._wrote else "Bounded"
        with self.errors():
            return work(self._connected(), {"consistency_level": level, "timeout": _CALL_SECONDS})

    def _on(
        self, name: str, work: Callable[[Any, dict[str, Any]], Answer], reading: Reading = "strong"
    ) -> Answer | None:
        """The same with a collection; None if it is not there.

        Another process may begin to serve the file between a look at what is loaded and the call: then the
        collection is loaded, or its loading waited for, and the call repeated.
        """
        from qmd.store.milvus.failures import is_unloaded

        for pause in (*_PAUSES, None):
            if not self.has(name):
                return None
            try:
                return self._call(work, reading)
            except StoreError as error:
                if pause is None or not is_unloaded(error.__cause__):
                    raise
                time.sleep(pause)
        raise AssertionError("the last attempt answers or raises")

    def _connected(self) -> Any:
        with self._lock:
            file = self._address.file
            if self._port and file is not None and lite.served_at(file) != self._port:
                # Who served the file has ended: another one does, or this one is about to.
                self._leave()
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _leave(self) -> None:
        """Let go of the connection."""
        self._client.close()
        self._client = None
        self._known.clear()
        if self._address.file is not None and not self._port:
            lite.stop(self._address.file)
        self._port = 0

    def _connect(self) -> Any:
        # What it writes to stderr by itself is told by our errors.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        try:
            from pymilvus import MilvusClient
        except ImportError as error:
            raise missing_extra() from error
        # It tells of errors that it also raises, and of those that it repeats.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
        file = self._address.file
        uri, is_ours = self._address.uri, False
        if file is not None:
            port, is_ours = _started(file)
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
        """Translate Milvus' errors into ours."""
        from qmd.store.milvus.failures import failure, kinds

        try:
            yield
        except kinds() as error:
            # Another process may have dropped a collection: what is there is asked anew.
            self._known.clear()
            raise failure(error, self._address) from error


def _conditions(field: str, values: Iterable[int | str], where: str) -> Iterator[str]:
    """That `field` is one of `values`, some of them at a time, and a condition is fulfilled."""
    wanted = sorted(set(values))
    for at in range(0, len(wanted), _LISTED):
        condition = f"{field} in {literal(wanted[at : at + _LISTED])}"
        yield f"{condition} and {where}" if where else condition


def _together(work: Callable[[], object]) -> None:
    """Do what another process may be doing at this very moment: where that fails, look again."""
    from qmd.store.milvus.failures import kinds

    for pause in _PAUSES:
        try:
            work()
        except kinds():
            time.sleep(pause)
        else:
            return
    work()


def _started(file: str) -> tuple[int, bool]:
    try:
        return lite.start(file)
    except ImportError as error:
        raise missing_extra() from error


def missing_extra() -> StoreError:
    """The error where what speaks with Milvus is not installed."""
    return StoreError("a Milvus store needs more packages", "pip install 'qmd-python[milvus]'")


def literal(values: Sequence[int | str]) -> str:
    """Values as a filter has them."""
    return f"[{', '.join(map(quoted, values))}]"


def quoted(value: int | str) -> str:
    """One value as a filter has it."""
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _weight(row: Row) -> int:
    """About how many bytes a row takes."""
    return sum(
        8 * len(value) if isinstance(value, (list, dict)) else len(value) * 3 if isinstance(value, str) else 8
        for value in row.values()
    )

"""The watcher of a server's index. Its scans wait in the queue of writes like all others."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio

from qmd.engine.index import Index
from qmd.engine.index_work import IndexWork
from qmd.engine.indexing.scan import OnChange, ScanReport
from qmd.engine.watching.watcher import Listener, Timing, Watcher
from qmd.errors import OutdatedError
from qmd.models.base import CancelledError
from qmd.server.index_host import IndexHost

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from qmd.engine.embedding.batches import EmbedReport

#: Seconds for the watcher to end when the server shuts down.
_GRACE = 5.0

Answer = TypeVar("Answer")
logger = logging.getLogger(__name__)


@asynccontextmanager
async def watching(
    host: IndexHost, command: str | None, *, timing: Timing | None = None
) -> AsyncIterator[None]:
    """Watch the folders of the server's index inside the context, if no other process does.

    `command` is the name of the server for other processes; with None nothing is watched.
    """
    if command is None:
        yield
        return
    work = _HostWork(host, asyncio.get_running_loop())
    watcher = Watcher(work, command, _Log(), timing=timing)
    thread = threading.Thread(target=_run, args=(watcher,), name="qmd-watch", daemon=True)
    thread.start()
    host.watcher = watcher
    try:
        yield
    finally:
        host.watcher = None
        work.cancelled.set()
        watcher.stop()
        # The thread may wait for a call in this loop, so the loop must go on.
        with anyio.CancelScope(shield=True):
            await asyncio.to_thread(thread.join, _GRACE)


def _run(watcher: Watcher) -> None:
    try:
        watcher.run()
    except OutdatedError as error:
        logger.error("the watcher has ended: %s", error.in_one_line())
    except Exception:
        logger.exception("the watcher has ended: the index is not brought up to date any more")


class _HostWork(IndexWork):
    """The work of a watcher with the index of a server; see `Work`."""

    def __init__(self, host: IndexHost, loop: asyncio.AbstractEventLoop) -> None:
        self._host = host
        self._loop = loop
        self.cancelled = threading.Event()

    @property
    def _index(self) -> Index:
        return self._host.index

    def scan(self, collection: str, within: Sequence[str], on_change: OnChange, *, burst: bool) -> ScanReport:
        return self._wait(
            self._host.write(
                lambda index, _: index.rescan(
                    collection, within, background=burst, on_change=on_change, cancelled=self.cancelled.is_set
                )
            )
        )

    def lacks_vectors(self, collections: Sequence[str]) -> bool:
        return self._wait(
            self._host.call(lambda index, _: index.missing_vectors(collections).texts > 0, slow=True)
        )

    def embed(self, collections: Sequence[str]) -> EmbedReport:
        # Not in the queue of writes, because it takes long. Its batches wait for the lock of the index.
        return self._wait(
            self._host.call(
                lambda index, _: index.embed(collections, background=True, cancelled=self.cancelled.is_set),
                models=True,
            )
        )

    def rest(self) -> None:
        """Do nothing: `IndexHost` frees the models."""

    def _wait(self, call: Coroutine[None, None, Answer]) -> Answer:
        """Run a call in the event loop and wait for it. Raises `CancelledError` if the server shuts down."""
        try:
            future = asyncio.run_coroutine_threadsafe(call, self._loop)
        except RuntimeError as error:  # the loop has ended
            call.close()
            raise CancelledError from error
        try:
            return future.result()
        except (FutureCancelledError, asyncio.CancelledError) as error:
            raise CancelledError from error
        except RuntimeError as error:
            if self.cancelled.is_set():  # no calls are accepted any more
                raise CancelledError from error
            raise


class _Log(Listener):
    """Writes failures to the log of the server."""

    def noted(self, message: str) -> None:
        logger.info("%s", message)

    def failed(self, message: str) -> None:
        logger.warning("%s", message)

    def scanned(self, report: ScanReport) -> None:
        for path, reason in report.problems:
            logger.info("%s/%s: %s", report.collection, path, reason)

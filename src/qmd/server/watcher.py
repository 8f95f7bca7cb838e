"""Scans of the collections whose files change while a server runs."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

import anyio

from qmd.errors import QmdError
from qmd.server.index_host import IndexHost, stop_if

#: Seconds between checks for new or removed collections. The server needs up to this long to shut down.
CHECK_SECONDS = 0.5
#: Seconds between scans if the system cannot watch the folders.
SCAN_SECONDS = 60.0

#: Takes folders. Yields the paths that changed in them, and regularly an empty collection.
Watch = Callable[[Collection[str]], AsyncIterator[Collection[str]]]

logger = logging.getLogger(__name__)


class Watcher:
    """Scans all collections once, and then each collection whose files change. Runs no update commands.

    Each scan goes through the queue of writes.
    """

    def __init__(self, host: IndexHost, watch: Watch | None = None) -> None:
        self._host = host
        self._watch = watch or watch_folders

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self._update(())
            try:
                await self._follow(await self._folders())
            except OSError as error:
                logger.warning("cannot watch for changes (%s): scanning every %g s", error, SCAN_SECONDS)
                await anyio.sleep(SCAN_SECONDS)

    async def _follow(self, folders: Mapping[str, str]) -> None:
        """Scan collections that change, until collections are added or removed."""
        watching = False
        async for changed in self._watch([*folders.values()]):
            if not watching:
                # Files may have changed between the last scan and the start of watching.
                await self._update(())
                watching = True
            elif names := [name for name, folder in folders.items() if _touches(changed, folder)]:
                await self._update(names)
            if await self._folders() != folders:
                return

    async def _folders(self) -> dict[str, str]:
        """Return the folders by collection; empty if the configuration cannot be read."""
        try:
            collections = await self._host.call(lambda index, _: index.config.collections)
        except QmdError:
            return {}
        return {name: os.path.realpath(collection.path) for name, collection in collections.items()}

    async def _update(self, names: Sequence[str]) -> None:
        try:
            reports = await self._host.write(
                lambda index, cancelled: index.update(names, commands=False, on_progress=stop_if(cancelled)),
                finish=False,
            )
        except QmdError as error:
            logger.warning("scan failed: %s", error.in_one_line())
            return
        for report in reports:
            if report.error is not None:
                logger.warning("scan of %s failed: %s", report.collection, report.error.in_one_line())


async def watch_folders(folders: Collection[str]) -> AsyncIterator[Collection[str]]:
    """Yield the paths that the operating system reports, and an empty list every `CHECK_SECONDS`.

    If there are more folders than the system can watch, `OSError` is raised.
    """
    from watchfiles import awatch

    existing = [folder for folder in folders if os.path.isdir(folder)]
    milliseconds = int(CHECK_SECONDS * 1000)
    async for changes in awatch(*existing, rust_timeout=milliseconds, yield_on_timeout=True):
        yield [path for _, path in changes]


def _touches(changed: Collection[str], folder: str) -> bool:
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for path in changed)

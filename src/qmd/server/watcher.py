"""Keeping the index as the folders are, while a server runs."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

import anyio

from qmd.errors import QmdError
from qmd.server.jobs import Jobs, unless

#: How often it is looked whether there are other collections, in seconds; the server ends no sooner.
LOOK_SECONDS = 0.5
#: How often all is scanned where changes cannot be watched for, in seconds.
SCAN_SECONDS = 60.0

#: Called with folders; gives the paths that changed in them, and from time to time none.
Watch = Callable[[Collection[str]], AsyncIterator[Collection[str]]]

logger = logging.getLogger(__name__)


class Watcher:
    """Scans all collections, and from then on those in which files change. Update commands are not run.

    Each scan waits for its turn in the queue of writes.
    """

    def __init__(self, jobs: Jobs, watch: Watch | None = None) -> None:
        self._jobs = jobs
        self._watch = watch or watch_folders

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            await self._update(())
            try:
                await self._follow(await self._folders())
            except OSError as error:
                logger.warning("cannot watch for changes (%s): scanning every %g s", error, SCAN_SECONDS)
                await anyio.sleep(SCAN_SECONDS)

    async def _follow(self, folders: Mapping[str, str]) -> None:
        """Scan the collections that change, until there are others."""
        began = False
        async for changed in self._watch([*folders.values()]):
            if not began:
                # What changed before the watching began.
                await self._update(())
                began = True
            elif names := [name for name, folder in folders.items() if _touches(changed, folder)]:
                await self._update(names)
            if await self._folders() != folders:
                return

    async def _folders(self) -> dict[str, str]:
        """Collections and their folders; none where the configuration cannot be read."""
        try:
            collections = await self._jobs.resident.call(lambda index, _: index.config.collections)
        except QmdError:
            return {}
        return {name: os.path.realpath(each.path) for name, each in collections.items()}

    async def _update(self, names: Sequence[str]) -> None:
        try:
            reports = await self._jobs.call(
                lambda index, cancelled: index.update(names, commands=False, on_progress=unless(cancelled)),
                finish=False,
            )
        except QmdError as error:
            logger.warning("not refreshed: %s", error.in_one_line())
            return
        for report in reports:
            if report.error is not None:
                logger.warning("%s not refreshed: %s", report.collection, report.error.in_one_line())


async def watch_folders(folders: Collection[str]) -> AsyncIterator[Collection[str]]:
    """The paths that changed, as the operating system tells; none every `LOOK_SECONDS`.

    Raises `OSError` where there are more folders than may be watched.
    """
    from watchfiles import awatch

    there = [folder for folder in folders if os.path.isdir(folder)]
    wait = int(LOOK_SECONDS * 1000)
    async for changes in awatch(*there, rust_timeout=wait, yield_on_timeout=True):
        yield [path for _, path in changes]


def _touches(changed: Collection[str], folder: str) -> bool:
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for path in changed)

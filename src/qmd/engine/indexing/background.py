"""Scan many changed files in a process of low priority, so that searches of a server are not slowed down.

In the server itself, the scan and the searches would share one interpreter lock.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from multiprocessing.connection import Connection

from qmd.config.paths import Locations
from qmd.engine.indexing import update
from qmd.engine.indexing.scan import ScanReport
from qmd.engine.workspace import Workspace, open_workspace
from qmd.errors import QmdError, StoreError
from qmd.models.base import Cancelled, CancelledError
from qmd.processes import call

#: The priority of the process. It is lower than that of searches, but higher than that of embedding.
_NICE = 10
#: Seconds between two questions whether the scan is cancelled.
_CHECK_SECONDS = 0.2


def rescan(
    workspace: Workspace, collection: str, within: Sequence[str], record: bool, cancelled: Cancelled | None
) -> ScanReport:
    """Scan a collection as `Index.rescan` does, in another process.

    Raises the error of the scan, `StoreError` if the process dies, and `CancelledError`. What was finished
    before stays in the index.
    """
    if cancelled is not None and cancelled():
        raise CancelledError
    task = workspace.locations, dict(workspace.environ), collection, tuple(within), record
    process, messages = call(_run, *task)
    try:
        while not messages.poll(_CHECK_SECONDS):
            if cancelled is not None and cancelled():
                raise CancelledError
        answer: ScanReport | QmdError = messages.recv()
    except EOFError:
        raise StoreError(f"the process of the scan has died with code {process.wait()}") from None
    finally:
        messages.close()
        process.terminate()
        process.wait()
    if isinstance(answer, QmdError):
        raise answer
    return answer


def _run(
    locations: Locations,
    environ: Mapping[str, str],
    collection: str,
    within: Sequence[str],
    record: bool,
    sender: Connection,
) -> None:
    os.nice(_NICE)
    # Ctrl-C goes to all processes of a terminal; the server ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer: ScanReport | QmdError
    try:
        workspace = open_workspace(locations, environ)
        with closing(workspace.store):
            answer = update.rescan(workspace, collection, within, record=record)
    except QmdError as error:
        answer = error
    with suppress(BrokenPipeError):  # the server has ended
        sender.send(answer)

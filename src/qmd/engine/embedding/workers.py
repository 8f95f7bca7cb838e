"""Embed with several processes, which share the texts by leases."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from qmd.config.locations import Locations
from qmd.engine.embedding.batches import Share, Tally, shares, worker_name
from qmd.engine.workspace import Workspace, opened_in_child
from qmd.errors import ModelError, QmdError
from qmd.processes import call, processors
from qmd.store.values import Scope
from qmd.types.cancelling import Cancelled, stop_if_cancelled

#: The priority of workers in the background: the lowest.
_NICE = 19
#: Seconds between two questions whether the work is cancelled.
_CHECK_SECONDS = 0.2
#: In the background, a worker goes on after so many seconds without a search, or after so many with searches.
_QUIET_SECONDS, _MOST_PAUSED = 1.0, 20.0

if TYPE_CHECKING:
    from subprocess import Popen


def embed_in_processes(
    workspace: Workspace,
    scope: Scope,
    prefix: str,
    count: int,
    tally: Tally,
    *,
    background: bool = False,
    cancelled: Cancelled | None = None,
) -> int:
    """Embed, with `count` processes, the texts that the configured vectors lack; return how many have died.

    The caller holds `embedding_lock`, which gives the `prefix`. A worker that dies is replaced, and others
    take over its texts. In the `background`, the workers have low priority, use half of the processors, and
    let searches go first before each share.
    Raises `ModelError` if `count` workers have died (in the background: if any has), the error that stops a
    worker, and `CancelledError` if `cancelled` returns true.
    """
    available = workspace.settings.threads or processors()
    threads = max(1, available // count // (2 if background else 1))
    environ = {**workspace.environ, "QMD_THREADS": str(threads)}
    #: Each process and the name of its worker, by the pipe from which its messages are read.
    workers: dict[Connection, tuple[Popen[bytes], str]] = {}
    #: When each worker goes on at the latest.
    paused: dict[Connection, float] = {}
    lost = 0

    def start() -> None:
        name = worker_name(prefix)
        process, messages = call(_run, workspace.locations, environ, scope, name, background)
        workers[messages] = process, name

    try:
        for _ in range(min(count, tally.total - tally.texts)):
            start()
        while workers:
            stop_if_cancelled(cancelled)
            quiet, now = workspace.traffic.rest() >= _QUIET_SECONDS, time.monotonic()
            for resting in [each for each, latest in paused.items() if quiet or now >= latest]:
                del paused[resting]
                with suppress(OSError):  # it has died, which reading tells
                    resting.send(None)
            for messages in wait(list(workers), _CHECK_SECONDS if cancelled or paused else None):
                assert isinstance(messages, Connection)
                message: Share | QmdError | None = None  # the worker has ended
                with suppress(EOFError, OSError):
                    message = messages.recv()
                if isinstance(message, Share):
                    tally.add(message)
                    if background:
                        paused[messages] = time.monotonic() + _MOST_PAUSED
                elif isinstance(message, QmdError):
                    raise message
                else:
                    process, name = workers.pop(messages)
                    paused.pop(messages, None)
                    if exitcode := process.wait():
                        lost += 1
                        workspace.store.pending.release(name)
                        if lost >= count:
                            how = f"by signal {-exitcode}" if exitcode < 0 else f"with code {exitcode}"
                            raise ModelError(
                                f"{lost} workers have died, the last one {how}",
                                "each needs memory for the model: use fewer --workers; "
                                "finished vectors are stored",
                            )
                        start()
    finally:
        for process, name in workers.values():
            process.terminate()
            process.wait()
            workspace.store.pending.release(name)
    return lost


def _run(
    locations: Locations,
    environ: Mapping[str, str],
    scope: Scope,
    name: str,
    background: bool,
    sender: Connection,
) -> None:
    """Embed in the process of a worker, and send each share or the error."""
    try:
        with opened_in_child(locations, environ, _NICE if background else 0) as workspace:
            models, lease = workspace.models, workspace.settings.embed_lease_seconds
            for share in shares(workspace.store, models.embedder, models.vector_set, scope, name, lease):
                sender.send(share)
                if background:
                    sender.recv()
    except QmdError as error:
        sender.send(error)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass  # the first process has died: its vectors are stored, and the leases expire

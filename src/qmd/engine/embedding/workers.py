"""Embed with several processes, which share the texts by leases."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping
from contextlib import closing, suppress
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from qmd.config.paths import Locations
from qmd.engine.embedding.batches import Share, Tally, shares, worker_name
from qmd.engine.workspace import Workspace, open_workspace
from qmd.errors import ModelError, QmdError
from qmd.models.base import Cancelled, CancelledError
from qmd.store.values import Scope

#: The priority of workers in the background: the lowest.
_NICE = 19
#: Seconds between two questions whether the work is cancelled.
_CHECK_SECONDS = 0.2

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess


def embed(
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
    take over its texts. In the `background`, the workers have low priority and use half of the processors.
    Raises `ModelError` if `count` workers have died (in the background: if any has), the error that stops a
    worker, and `CancelledError` if `cancelled` returns true.
    """
    processors = workspace.settings.threads or os.cpu_count() or 1
    threads = max(1, processors // count // (2 if background else 1))
    environ = {**workspace.environ, "QMD_THREADS": str(threads)}
    #: The processes by the pipe from which their messages are read. A process has the name of its worker.
    workers: dict[Connection, SpawnProcess] = {}
    lost = 0

    def start() -> None:
        nonlocal lost
        while not _start(workers, workspace.locations, environ, scope, worker_name(prefix), background):
            lost += 1
            if lost >= count:
                raise _too_many_lost(lost, None)

    try:
        for _ in range(min(count, tally.total)):
            start()
        while workers:
            if cancelled is not None and cancelled():
                raise CancelledError
            for messages in wait(list(workers), None if cancelled is None else _CHECK_SECONDS):
                assert isinstance(messages, Connection)
                message = _receive(messages)
                if isinstance(message, Share):
                    tally.add(message)
                elif isinstance(message, QmdError):
                    raise message
                else:
                    process = workers.pop(messages)
                    process.join()
                    if process.exitcode:
                        lost += 1
                        workspace.store.pending.release(process.name)
                        if lost >= count:
                            raise _too_many_lost(lost, process.exitcode)
                        start()
    finally:
        for process in workers.values():
            process.terminate()
            process.join()
            workspace.store.pending.release(process.name)
    return lost


def _start(
    workers: dict[Connection, SpawnProcess],
    locations: Locations,
    environ: Mapping[str, str],
    scope: Scope,
    name: str,
    background: bool,
) -> bool:
    """Start a worker; return false if it died before it received its task."""
    context = multiprocessing.get_context("spawn")
    messages, sender = context.Pipe(duplex=False)
    task = locations, environ, scope, name, background, sender
    process = context.Process(target=_run, args=task, name=name, daemon=True)
    try:
        process.start()
    except BrokenPipeError:
        messages.close()
        return False
    finally:
        # The worker must have the only open end, so that reading ends when it dies.
        sender.close()
    workers[messages] = process
    return True


def _run(
    locations: Locations,
    environ: Mapping[str, str],
    scope: Scope,
    name: str,
    background: bool,
    sender: Connection,
) -> None:
    """Embed in the process of a worker, and send each share or the error."""
    if background:
        os.nice(_NICE)
    # Ctrl-C goes to all processes of a terminal; the first process ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        workspace = open_workspace(locations, environ)
        with closing(workspace.store):
            models, lease = workspace.models, workspace.settings.embed_lease_seconds
            for share in shares(workspace.store, models.embedder, models.vector_set, scope, name, lease):
                sender.send(share)
    except QmdError as error:
        sender.send(error)
    except BrokenPipeError:
        pass  # the first process has died: its vectors are stored, and the leases expire


def _receive(messages: Connection) -> Share | QmdError | None:
    """Return the next message of a worker; None if it has ended."""
    with suppress(EOFError, OSError):
        message: Share | QmdError = messages.recv()
        return message
    return None


def _too_many_lost(lost: int, exitcode: int | None) -> ModelError:
    how = "while it started"
    if exitcode is not None:
        how = f"by signal {-exitcode}" if exitcode < 0 else f"with code {exitcode}"
    return ModelError(
        f"{lost} workers have died, the last one {how}",
        "each needs memory for the model: use fewer --workers; finished vectors are stored",
    )

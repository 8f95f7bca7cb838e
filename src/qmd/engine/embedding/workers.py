"""Embed with several processes, which share the texts by leases."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from qmd.config.paths import Locations
from qmd.engine.embedding.batches import EmbedReport, OnProgress, Share, Tally, shares, worker_name
from qmd.engine.workspace import Workspace, open_workspace
from qmd.errors import ModelError, QmdError
from qmd.store.base import Scope, Store, VectorSet

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

#: More processes than this only wait for one another.
MAX_WORKERS = 64


@dataclass(slots=True)
class _Worker:
    """A process that embeds, and the pipe from which its messages are read."""

    name: str
    process: SpawnProcess
    messages: Connection


@dataclass(frozen=True, slots=True)
class Task:
    """The index and the collections that a worker embeds."""

    locations: Locations
    environ: Mapping[str, str]
    collections: tuple[str, ...]


def embed(
    store: Store,
    task: Task,
    vectors: VectorSet,
    prefix: str,
    count: int,
    threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> EmbedReport:
    """Embed the texts that a set of vectors lacks. The caller holds `embedding_lock`.

    A worker that dies is replaced, and others take over its texts.

    Args:
        store: The store of the index.
        task: The index and the collections.
        vectors: The set to add to.
        prefix: The beginning of the workers' names, from `embedding_lock`.
        count: The number of processes.
        threads: How many threads they share; None for as many as there are cores.
        on_progress: Called after each batch.

    Raises:
        ModelError: As many workers have died as there should be.
        QmdError: A worker has stopped with this error.
    """
    sizes = store.pending.sizes(vectors.fingerprint, Scope(task.collections))
    tally = Tally(sizes)
    threads_each = max(1, (threads or os.cpu_count() or 1) // count)
    task = Task(task.locations, {**task.environ, "QMD_THREADS": str(threads_each)}, task.collections)
    workers: list[_Worker] = []
    lost = 0

    def start() -> None:
        nonlocal lost
        while (worker := _start(task, prefix)) is None:
            lost += 1
            if lost >= count:
                raise _too_many_lost(lost, None)
        workers.append(worker)

    try:
        for _ in range(min(count, len(sizes))):
            start()
        while workers:
            if on_progress is not None:
                on_progress(tally.progress())
            for worker in _ready(workers):
                message = _receive(worker)
                if isinstance(message, Share):
                    tally.add(message)
                elif isinstance(message, QmdError):
                    raise message
                else:
                    workers.remove(worker)
                    worker.process.join()
                    if worker.process.exitcode:
                        lost += 1
                        store.pending.release(worker.name)
                        if lost >= count:
                            raise _too_many_lost(lost, worker.process.exitcode)
                        start()
    finally:
        for worker in workers:
            worker.process.terminate()
            worker.process.join()
            store.pending.release(worker.name)
    if on_progress is not None:
        on_progress(tally.progress())
    return EmbedReport(tally.texts, tally.chunks, tally.seconds, vectors.name, lost=lost)


def embed_share(
    workspace: Workspace, collections: Sequence[str], worker: str, on_share: Callable[[Share], None]
) -> None:
    """Embed, as one of several workers, the texts that no other one has leased."""
    models, scope = workspace.models, Scope(tuple(collections))
    lease = workspace.settings.embed_lease_seconds
    for share in shares(workspace.store, models.embedder, models.vector_set, scope, worker, lease):
        on_share(share)


def _start(task: Task, prefix: str) -> _Worker | None:
    """Start a worker; return None if it died before it received its task."""
    name = worker_name(prefix)
    context = multiprocessing.get_context("spawn")
    messages, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(task, name, sender), name=name, daemon=True)
    try:
        process.start()
    except BrokenPipeError:
        messages.close()
        sender.close()
        return None
    # The worker must have the only open end, so that reading ends when it dies.
    sender.close()
    return _Worker(name, process, messages)


def _run(task: Task, name: str, sender: Connection) -> None:
    """Embed in the process of a worker, and send each share or the error."""
    # Ctrl-C goes to all processes of a terminal; the first process ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        workspace = open_workspace(task.locations, task.environ)
        try:
            embed_share(workspace, task.collections, name, sender.send)
        finally:
            workspace.store.close()
    except QmdError as error:
        sender.send(error)
    except BrokenPipeError:
        pass  # the first process has died: its vectors are stored, and the leases expire


def _ready(workers: list[_Worker]) -> list[_Worker]:
    """Wait until some workers have sent a message or have died, and return them."""
    ready = wait([worker.messages for worker in workers])
    return [worker for worker in workers if worker.messages in ready]


def _receive(worker: _Worker) -> Share | QmdError | None:
    """Return the next message of a worker; None if it has ended."""
    with suppress(EOFError, OSError):
        message: Share | QmdError = worker.messages.recv()
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

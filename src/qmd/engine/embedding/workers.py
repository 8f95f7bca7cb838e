"""Embedding by several processes at once, which share the texts by leases."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from qmd.config.paths import Locations
from qmd.engine.embedding.batches import EmbedReport, OnProgress, Share, Tally, worker_name
from qmd.errors import ModelError, QmdError
from qmd.store.base import Scope, Store, VectorSet

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

#: More processes than this only wait for one another.
MAX_WORKERS = 64


@dataclass(slots=True)
class _Worker:
    """A process that embeds, and the end of the pipe that it tells its progress through."""

    name: str
    process: SpawnProcess
    told: Connection


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker needs to know: the index, as which user, and the collections to embed."""

    locations: Locations
    environ: Mapping[str, str]
    collections: tuple[str, ...]


def embed(
    store: Store,
    task: Task,
    into: VectorSet,
    crew: str,
    count: int,
    threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> EmbedReport:
    """Embed what a set lacks, by `count` processes that share `threads` (None: as many as there are cores).

    A worker that dies is replaced, and others take over what it held. Raises `ModelError` where as many died
    as were asked for, and what stops a worker. The caller holds `embedding_lock`, which gives `crew`.
    """
    sizes = store.pending_sizes(into.fingerprint, Scope(task.collections))
    tally = Tally(sizes)
    each = max(1, (threads or os.cpu_count() or 1) // count)
    task = Task(task.locations, {**task.environ, "QMD_THREADS": str(each)}, task.collections)
    workers: list[_Worker] = []
    lost = 0

    def begin() -> None:
        nonlocal lost
        while (worker := _start(task, crew)) is None:
            lost += 1
            if lost >= count:
                raise _too_many(lost, None)
        workers.append(worker)

    try:
        for _ in range(min(count, len(sizes))):
            begin()
        while workers:
            if on_progress is not None:
                on_progress(tally.progress())
            for worker in _heard(workers):
                message = _message(worker)
                if isinstance(message, Share):
                    tally.add(message)
                elif isinstance(message, QmdError):
                    raise message
                else:
                    workers.remove(worker)
                    worker.process.join()
                    if worker.process.exitcode:
                        lost += 1
                        store.release(worker.name)
                        if lost >= count:
                            raise _too_many(lost, worker.process.exitcode)
                        begin()
    finally:
        for worker in workers:
            worker.process.terminate()
            worker.process.join()
            store.release(worker.name)
    if on_progress is not None:
        on_progress(tally.progress())
    return EmbedReport(tally.texts, tally.chunks, tally.seconds, into.name, lost=lost)


def _start(task: Task, crew: str) -> _Worker | None:
    """A worker at work; None where it died before it was told its task."""
    name = worker_name(crew)
    context = multiprocessing.get_context("spawn")
    told, telling = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(task, name, telling), name=name, daemon=True)
    try:
        process.start()
    except BrokenPipeError:
        told.close()
        telling.close()
        return None
    # Once the worker has gone, nobody holds this end, and reading the other one says so.
    telling.close()
    return _Worker(name, process, told)


def _work(task: Task, name: str, telling: Connection) -> None:
    """What a worker does, in its own process."""
    from qmd.engine.index import Index

    # Ctrl-C goes to all processes of a terminal: the first of them ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Index(task.locations, environ=task.environ) as index:
            index.embed_share(task.collections, name, telling.send)
    except QmdError as error:
        telling.send(error)
    except BrokenPipeError:
        pass  # the first process is gone: what was embedded is kept, and the leases end by themselves


def _heard(workers: list[_Worker]) -> list[_Worker]:
    """Wait until some have told something, or have ended."""
    ready = wait([worker.told for worker in workers])
    return [worker for worker in workers if worker.told in ready]


def _message(worker: _Worker) -> Share | QmdError | None:
    """What a worker tells; None where it has ended."""
    with suppress(EOFError, OSError):
        message: Share | QmdError = worker.told.recv()
        return message
    return None


def _too_many(lost: int, exitcode: int | None) -> ModelError:
    how = "at its beginning"
    if exitcode is not None:
        how = f"by signal {-exitcode}" if exitcode < 0 else f"with code {exitcode}"
    return ModelError(
        f"{lost} workers have died, the last one {how}",
        "each needs memory for the model: use fewer --workers; what was embedded is kept",
    )

"""Long writes that the page starts: scans and embeddings, with their progress."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field

from qmd.engine.index import Index
from qmd.errors import BusyError, QmdError
from qmd.models.base import Cancelled, CancelledError
from qmd.server.index_host import IndexHost

State = Literal["waiting", "running", "done", "stopped", "failed"]

logger = logging.getLogger(__name__)


class Job(Struct):
    """A write in the background. `owner` is the name of the key that started it; None without keys."""

    kind: Literal["scan", "embed"]
    owner: str | None
    state: State = "waiting"
    subject: str = ""  #: The collection that is read
    done: int = 0
    total: int = 0
    message: str = ""
    results: dict[str, int] = field(default_factory=dict)
    stopping: bool = False

    @property
    def active(self) -> bool:
        return self.state in ("waiting", "running")

    def progress(self, done: int, total: int, subject: str = "") -> None:
        """Record the progress. Raises `CancelledError` if the job was told to stop."""
        self.done, self.total, self.subject = done, total, subject
        if self.stopping:
            raise CancelledError


#: Writes to an index, and records its progress in a job.
Work = Callable[[Index, Job], None]


class Jobs:
    """Runs one job at a time. `run` is a context manager that must be entered around all requests."""

    def __init__(self, host: IndexHost) -> None:
        self._host = host
        self._tasks: TaskGroup | None = None
        self.current: Job | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            yield
            tasks.cancel_scope.cancel()

    def start(self, job: Job, work: Work, *, models: bool = False) -> None:
        """Start a job. Raises `BusyError` if another one is running."""
        if self.current is not None and self.current.active:
            raise BusyError("another job is running", "wait until it is done, or stop it")
        assert self._tasks is not None, "the server is not running"
        self.current = job
        self._tasks.start_soon(self._run, job, work, models)

    def stop(self) -> None:
        """Tell the job to stop. What it has written stays. A job that waits is not begun."""
        if self.current is not None:
            self.current.stopping = True
            if self.current.state == "waiting":
                self.current.state = "stopped"

    async def _run(self, job: Job, work: Work, models: bool) -> None:
        def write(index: Index, cancelled: Cancelled) -> None:
            if job.stopping:
                raise CancelledError
            job.state = "running"
            work(index, job)

        try:
            await self._host.write(write, models=models, finish=False)
            job.state = "done"
        except CancelledError:
            job.state = "stopped"
        except QmdError as error:
            job.state, job.message = "failed", error.in_one_line()
        except Exception:
            job.state, job.message = "failed", "Internal error"
            logger.exception("a job of the page failed")
        finally:
            # The server is shutting down: the thread sees it at its next step.
            job.stopping = True
            if job.active:
                job.state = "stopped"

"""The queue of writes: one at a time, in order, each finished once it has begun."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import anyio
import pytest

import qmd
from qmd.models.base import Cancelled
from qmd.server.index_host import IndexHost
from qmd.server.jobs import Jobs


@pytest.fixture
def host(index: qmd.Index) -> Iterator[IndexHost]:
    host = IndexHost(lambda: index)
    yield host
    host.finish()


def test_jobs_are_done_one_at_a_time_in_the_order_in_which_they_came(host: IndexHost) -> None:
    done: list[int] = []
    at_work = threading.Semaphore(1)

    def job(number: int) -> int:
        assert at_work.acquire(blocking=False)
        done.append(number)
        at_work.release()
        return number

    async def talk() -> None:
        jobs = Jobs(host)
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(jobs.call, lambda index, cancelled, number=number: job(number))
        assert jobs.waiting == 0

    anyio.run(talk)
    assert done == [*range(50)]


def test_reads_go_on_while_a_job_is_done(host: IndexHost) -> None:
    async def talk() -> None:
        jobs = Jobs(host)
        may_end = threading.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(jobs.call, lambda index, cancelled: may_end.wait(60))
            tasks.start_soon(jobs.call, lambda index, cancelled: None)
            await anyio.wait_all_tasks_blocked()
            assert jobs.waiting == 2
            assert await host.call(lambda index, cancelled: index.status().total_documents) == 0
            may_end.set()

    anyio.run(talk)


def test_a_job_that_has_begun_is_finished_and_none_begins_beside_it(host: IndexHost) -> None:
    told = []
    begun, may_end = threading.Event(), threading.Event()

    def first(index: qmd.Index, cancelled: Cancelled) -> None:
        begun.set()
        may_end.wait(60)
        told.append(("first", cancelled()))

    async def talk() -> None:
        jobs = Jobs(host)
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as client:

                async def ask() -> None:
                    with client:
                        await jobs.call(first)

                tasks.start_soon(ask)
            tasks.start_soon(jobs.call, lambda index, cancelled: told.append(("second", cancelled())))
            await anyio.to_thread.run_sync(begun.wait, 60)
            client.cancel()
            await anyio.wait_all_tasks_blocked()
            assert told == []
            may_end.set()

    anyio.run(talk)
    assert told == [("first", False), ("second", False)]


def test_a_job_that_waits_goes_with_its_caller(host: IndexHost) -> None:
    told = []

    async def talk() -> None:
        jobs = Jobs(host)
        may_end = threading.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(jobs.call, lambda index, cancelled: may_end.wait(60))
            await anyio.wait_all_tasks_blocked()
            async with anyio.create_task_group() as client:
                client.start_soon(jobs.call, lambda index, cancelled: told.append("never"))
                await anyio.wait_all_tasks_blocked()
                client.cancel_scope.cancel()
            assert jobs.waiting == 1
            may_end.set()

    anyio.run(talk)
    assert told == []

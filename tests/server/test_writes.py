"""The queue of writes: order, cancellation, and concurrent reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import anyio
import pytest

import qmd
from qmd.models.base import Cancelled
from qmd.server.index_host import IndexHost


@pytest.fixture
def host(index: qmd.Index) -> Iterator[IndexHost]:
    host = IndexHost(lambda: index)
    yield host
    host.finish()


def test_writes_run_one_at_a_time_in_order(host: IndexHost) -> None:
    done: list[int] = []
    at_work = threading.Semaphore(1)

    def job(number: int) -> int:
        assert at_work.acquire(blocking=False)
        done.append(number)
        at_work.release()
        return number

    async def talk() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(host.write, lambda index, cancelled, number=number: job(number))
        assert host.writes == 0

    anyio.run(talk)
    assert done == [*range(50)]


def test_reads_run_during_a_write(host: IndexHost) -> None:
    async def talk() -> None:
        may_end = threading.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.write, lambda index, cancelled: may_end.wait(60))
            tasks.start_soon(host.write, lambda index, cancelled: None)
            await anyio.wait_all_tasks_blocked()
            assert host.writes == 2
            assert await host.call(lambda index, cancelled: index.status().total_documents) == 0
            may_end.set()

    anyio.run(talk)


def test_running_write_of_a_cancelled_caller_finishes_first(host: IndexHost) -> None:
    told = []
    begun, may_end = threading.Event(), threading.Event()

    def first(index: qmd.Index, cancelled: Cancelled) -> None:
        begun.set()
        may_end.wait(60)
        told.append(("first", cancelled()))

    async def talk() -> None:
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as client:

                async def ask() -> None:
                    with client:
                        await host.write(first)

                tasks.start_soon(ask)
            tasks.start_soon(host.write, lambda index, cancelled: told.append(("second", cancelled())))
            await anyio.to_thread.run_sync(begun.wait, 60)
            client.cancel()
            await anyio.wait_all_tasks_blocked()
            assert told == []
            may_end.set()

    anyio.run(talk)
    assert told == [("first", False), ("second", False)]


def test_waiting_write_of_a_cancelled_caller_is_dropped(host: IndexHost) -> None:
    told = []

    async def talk() -> None:
        may_end = threading.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.write, lambda index, cancelled: may_end.wait(60))
            await anyio.wait_all_tasks_blocked()
            async with anyio.create_task_group() as client:
                client.start_soon(host.write, lambda index, cancelled: told.append("never"))
                await anyio.wait_all_tasks_blocked()
                client.cancel_scope.cancel()
            assert host.writes == 1
            may_end.set()

    anyio.run(talk)
    assert told == []

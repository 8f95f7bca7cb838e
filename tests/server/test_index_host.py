"""The index of a server: opening, concurrent calls, and idle models."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

import qmd
from qmd.errors import StoreError
from qmd.http.app import api
from qmd.models.base import Cancelled, Embedder
from qmd.server.index_host import PAGE_WORKERS, SLOW_WORKERS, IndexHost
from tests.conftest import Notes
from tests.waiting import PATIENCE, until


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def opened(tmp_path: Path, environ: dict[str, str], notes: Notes) -> Iterator[qmd.Index]:
    # No other test uses this number of threads, and models are shared by cache and threads.
    environ["QMD_THREADS"] = "3"
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(str(notes({"a.md": "# A\n\nRivers and lakes.\n"})))
        index.embed()
        yield index


def count(index: qmd.Index, cancelled: Cancelled) -> int:
    return index.status().total_documents


def is_freed(model: weakref.ref[Embedder]) -> bool:
    gc.collect()
    return model() is None


def test_index_host_opens_the_index_at_the_first_call(opened: qmd.Index) -> None:
    times = []

    def open_index() -> qmd.Index:
        times.append(1)
        return opened

    async def talk() -> None:
        host = IndexHost(open_index)
        assert times == []
        assert [await host.call(count), await host.call(count)] == [1, 1]
        assert host.close()

    anyio.run(talk)
    assert times == [1]


def test_work_on_the_whole_index_is_done_one_at_a_time_and_ends_with_its_client(opened: qmd.Index) -> None:
    begun, ended, running = threading.Event(), threading.Event(), list[int]()

    def first(index: qmd.Index, cancelled: Cancelled) -> None:
        running.append(1)
        begun.set()
        until(cancelled)
        ended.wait(PATIENCE)
        running.remove(1)

    def second(index: qmd.Index, cancelled: Cancelled) -> list[int]:
        return [*running]

    async def talk() -> None:
        host = IndexHost(lambda: opened)
        async with anyio.create_task_group() as leaving:
            leaving.start_soon(partial(host.call, first, whole=True))
            await anyio.to_thread.run_sync(begun.wait)
            leaving.cancel_scope.cancel()
        # The client of the first has left, and its thread has not ended yet.
        async with anyio.create_task_group() as tasks:
            answers = list[list[int]]()

            async def ask() -> None:
                answers.append(await host.call(second, whole=True))

            tasks.start_soon(ask)
            assert await host.call(count) == 1  # others go on
            assert not answers
            ended.set()
        assert answers == [[]]

    anyio.run(talk)


def test_index_host_retries_a_failed_opening(opened: qmd.Index) -> None:
    failures = [StoreError("not yet")]

    def open_index() -> qmd.Index:
        if failures:
            raise failures.pop()
        return opened

    async def talk() -> None:
        host = IndexHost(open_index)
        with pytest.raises(StoreError):
            await host.call(count)
        assert await host.call(count) == 1
        host.close()

    anyio.run(talk)


def test_index_host_runs_calls_concurrently(opened: qmd.Index) -> None:
    both = threading.Barrier(2, timeout=60)

    async def talk() -> None:
        host = IndexHost(lambda: opened)

        def meet(index: qmd.Index, cancelled: Cancelled) -> None:
            both.wait()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.call, meet)
            tasks.start_soon(host.call, meet)
        host.close()

    anyio.run(talk)


def test_index_host_tells_work_that_its_caller_was_cancelled(opened: qmd.Index) -> None:
    began, told = threading.Event(), threading.Event()

    def work(index: qmd.Index, cancelled: Cancelled) -> None:
        began.set()
        until(cancelled)
        told.set()

    async def talk() -> None:
        host = IndexHost(lambda: opened)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.call, work)
            await anyio.to_thread.run_sync(began.wait)
            tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(told.wait, 60)
        host.close()

    anyio.run(talk)


def test_index_host_frees_idle_models(opened: qmd.Index) -> None:
    clock = Clock()

    async def talk() -> None:
        host = IndexHost(lambda: opened, idle=300, clock=clock)
        assert host.release_idle_models() == 300
        await host.call(lambda index, _: index.query("water"), models=True)
        model = weakref.ref(opened.model_provider.embedder)
        clock.now += 200
        assert host.release_idle_models() == 100
        assert opened.model_provider.embedder is model()
        # A call that needs no models does not keep them in memory.
        await host.call(count)
        clock.now += 100
        assert host.release_idle_models() == 300
        assert is_freed(model)
        assert (await host.call(lambda index, _: index.query("water"), models=True)).hits
        host.close()

    anyio.run(talk)


def test_index_host_does_not_free_models_in_use(opened: qmd.Index) -> None:
    clock = Clock()
    began, go_on = threading.Event(), threading.Event()

    def long(index: qmd.Index, cancelled: Cancelled) -> None:
        began.set()
        go_on.wait(60)

    async def talk() -> None:
        host = IndexHost(lambda: opened, idle=300, clock=clock)
        await host.call(count, models=True)
        model = weakref.ref(opened.model_provider.embedder)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: host.call(long, models=True))
            await anyio.to_thread.run_sync(began.wait)
            clock.now += 1000
            assert host.release_idle_models() == 300
            assert opened.model_provider.embedder is model()
            assert not host.close()
            go_on.set()

    anyio.run(talk)


def test_releasing_models_frees_idle_models(opened: qmd.Index) -> None:
    async def talk() -> None:
        host = IndexHost(lambda: opened, idle=0)
        await host.call(count, models=True)
        model = weakref.ref(opened.model_provider.embedder)
        async with host.releasing_models():
            await anyio.to_thread.run_sync(until, lambda: is_freed(model))
        host.close()

    anyio.run(talk)


def test_idle_models_are_checked_by_one_task(opened: qmd.Index) -> None:
    async def talk() -> None:
        host = IndexHost(lambda: opened)
        tasks = len(asyncio.all_tasks())
        for _ in range(2):
            async with host.releasing_models(), host.releasing_models():
                await anyio.lowlevel.checkpoint()
                assert len(asyncio.all_tasks()) == tasks + 1
        host.close()

    anyio.run(talk)


def test_application_frees_idle_models_without_mcp_requests(
    opened: qmd.Index, environ: dict[str, str]
) -> None:
    async def talk() -> None:
        host = IndexHost(lambda: opened, idle=0)
        await host.call(count, models=True)
        model = weakref.ref(opened.model_provider.embedder)
        application = api(host, environ)
        async with application.router.lifespan_context(application):
            await anyio.to_thread.run_sync(until, lambda: is_freed(model))
        host.close()

    anyio.run(talk)


def test_pages_leave_threads_for_searches_and_quick_calls(opened: qmd.Index) -> None:
    held, go = threading.Barrier(PAGE_WORKERS + 1), threading.Event()

    def render(index: qmd.Index, cancelled: Cancelled) -> None:
        held.wait(PATIENCE)
        go.wait(PATIENCE)

    async def talk() -> None:
        host = IndexHost(lambda: opened)
        async with anyio.create_task_group() as tasks:
            for at in range(10 * SLOW_WORKERS):
                tasks.start_soon(partial(host.call, page=True), render if at < PAGE_WORKERS else count)
            await anyio.to_thread.run_sync(held.wait, PATIENCE)
            assert await host.call(count, models=True) == await host.call(count, slow=True) == 1
            assert await host.call(count) == 1
            go.set()
        assert host.close()

    anyio.run(talk)


def test_slow_calls_leave_threads_for_quick_ones(opened: qmd.Index) -> None:
    held, go = threading.Barrier(SLOW_WORKERS + 1), threading.Event()

    def hold(index: qmd.Index, cancelled: Cancelled) -> None:
        held.wait(PATIENCE)
        go.wait(PATIENCE)

    async def talk() -> None:
        host = IndexHost(lambda: opened)
        async with anyio.create_task_group() as tasks:
            for at in range(10 * SLOW_WORKERS):
                options = {"slow": True} if at % 2 else {"models": True}
                tasks.start_soon(partial(host.call, **options), hold if at < SLOW_WORKERS else count)
            await anyio.to_thread.run_sync(held.wait, PATIENCE)
            assert await host.call(count) == 1
            go.set()
        assert host.close()

    anyio.run(talk)

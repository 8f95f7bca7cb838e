"""Functions that tests run in processes of their own, and a way to run them."""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import ParamSpec, TypeVar

from qmd.config import editing
from qmd.types import Collection

P = ParamSpec("P")
T = TypeVar("T")

# Spawned, not forked: such a process shares nothing with the test but the files.
SPAWN = multiprocessing.get_context("spawn")
NOBODY = 65_534


def in_process(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result, or the exception, of calling `function` in a new process."""
    with ProcessPoolExecutor(max_workers=1, mp_context=SPAWN) as pool:
        return pool.submit(function, *args, **kwargs).result()


def add_when_all_are_there(path: str, name: str, barrier: Barrier) -> None:
    barrier.wait()
    editing.add_collection(path, Collection(name, f"/data/{name}"))


def edit_for_ever(path: str, barrier: Barrier) -> None:
    barrier.wait()
    while True:
        for text in ("short", "long " * 20_000):
            editing.set_context(path, None, "", text)


def add_with_a_full_disk(path: str, name: str) -> None:
    """Files cannot grow beyond 40 bytes here, as if the disk were full."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, hard))
    editing.add_collection(path, Collection(name, f"/data/{name}"))


def add_as_nobody(path: str, name: str) -> None:
    """The super-user may write everywhere, so rights are given up first."""
    # Nothing is left to import once the rights to read it may be gone.
    import filelock

    assert filelock
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    editing.add_collection(path, Collection(name, f"/data/{name}"))

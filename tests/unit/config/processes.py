"""Functions that tests run in other processes."""

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

# Spawned, not forked: the process shares only files with the test.
SPAWN = multiprocessing.get_context("spawn")
NOBODY = 65_534


def in_process(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a new process; return its result or raise its exception."""
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
    """Add a collection while files cannot grow beyond 40 bytes, as on a full disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, hard))
    editing.add_collection(path, Collection(name, f"/data/{name}"))


def add_as_nobody(path: str, name: str) -> None:
    """Add a collection as an unprivileged user, because root may write everywhere."""
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    editing.add_collection(path, Collection(name, f"/data/{name}"))

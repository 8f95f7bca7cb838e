"""A program that changes an index in Milvus and is killed: `python -m tests.store.killed URL WRITES`.

The process kills itself in place of its WRITES-th writing call. If there are fewer calls, it exits normally.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from qmd.store.base import Store
from qmd.store.opening import open_store
from tests.store.material import TEXTS, changed, config, embed_leased, fill

#: The next run on the same machine releases the leases of this worker.
WORKER = "machine/worker"
WRITING = ("upsert", "delete", "create_collection", "create_index", "load_collection", "drop_collection")


def begin(store: Store) -> None:
    """Make the index before the change."""
    fill(store)
    embed_leased(store, WORKER)


def change(store: Store) -> None:
    """Add, change, move and remove documents, and embed the new texts."""
    store.collections.sync(config("a", "b"))
    store.documents.apply(
        "a",
        [
            changed("ops/deploy.md", "pelicans deploy differently now", version=2),
            changed("new.md", "a new text about pelicans and 数据库"),
            changed("moved.md", TEXTS["ops/backup.md"]),
        ],
        ["ops/backup.md", "meetings/march.md"],
    )
    store.collections.finish_scan("a")
    embed_leased(store, WORKER)
    store.documents.prune()
    store.documents.refresh_statistics()


def _dying(method: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*args, **options)

    return call


def main(url: str, writes: int, fresh: bool) -> None:
    from pymilvus import MilvusClient

    left = [writes]
    for name in WRITING:
        setattr(MilvusClient, name, _dying(getattr(MilvusClient, name), left))
    store = open_store("", url, {})
    if fresh:
        begin(store)
    change(store)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["fresh"])

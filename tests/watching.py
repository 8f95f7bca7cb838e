"""A watcher of an index in a thread of the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import qmd
from qmd.engine.index_work import IndexWork
from qmd.engine.indexing.scan import ScanReport
from qmd.engine.watching.notify import Notifier, open_notifier
from qmd.engine.watching.watcher import Listener, Timing, Watcher
from tests.waiting import until

#: Short times, so that tests are fast.
FAST = Timing(scan_quiet=0.02, scan_longest=0.2, embed_quiet=0.05, embed_longest=0.2, check=0.05, retry=0.1)


class Diary(Listener):
    """A listener that records the actions of a watcher."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str]] = []
        self.scans: list[ScanReport] = []
        self.messages: list[str] = []
        self.embedded_texts = 0

    def changed(self, collection: str, path: str, kind: str) -> None:
        self.changes.append((path, kind))

    def scanned(self, report: ScanReport) -> None:
        self.scans.append(report)

    def embedded(self, report: Any) -> None:
        self.embedded_texts += report.texts

    def noted(self, message: str) -> None:
        self.messages.append(message)

    def failed(self, message: str) -> None:
        self.messages.append(message)


class Watched:
    """A watched index."""

    def __init__(self, index: qmd.Index, watcher: Watcher, diary: Diary) -> None:
        self.index = index
        self.watcher = watcher
        self.diary = diary

    @property
    def current(self) -> bool:
        """Whether the index contains all changes that were noticed."""
        return self.watcher.state is not None and self.watcher.state.current

    @property
    def folders(self) -> int:
        return 0 if self.watcher.state is None else self.watcher.state.folders

    def found(self, word: str) -> list[str]:
        """Return the paths of the documents with a word."""
        return sorted(hit.path for hit in self.index.search(word, limit=1000).hits)

    def until_found(self, word: str, *paths: str) -> None:
        until(lambda: self.found(word) == sorted(paths))


@contextmanager
def watched(
    index: qmd.Index,
    *,
    timing: Timing = FAST,
    notifier: Callable[[], Notifier | None] = open_notifier,
    embed: bool = False,
) -> Iterator[Watched]:
    """Watch an index until the end of the context.

    Unless `embed` is set, its collections are not embedded.
    """
    if not embed:
        no_embedding(index)
    stopped = threading.Event()
    diary = Diary()
    watcher = Watcher(IndexWork(index, stopped.is_set), "test", diary, notifier=notifier, timing=timing)
    thread = threading.Thread(target=watcher.run)
    thread.start()
    try:
        seen = Watched(index, watcher, diary)
        until(lambda: seen.current, thread.is_alive)
        yield seen
        assert thread.is_alive()
    finally:
        stopped.set()
        watcher.stop()
        thread.join()


def no_embedding(index: qmd.Index) -> None:
    """Set `embed: manual` for all collections."""
    path = Path(index.locations.config)
    if path.exists() and "embed:" not in (text := path.read_text(encoding="utf-8")):
        lines = text.splitlines()
        for at, line in reversed([*enumerate(lines)]):
            if line.lstrip().startswith("path:"):
                lines.insert(at + 1, line[: len(line) - len(line.lstrip())] + "embed: manual")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

"""Progress on stderr: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from qmd.cli.errors import Interrupted
from qmd.cli.session import Session
from qmd.cli.sizes import human_size
from qmd.cli.terminal import one_line, takes_escapes, write

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Seconds between two lines if stderr is not a terminal.
_INTERVAL = 10.0
#: Seconds before the progress of copying pages is shown.
_PAGES_DELAY = 1.0


class Bar:
    """A progress bar. It is imported and drawn at the first `update`, and never if `session` is quiet.

    Ctrl-C meanwhile says `if_interrupted`.
    """

    def __init__(self, label: str, session: Session, if_interrupted: str | None = None) -> None:
        self._label = label
        self._quiet = session.quiet
        self._if_interrupted = if_interrupted
        self._terminal = takes_escapes(sys.stderr)
        self._start = self._last = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, KeyboardInterrupt) and self._if_interrupted is not None:
            raise Interrupted(self._if_interrupted) from error

    def step(self, label: str, done: int = 0, total: int | None = None) -> None:
        """Show a step by its own label."""
        self.update(done, total, label=label)

    def files(self, collection: str, done: int, total: int) -> None:
        """Show the files scanned, until all are."""
        if done < total:
            self.update(done, total, label=collection)

    def bytes(self, done: int, total: int | None) -> None:
        self.update(done, total, f"{human_size(done)}{f' of {human_size(total)}' if total else ''}")

    def pages(self, done: int, total: int) -> None:
        """Show the pages copied, if that takes long."""
        if time.monotonic() - self._start >= _PAGES_DELAY:
            self.update(done, total, "pages")

    def update(self, done: int, total: int | None, detail: str = "", label: str | None = None) -> None:
        """Show that `done` of `total` is finished; `total` may be unknown."""
        if self._quiet:
            return
        title = one_line(label or self._label)
        if self._terminal:
            self._draw(title, done, total, detail)
        elif time.monotonic() - self._last >= _INTERVAL:
            self._last = time.monotonic()
            of = f" of {total:,}" if total is not None else ""
            write(f"{title}: {done:,}{of}{', ' + detail if detail else ''}\n", sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _draw(self, label: str, done: int, total: int | None, detail: str) -> None:
        from rich.text import Text

        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=30, style="dim", complete_style="green", pulse_style="dim"),
                TextColumn("{task.fields[count]}", markup=False),
                TextColumn("{task.fields[detail]}", markup=False),
                console=Console(stderr=True, highlight=False),
                transient=True,
            )
            self._task = self._bar.add_task(label, total=total, count="", detail="")
            self._bar.start()
        count = f"{done:,}/{total:,}" if total is not None else ""
        if self._task is not None:
            short = Text(label)
            short.truncate(24, overflow="ellipsis")
            self._bar.update(
                self._task, description=short.plain, completed=done, total=total, count=count, detail=detail
            )

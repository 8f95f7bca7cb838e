"""Progress on stderr: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from qmd.cli.session import Session
from qmd.cli.terminal import DIM, GREEN, cut, one_line, painted, takes_escapes, width_of, write
from qmd.cli.usage import Interrupted
from qmd.text.wording import human_size, plural, time_left

if TYPE_CHECKING:
    from qmd.engine.embedding.batches import EmbedProgress

#: Seconds between two lines if stderr is not a terminal, and between two drawings of the bar.
_LINE_INTERVAL, _INTERVAL = 10.0, 0.1
#: Seconds before the progress of copying pages is shown.
_PAGES_DELAY = 1.0
#: Columns of the widest label and bar, and of the narrowest ones.
_WIDEST_LABEL, _WIDEST_BAR, _NARROWEST = 24, 30, 8


class Bar:
    """A progress bar, which disappears at the end. It is not drawn if `session` is quiet.

    Ctrl-C meanwhile says `if_interrupted`.
    """

    def __init__(self, label: str, session: Session, if_interrupted: str | None = None) -> None:
        self._label = label
        self._quiet = session.quiet
        self._if_interrupted = if_interrupted
        self._terminal = takes_escapes(sys.stderr)
        self._start = self._last = time.monotonic()
        self._shown = ""  # the label on the terminal

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

    def files_of(self, collections: Sequence[str]) -> Callable[[str, int, int], None]:
        """Return `files` for these collections; of several, it also says the how many-th it is."""
        count = len(collections)
        labels = {name: f"{place}/{count} {name}" for place, name in enumerate(collections, 1) if count > 1}
        return lambda name, done, total: self.files(labels.get(name, name), done, total)

    def texts(self, progress: EmbedProgress) -> None:
        """Show how much of all text is embedded; texts differ too much in length to be counted."""
        done = f"{progress.share:.0%} of {plural(progress.texts_total, 'text')}"
        told = ", ".join(filter(None, (done, time_left(progress.seconds_left))))
        self.update(0, None, told, counted=False, share=progress.share)

    def bytes(self, done: int, total: int | None) -> None:
        text = f"{human_size(done)}{f' of {human_size(total)}' if total else ''}"
        self.update(done, total, text, counted=False)

    def pages(self, done: int, total: int) -> None:
        """Show the pages copied, if that takes long."""
        if time.monotonic() - self._start >= _PAGES_DELAY:
            self.update(done, total, "pages")

    def update(
        self,
        done: int,
        total: int | None,
        detail: str = "",
        label: str | None = None,
        *,
        counted: bool = True,
        share: float | None = None,
    ) -> None:
        """Show that `done` of `total` is finished; `total` may be unknown.

        There are no numbers if `counted` is false, because `detail` has them. The bar shows the
        `share`, 0..1, or else that of the numbers.
        """
        title = one_line(label or self._label)
        new = self._terminal and title != self._shown
        waited = time.monotonic() - self._last
        if self._quiet or not (new or waited >= (_INTERVAL if self._terminal else _LINE_INTERVAL)):
            return
        self._last = time.monotonic()
        if self._terminal:
            self._shown = title
            count = f"{done:,}/{total:,}" if total is not None and counted else ""
            if share is None and total:
                share = done / total
            self._draw(title, share, f"{count} {detail}".strip())
        else:
            of = f"{done:,} of {total:,}" if total is not None else f"{done:,}" if done else ""
            of = of if counted else ""
            told = " ".join(filter(None, (of, detail)))
            write(f"{title}{f': {told}' if told else ' ...'}\n", sys.stderr)

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._shown:
            write("\r\x1b[K", sys.stderr)
            self._shown = ""

    def _draw(self, title: str, share: float | None, text: str) -> None:
        """Draw one line. The label and the bar get the columns that the text leaves."""
        space = (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1 - width_of(f" {text}")
        parts = [cut(title, max(min(space, _WIDEST_LABEL), _NARROWEST))]
        width = min(space - width_of(f"{parts[0]} "), _WIDEST_BAR)
        if share is not None and width >= _NARROWEST:
            filled = round(min(share, 1) * width)
            done, left = "#" * filled, "-" * (width - filled)
            parts.append(painted(done, GREEN, stream=sys.stderr) + painted(left, DIM, stream=sys.stderr))
        write(f"\r{' '.join([*parts, text])}\x1b[K", sys.stderr)
        sys.stderr.flush()

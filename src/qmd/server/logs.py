"""The log of a server, which hostile clients must not be able to fill."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Hashable

_MINUTE = 60.0

#: Loggers of messages that a client can cause as often as it likes.
_CLIENTS = (
    "uvicorn.error",
    "qmd.http.status",
    "qmd.server.access",
    "qmd.server.connections",
    "qmd.server.host_check",
    "qmd.server.listener",
)


def configure() -> None:
    """Log warnings and errors to stderr; those that clients cause, once a minute each."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=form)
    for name in _CLIENTS:
        logging.getLogger(name).addFilter(OnceAMinute())


class OnceAMinute(logging.Filter):
    """Lets one message of a kind through each minute; the next one says how many were left out.

    Messages are of one kind if they differ in their arguments only, and tracebacks if they are of one place.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[Hashable, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether to log a record."""
        kind = (record.msg, _place(record))
        now = self._clock()
        logged_at, left_out = self._kinds.get(kind, (-_MINUTE, 0))
        if now - logged_at < _MINUTE:
            self._kinds[kind] = (logged_at, left_out + 1)
            return False
        self._kinds[kind] = (now, 0)
        if left_out:
            record.msg = f"{str(record.msg).rstrip()} (and {left_out:,} more like this one)"
        return True


def _place(record: logging.LogRecord) -> Hashable:
    """The line that raised what a record tells of."""
    trace = record.exc_info[2] if record.exc_info else None
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename, trace.tb_lineno

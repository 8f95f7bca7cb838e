"""The log of a server, with a limit on messages that hostile clients could repeat."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Hashable

_MINUTE = 60.0

#: Loggers with messages that clients can cause without limit.
_LIMITED_LOGGERS = (
    "uvicorn.error",
    "qmd.http.status",
    "qmd.server.access",
    "qmd.server.connections",
    "qmd.server.host_check",
    "qmd.server.listener",
)


def configure() -> None:
    """Log warnings and errors to stderr. Messages that clients can cause appear once a minute each."""
    layout = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=layout)
    for name in _LIMITED_LOGGERS:
        logging.getLogger(name).addFilter(OnceAMinute())


class OnceAMinute(logging.Filter):
    """Passes one message of a kind per minute. The next one says how many were left out.

    Messages are of the same kind if they differ only in their arguments. Tracebacks are of the same kind if
    the same line raised them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[Hashable, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record."""
        kind = (record.msg, _origin(record))
        now = self._clock()
        logged_at, left_out = self._kinds.get(kind, (-_MINUTE, 0))
        if now - logged_at < _MINUTE:
            self._kinds[kind] = (logged_at, left_out + 1)
            return False
        self._kinds[kind] = (now, 0)
        if left_out:
            record.msg = f"{str(record.msg).rstrip()} (and {left_out:,} more like this one)"
        return True


def _origin(record: logging.LogRecord) -> Hashable:
    """Return the file and line that raised the exception of a record, or None."""
    trace = record.exc_info[2] if record.exc_info else None
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename, trace.tb_lineno

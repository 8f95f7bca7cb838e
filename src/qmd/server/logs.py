"""The log of a server. Messages that clients can cause without limit appear once a minute each."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Hashable

_MINUTE = 60.0
#: The names of loggers with messages that clients can cause.
_client_loggers = ["uvicorn.error"]


def client_logger(name: str) -> logging.Logger:
    """Return a logger for messages that clients can cause, before the server calls `configure`."""
    _client_loggers.append(name)
    return logging.getLogger(name)


def configure() -> None:
    """Log warnings and errors to stderr. Messages that clients can cause appear once a minute each."""
    layout = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=layout)
    for name in _client_loggers:
        logging.getLogger(name).addFilter(_OnceAMinute())


class _OnceAMinute(logging.Filter):
    """Passes one message of a kind per minute. The next one says how many were left out.

    Messages are of the same kind if they differ only in their arguments. Tracebacks are of the same kind if
    the same line raised them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[Hashable, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = (record.msg, _origin(record))
        now = time.monotonic()
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
    frames = [*traceback.walk_tb(record.exc_info[2])] if record.exc_info else []
    return (frames[-1][0].f_code.co_filename, frames[-1][1]) if frames else None

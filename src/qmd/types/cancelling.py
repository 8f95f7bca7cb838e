"""Stopping work whose result nobody needs any more."""

from __future__ import annotations

from collections.abc import Callable

from qmd.errors import ModelError

#: Called between steps of the work; returns True if the caller no longer needs the result.
Cancelled = Callable[[], bool]


class CancelledError(ModelError):
    """Raised after `cancelled` returned True; there is no result."""

    def __init__(self) -> None:
        super().__init__("Cancelled")


def stop_if_cancelled(cancelled: Cancelled | None) -> None:
    """Raise `CancelledError` if the work is cancelled. Work with None always goes on."""
    if cancelled is not None and cancelled():
        raise CancelledError

"""The findings of the doctor's checks."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Literal, TypeVar

from msgspec import Struct

from qmd.errors import QmdError

Level = Literal["ok", "warning", "problem"]
Value = TypeVar("Value")


class Finding(Struct, frozen=True):
    """One line of the report. `hint` says how to repair it, or gives advice.

    With a `problem`, something does not work. With a `warning`, something will stop working, or results
    are worse than they could be.
    """

    check: str
    level: Level
    message: str
    hint: str | None = None


def ok(check: str, message: str, hint: str | None = None) -> Finding:
    return Finding(check, "ok", message, hint)


def warning(check: str, message: str, hint: str) -> Finding:
    return Finding(check, "warning", message, hint)


def problem(check: str, message: str, hint: str | None) -> Finding:
    return Finding(check, "problem", message, hint)


def failed(check: str, error: QmdError) -> Finding:
    return problem(check, error.message, error.hint)


def attempt(check: str, call: Callable[[], Value]) -> Generator[Finding, None, Value | None]:
    """Return the value of a call. If it raises an error, yield that as a problem and return None."""
    try:
        return call()
    except QmdError as error:
        yield failed(check, error)
        return None

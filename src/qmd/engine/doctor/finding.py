"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qmd.errors import QmdError

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `hint` says how to mend it, or what may be of use.

    A `problem` keeps something from working; a `warning` will, or makes answers worse.
    """

    check: str
    level: Level
    message: str
    hint: str | None = None


def ok(check: str, message: str, hint: str | None = None) -> Finding:
    """All is well."""
    return Finding(check, "ok", message, hint)


def warning(check: str, message: str, hint: str) -> Finding:
    """Something to look at."""
    return Finding(check, "warning", message, hint)


def problem(check: str, message: str, hint: str | None) -> Finding:
    """Something that does not work."""
    return Finding(check, "problem", message, hint)


def failed(check: str, error: QmdError) -> Finding:
    """What could not be done, as a problem."""
    return problem(check, error.message, error.hint)

"""The findings of the doctor's checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qmd.errors import QmdError

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `hint` says how to repair it, or gives advice.

    With a `problem`, something does not work. With a `warning`, something will stop working, or results
    are worse than they could be.
    """

    check: str
    level: Level
    message: str
    hint: str | None = None


def ok(check: str, message: str, hint: str | None = None) -> Finding:
    """Return a finding for a check that passed."""
    return Finding(check, "ok", message, hint)


def warning(check: str, message: str, hint: str) -> Finding:
    """Return a finding for a state that needs attention."""
    return Finding(check, "warning", message, hint)


def problem(check: str, message: str, hint: str | None) -> Finding:
    """Return a finding for a function that does not work."""
    return Finding(check, "problem", message, hint)


def failed(check: str, error: QmdError) -> Finding:
    """Return an error as a problem."""
    return problem(check, error.message, error.hint)

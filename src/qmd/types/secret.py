"""Texts that must not be shown."""

from __future__ import annotations


class Secret(str):
    """A key or password. Its `repr`, which logs and tracebacks show, does not contain it."""

    def __repr__(self) -> str:
        return "Secret(...)"

"""The options and the result of a fault of `faults.py`."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field


class Result(Struct):
    """The result of a fault. `wrong` lists failed checks; `notes` are figures."""

    fault: str
    rounds: int = 0
    lost: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)

    def count(self, note: str, number: int = 1) -> None:
        self.notes[note] = self.notes.get(note, 0) + number


class Options(Struct, frozen=True):
    """The number of rounds, the time limit, the seed and the folder."""

    rounds: int
    seconds: float
    seed: int
    work: Path


class NotPermittedError(Exception):
    """The fault needs a permission that this process does not have."""

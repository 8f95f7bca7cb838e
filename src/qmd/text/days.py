"""The days that a relative date stands for, once it is resolved."""

from __future__ import annotations

from msgspec import Struct


class Days(Struct, frozen=True):
    """The days that a relative date stands for, from `first` to `last`; see `qmd.text.relative_dates`.

    Equality takes those up to `whole`. That differs from `last` for a length of time: `date:7d` are the last
    seven days, and `[due>7d]` compares with the day seven days ago.
    """

    first: str
    last: str
    whole: str

    def ends(self, operator: str) -> tuple[str, str]:
        """Return the first and the last of the days that an operator compares with."""
        return self.first, self.whole if operator == "eq" else self.last

    def shown(self, operator: str) -> str:
        """Return the day that an operator compares with, or `2026-11-16..2026-11-22`."""
        first, last = self.ends(operator)
        if operator == "eq" and first != last:
            return f"{first}..{last}"
        return last if operator in ("lte", "gt") else first

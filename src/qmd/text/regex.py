"""Regular expressions that are compiled on their first use."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class LazyPattern:
    """A pattern that is compiled on its first use: a search uses few of those that its modules keep.

    Its attributes are those of `re.Pattern`, and cost no more after their first use.
    """

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def compiled(self) -> re.Pattern[Any]:
        """Return the compiled pattern."""
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.compiled(), name)
        setattr(self, name, value)
        return value


def lazy(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled on its first use."""
    return cast("re.Pattern[AnyStr]", LazyPattern(text, flags))

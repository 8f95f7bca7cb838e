"""Regular expressions that are compiled on their first use, and kept compiled beside the bytecode.

To compile the patterns of a search takes more than to load its modules. So the code of a pattern is kept as
Python keeps bytecode: in `__pycache__`, by the version of Python, if bytecode is written at all. If anything
is wrong with what was kept, the pattern is compiled.
"""

from __future__ import annotations

import os
import re
import sys
from _imp import source_hash
from _thread import get_ident
from contextlib import suppress
from marshal import dumps, loads
from typing import Any, AnyStr, cast

#: A larger file has the patterns of many versions, and is begun anew.
_MOST_BYTES = 4_000_000
#: The bytes of the hash by which Python checks bytecode against its source.
_HASH = 8


class KeptPatterns:
    """The codes of patterns in a file: a head, a hash, and a dict by what they are made of."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._head = f"{sys.version} {sys.byteorder}\n".encode()
        self._codes: dict[bytes, bytes] | None = None

    def pattern(self, text: str | bytes, flags: int) -> re.Pattern[Any]:
        """Return a compiled pattern."""
        flags = int(flags)  # those of `re` are not kept
        key = dumps((text, flags))
        with suppress(Exception):  # whatever it is, the pattern can be compiled
            if (code := self._read().get(key)) is not None:
                return _made(text, *loads(code))
        compiled = re.compile(text, flags)
        if not sys.dont_write_bytecode:
            with suppress(Exception):  # as for bytecode: there may be no right to write, or no room
                self._keep(key, dumps(_code(text, flags)))
        return compiled

    def _read(self) -> dict[bytes, bytes]:
        if self._codes is None:
            self._codes = {}
            with open(self._file, "rb") as file:
                content = file.read(_MOST_BYTES + 1)
            head, codes = content[: len(self._head) + _HASH], content[len(self._head) + _HASH :]
            if head == self._head + source_hash(0, codes) and len(content) <= _MOST_BYTES:
                self._codes = loads(codes)
        return self._codes

    def _keep(self, key: bytes, code: bytes) -> None:
        """Add a pattern. What another process has added meanwhile is lost, and added again by the next."""
        self._read()[key] = code
        codes = dumps(self._codes)
        new = f"{self._file}.{os.getpid()}.{get_ident()}"
        with open(new, "wb") as file:
            file.write(self._head + source_hash(0, codes) + codes)
        os.replace(new, self._file)


def _code(text: str | bytes, flags: int) -> tuple[Any, ...]:
    """Return what `re` makes of a pattern: its flags, code, number of groups and their names."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(text, flags)
    code, names = [*map(int, _compiler._code(parsed, flags))], parsed.state.groupdict
    by_number = {number: name for name, number in names.items()}
    numbered = tuple(map(by_number.get, range(parsed.state.groups)))
    return flags | parsed.state.flags, code, len(numbered) - 1, names, numbered


def _made(text: str | bytes, *code: Any) -> re.Pattern[Any]:
    from _sre import compile as make  # type: ignore[import-not-found]

    made: re.Pattern[Any] = make(text, *code)
    return made


_CACHED = __spec__.cached if __spec__ is not None else None
_KEPT = KeptPatterns(f"{_CACHED.removesuffix('.pyc')}.patterns") if _CACHED else None


class LazyPattern:
    """A pattern that is compiled on its first use: a search uses few of those that its modules keep.

    Its attributes are those of `re.Pattern`, and cost no more after their first use.
    """

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags
        self._compiled: re.Pattern[Any] | None = None

    def compiled(self) -> re.Pattern[Any]:
        """Return the compiled pattern."""
        if self._compiled is None:
            make = re.compile if _KEPT is None else _KEPT.pattern
            self._compiled = make(self._text, self._flags)
        return self._compiled

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.compiled(), name)
        setattr(self, name, value)
        return value


def lazy(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled on its first use."""
    return cast("re.Pattern[AnyStr]", LazyPattern(text, flags))

"""Requests of other processes to the one that embeds, to embed their collections too.

Each leaves a file beside the index before it looks at the lock for the last time, and the one that embeds
looks at the files after it has given the lock back. So one of both has seen the other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from msgspec import ValidationError
from msgspec.json import Decoder, encode

from qmd.config.atomic import create_beside
from qmd.errors import StoreError
from qmd.system import NO_LINK

#: The end of the names of such files.
_ENDING = ".wanted"
_MAX_BYTES = 1_000_000
_names = Decoder(list[str])


class Asked:
    """The collections that were asked for, for the index at `location`."""

    def __init__(self, location: str) -> None:
        self._path = os.path.realpath(f"{location}.embed")
        #: The files whose collections `read` has returned.
        self._read: list[str] = []

    def ask(self, collections: Sequence[str]) -> None:
        """Ask for collections. Raises `StoreError` if the file cannot be written."""
        try:
            file, temporary = create_beside(self._path)
            with open(file, "wb") as stream:
                stream.write(encode(collections))
            os.replace(temporary, temporary.removesuffix(".tmp") + _ENDING)
        except OSError as error:
            raise StoreError(
                f"cannot write beside {self._path}: {error.strerror}",
                "check the folder's permissions and free space",
            ) from error

    def read(self) -> tuple[str, ...]:
        """Return the collections that were asked for. `answered` forgets them."""
        folder, start = os.path.split(f"{self._path}.")
        names: dict[str, None] = {}
        for name in sorted(os.listdir(folder)):
            if name.startswith(start) and name.endswith(_ENDING):
                path = os.path.join(folder, name)
                names |= dict.fromkeys(_content(path))
                self._read.append(path)
        return tuple(names)

    def answered(self) -> bool:
        """Forget the collections that `read` has returned; return whether there were any."""
        read, self._read = self._read, []
        for path in read:
            with suppress(FileNotFoundError):
                os.unlink(path)
        return bool(read)


def _content(path: str) -> list[str]:
    try:
        with open(os.open(path, os.O_RDONLY | NO_LINK), "rb") as file:
            return _names.decode(file.read(_MAX_BYTES))
    except (OSError, ValidationError, ValueError):  # nobody who asks writes such a file
        return []

"""What sessions of agents have been given: the hashes of passages, so that none is given twice.

A server remembers in memory. Hooks and the command line, which end after each call, remember in small files.
"""

# os.path instead of pathlib, because hooks import this at every prompt.

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from qmd.errors import StoreError
from qmd.system import NO_LINK
from qmd.text.digest import sha256
from qmd.text.wording import visible

#: Seconds after its last use that a session is forgotten.
LIFETIME = 7 * 86_400.0
#: The most sessions, and the most passages of one. Those that were given first are forgotten first.
MAX_SESSIONS, MAX_PASSAGES = 1_000, 5_000
#: Characters of the hash of a passage, enough to tell those of one session apart.
_HASH = 16
_MAX_ADDRESS = 500
#: The bytes of a file with `MAX_PASSAGES` short addresses.
_MAX_BYTES = 400_000


def passage_hash(text: str) -> str:
    """Return the short hash of a passage, which does not depend on spaces and line ends around it."""
    return sha256(text.strip().encode("utf-8", "surrogatepass"))[:_HASH]


class Given(Protocol):
    """Remembers the passages of sessions. Safe to share between threads."""

    def of(self, session: str) -> Mapping[str, str]:
        """Return the addresses of the passages that a session has been given, by their hashes, in order."""

    def add(self, session: str, passages: Mapping[str, str]) -> None:
        """Remember the addresses of passages by their hashes."""


class GivenInMemory:
    """Remembers as long as the process runs. `clock` returns seconds from any start."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        #: The passages of each session and the time of its last use; last used last.
        self._sessions: dict[str, tuple[dict[str, str], float]] = {}

    def of(self, session: str) -> Mapping[str, str]:
        with self._lock:
            passages, used = self._sessions.get(session, ({}, self._clock()))
            return dict(passages) if self._clock() - used <= LIFETIME else {}

    def add(self, session: str, passages: Mapping[str, str]) -> None:
        known = self.of(session)
        with self._lock:
            self._sessions.pop(session, None)
            self._sessions[session] = _newest({**known, **passages}), self._clock()
            while len(self._sessions) > MAX_SESSIONS:
                del self._sessions[next(iter(self._sessions))]


class GivenFiles:
    """Remembers in a folder: a private file for each session, with a line for each passage.

    Lines are appended, so two processes may add to a session at once.
    """

    def __init__(self, cache_dir: str, clock: Callable[[], float] = time.time) -> None:
        self._folder = os.path.join(cache_dir, "given")
        self._clock = clock

    def of(self, session: str) -> Mapping[str, str]:
        """Return the passages of a session. A file that cannot be read has none."""
        try:
            file = os.open(self._path(session), os.O_RDONLY | NO_LINK)
        except OSError:
            return {}
        with open(file, "rb") as stream:
            if self._clock() - os.fstat(file).st_mtime > LIFETIME:
                return {}
            lines = stream.read(2 * _MAX_BYTES).decode("utf-8", "replace").splitlines()
        rows = (line.partition("\t") for line in lines)
        return _newest({hash_: address for hash_, tab, address in rows if tab and len(hash_) == _HASH})

    def forget(self, session: str) -> None:
        """Forget a session."""
        with suppress(OSError):
            os.unlink(self._path(session))

    def add(self, session: str, passages: Mapping[str, str]) -> None:
        """Remember passages. Raises `StoreError` if the folder cannot be written."""
        path = self._path(session)
        lines = "".join(
            f"{hash_}\t{visible(address[:_MAX_ADDRESS])}\n" for hash_, address in passages.items()
        ).encode("utf-8", "replace")
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._forget_old()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK
            with open(os.open(path, flags, 0o600), "ab") as file:
                if os.fstat(file.fileno()).st_size + len(lines) > _MAX_BYTES:
                    file.truncate(0)  # a passage may be repeated once in 5,000
                file.write(lines)
                file.flush()
                os.utime(file.fileno(), (self._clock(), self._clock()))
        except OSError as error:
            raise StoreError(
                f"cannot write {path}: {error.strerror}", "check the folder's permissions and free space"
            ) from error

    def _path(self, session: str) -> str:
        # The name of a session comes from outside, and may be anything.
        return os.path.join(self._folder, sha256(session.encode("utf-8", "surrogatepass"))[:32])

    def _forget_old(self) -> None:
        """Delete the files of forgotten sessions."""
        used: dict[str, float] = {}
        with os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    used[entry.path] = entry.stat(follow_symlinks=False).st_mtime
        newest = sorted(used, key=lambda path: -used[path])
        for place, path in enumerate(newest):
            if place >= MAX_SESSIONS or self._clock() - used[path] > LIFETIME:
                with suppress(OSError):
                    os.unlink(path)


def _newest(passages: dict[str, str]) -> dict[str, str]:
    return dict([*passages.items()][-MAX_PASSAGES:])

"""The passages that sessions of agents have been given, by their hashes, so that none is given twice.

A server remembers in memory. Hooks and the command line, which end after each call, remember in small files.
"""

# os.path instead of pathlib, because hooks import this at every prompt.

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from typing import BinaryIO, Protocol

from qmd.errors import StoreError
from qmd.system import NO_LINK
from qmd.system.locks import wait_for_lock
from qmd.text.digest import PASSAGE_HASH, sha256
from qmd.text.regex import lazy
from qmd.text.wording import visible

#: Seconds after its last use that a session is forgotten.
LIFETIME = 7 * 86_400.0
#: The most sessions, and the most passages of one. Those that were given first are forgotten first.
MAX_SESSIONS, MAX_PASSAGES = 1_000, 5_000
_MAX_ADDRESS = 500
#: The bytes of a file with `MAX_PASSAGES` short addresses.
_MAX_BYTES = 400_000
_RELEVANCE = lazy(r"[01]\.\d{4}")


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

    A line has the hash, the address and how relevant the passage was, by tabs. Lines are appended, so two
    processes may add to a session at once.
    """

    def __init__(self, cache_dir: str, clock: Callable[[], float] = time.time) -> None:
        self._folder = os.path.join(cache_dir, "given")
        self._clock = clock

    def of(self, session: str) -> Mapping[str, str]:
        """Return the passages of a session. A file that cannot be read has none."""
        return _newest({hash_: address for hash_, address, _ in self._rows(session)})

    def best_first(self, session: str) -> list[str]:
        """Return the addresses of a session, each once, the most relevant first; of equal ones the newest."""
        rows = [*self._rows(session)]
        rows.reverse()
        rows.sort(key=lambda row: -row[2])
        return [*dict.fromkeys(address for _, address, _ in rows)]

    def forget(self, session: str) -> None:
        """Forget a session."""
        with suppress(OSError):
            os.unlink(self._path(session))

    def move(self, session: str, other: str) -> None:
        """Add the passages of a session to another, and forget them in the first. Raises as `add`."""
        lines = [_line(*row) for row in self._rows(session)]
        if lines:
            self._append(other, lines)
            self.forget(session)

    def add(self, session: str, passages: Mapping[str, str]) -> None:
        """Remember passages. Raises `StoreError` if the folder cannot be written."""
        self._append(session, [_line(hash_, address) for hash_, address in passages.items()])

    def claim(self, session: str, passages: Mapping[str, str], relevance: Mapping[str, float]) -> bool:
        """Remember passages unless the session has one of them by now. Return whether they are remembered.

        Of two processes that give one passage at the same moment, only the first may. Raises as `add`.

        Args:
            session: The session.
            passages: Addresses of passages by their hashes.
            relevance: How relevant each is to what was asked, by its hash.
        """
        lines = [_line(hash_, address, relevance.get(hash_, 0.0)) for hash_, address in passages.items()]
        return self._append(session, lines, frozenset(passages))

    def _rows(self, session: str) -> Iterator[tuple[str, str, float]]:
        """Yield the hash, address and relevance of each passage, in order."""
        try:
            file = os.open(self._path(session), os.O_RDONLY | NO_LINK)
        except OSError:
            return
        with open(file, "rb") as stream:
            if self._clock() - os.fstat(file).st_mtime <= LIFETIME:
                yield from _read(stream)

    def _append(self, session: str, lines: Iterable[bytes], unless: Set[str] = frozenset()) -> bool:
        """Add lines unless the file has a hash of `unless`; return whether they were added."""
        path, data = self._path(session), b"".join(lines)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._forget_old()
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | NO_LINK
            with open(os.open(path, flags, 0o600), "a+b") as file:
                if unless:
                    wait_for_lock(file.fileno())  # for as long as another process takes to add its lines
                file.seek(0)
                if unless and any(hash_ in unless for hash_, _, _ in _read(file)):
                    return False
                if os.fstat(file.fileno()).st_size + len(data) > _MAX_BYTES:
                    file.truncate(0)  # a passage may be repeated once in 5,000
                file.write(data)
                file.flush()
                os.utime(file.fileno(), (self._clock(), self._clock()))
        except OSError as error:
            raise StoreError(
                f"cannot write {path}: {error.strerror}", "check the folder's permissions and free space"
            ) from error
        return True

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


def _line(hash_: str, address: str, relevance: float = 0.0) -> bytes:
    return f"{hash_}\t{visible(address[:_MAX_ADDRESS])}\t{relevance:.4f}\n".encode("utf-8", "replace")


def _read(stream: BinaryIO) -> Iterator[tuple[str, str, float]]:
    """Yield the rows of a file. The lines of earlier versions have no relevance."""
    for line in stream.read(2 * _MAX_BYTES).decode("utf-8", "replace").splitlines():
        hash_, tab, rest = line.partition("\t")
        address, _, relevance = rest.partition("\t")
        if tab and len(hash_) == PASSAGE_HASH:
            yield hash_, address, float(relevance) if _RELEVANCE.fullmatch(relevance) else 0.0

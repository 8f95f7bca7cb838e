"""A server in the background: started, found again, ended.

It holds a lock on its PID file for as long as it lives. The lock goes with the process, so a number that is
left behind, or was given to another process since, is never taken for it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from qmd.errors import BusyError, QmdError, StoreError

#: How long a server may take to end when asked to, in seconds, before it is made to.
PATIENCE = 10.0
#: A log larger than this is begun anew, and the old one kept beside it, in bytes.
_LOG_SIZE = 1_000_000


@dataclass(frozen=True, slots=True)
class Daemon:
    """The files of one server in the background: the number of its process, and what it says."""

    pid_file: str
    log: str

    def start(self, command: Sequence[str]) -> str:
        """Run a command in the background; returns its first line, which says that it is ready.

        Raises `BusyError` where it runs already, `QmdError` with its last words where it ends instead.
        """
        with self._opened() as (file, owned):
            if not owned:
                pid = _number(file)
                raise BusyError(
                    f"already running (process {pid})" if pid else "already being started",
                    "end it with 'stop' in place of '--daemon'",
                )
            os.ftruncate(file, 0)
            self._turn_log()
            with open(self.log, "ab") as log:
                before = log.tell()
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    # Its copy of the file holds the lock once this process has ended.
                    pass_fds=[file],
                    start_new_session=True,
                )
            os.pwrite(file, f"{process.pid}\n".encode(), 0)
            assert process.stdout is not None
            ready = process.stdout.readline().decode("utf-8", "replace").strip()
            if not ready:
                process.wait()
                os.ftruncate(file, 0)
                raise self._ended(before)
            return ready

    def running(self) -> int | None:
        """The number of the server's process, where it runs."""
        if not os.path.exists(self.pid_file):
            return None
        with self._opened() as (file, owned):
            return None if owned else _number(file)

    def stop(self, patience: float = PATIENCE) -> int | None:
        """End the server; returns the number that its process had, None where it was not running."""
        if not os.path.exists(self.pid_file):
            return None
        with self._opened() as (file, owned):
            pid = None if owned else _number(file)
            if pid is not None:
                # The lock is held, so the number is that of the process which holds it.
                end_holder(pid, file, patience)
            if owned or pid is not None:
                os.unlink(self.pid_file)
            return pid

    @contextmanager
    def _opened(self) -> Iterator[tuple[int, bool]]:
        """The PID file, and whether nobody else holds its lock, so that it is held here."""
        file = self._open()
        try:
            owned = lock(file)
            while owned and not self._is_current(file):
                # It was removed while this waited for its lock.
                os.close(file)
                file = self._open()
                owned = lock(file)
            yield file, owned
        finally:
            os.close(file)

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self.pid_file))
        except FileNotFoundError:
            return False

    def _open(self) -> int:
        try:
            os.makedirs(os.path.dirname(self.pid_file), mode=0o700, exist_ok=True)
            return os.open(self.pid_file, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"cannot use {self.pid_file}: {error.strerror}") from error

    def _turn_log(self) -> None:
        with suppress(FileNotFoundError):
            if os.path.getsize(self.log) > _LOG_SIZE:
                os.replace(self.log, f"{self.log}.1")

    def _ended(self, before: int) -> QmdError:
        with open(self.log, "rb") as log:
            log.seek(before)
            said = log.read().decode("utf-8", "replace").strip()
        lines = said.splitlines()
        errors = [line for line in lines if line.startswith("Error: ")]
        wrong = [*lines[-1:], *errors[:1]] or ["the server ended at once"]
        return QmdError(wrong[-1].removeprefix("Error: "), f"see {self.log}")


def end_holder(pid: int, file: int, patience: float = PATIENCE) -> None:
    """End the process that holds the lock of a file, and take the lock."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if not _locked_within(file, patience):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        fcntl.flock(file, fcntl.LOCK_EX)


def lock(file: int) -> bool:
    """Take the lock of a file; returns whether nobody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _locked_within(file: int, seconds: float) -> bool:
    due = time.monotonic() + seconds
    while not lock(file):
        if time.monotonic() >= due:
            return False
        time.sleep(0.02)
    return True


def _number(file: int) -> int | None:
    digits = os.pread(file, 32, 0).strip()
    return int(digits) if digits.isdigit() else None

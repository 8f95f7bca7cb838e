"""A server in the background, with a PID file.

The server holds a lock on its PID file while it runs. The lock ends with the process. So a stale file, or a
PID that the system has given to another process, is never taken for the server.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from subprocess import DEVNULL, PIPE

from msgspec import Struct

from qmd.config.held_file import open_private, try_to_hold
from qmd.errors import BusyError, QmdError
from qmd.processes import start
from qmd.system import kill, read_start, resume, share_with_child, write_start

#: Seconds between SIGTERM and SIGKILL.
STOP_TIMEOUT = 10.0
#: Maximum size of the log in bytes at the start of a server. A larger log is renamed.
_MAX_LOG_SIZE = 1_000_000


class Daemon(Struct, frozen=True):
    """The PID file and the log of a server in the background."""

    pid_file: str
    log: str

    def start(self, command: Sequence[str]) -> str:
        """Run a command in the background. Return its first line, which it prints when it is ready.

        If the command ends before it is ready, its own error is raised.
        """
        with self._locked() as (file, acquired):
            if not acquired:
                pid = _pid(file)
                raise BusyError(
                    f"already running (process {pid})" if pid else "already starting",
                    "stop it with 'stop' in place of '--daemon'",
                )
            os.ftruncate(file, 0)
            self._rotate_log()
            with open(self.log, "ab") as log:
                end = log.tell()
                process = start(
                    command,
                    folder=os.getcwd(),  # it may be in a project, and options may have relative paths
                    stdin=DEVNULL,
                    stdout=PIPE,
                    stderr=log,
                    # The inherited file keeps the lock after this process has ended.
                    **share_with_child(file),
                )
            write_start(file, f"{process.pid}\n".encode())
            assert process.stdout is not None
            first_line = process.stdout.readline().decode("utf-8", "replace").strip()
            if not first_line:
                process.wait()
                os.ftruncate(file, 0)
                raise self._start_error(end)
            return first_line

    def running(self) -> int | None:
        if not os.path.exists(self.pid_file):
            return None
        with self._locked() as (file, acquired):
            return None if acquired else _pid(file)

    def stop(self, timeout: float = STOP_TIMEOUT) -> int | None:
        """Stop the server. Return its former PID, or None if it was not running."""
        if not os.path.exists(self.pid_file):
            return None
        with self._locked() as (file, acquired):
            pid = None if acquired else _pid(file)
            if pid is not None:
                # The lock is held, so the PID is that of the holder.
                stop_holder(pid, file, timeout)
            if acquired or pid is not None:
                os.unlink(self.pid_file)
            return pid

    @contextmanager
    def _locked(self) -> Iterator[tuple[int, bool]]:
        """Yield the open PID file, and whether its lock could be acquired."""
        file = open_private(self.pid_file, "use")
        try:
            acquired = try_to_hold(file)
            while acquired and not self._is_current(file):
                # Another process removed the file before it was locked.
                os.close(file)
                file = open_private(self.pid_file, "use")
                acquired = try_to_hold(file)
            yield file, acquired
        finally:
            os.close(file)

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self.pid_file))
        except FileNotFoundError:
            return False

    def _rotate_log(self) -> None:
        with suppress(FileNotFoundError):
            if os.path.getsize(self.log) > _MAX_LOG_SIZE:
                os.replace(self.log, f"{self.log}.1")

    def _start_error(self, end: int) -> QmdError:
        with open(self.log, "rb") as log:
            log.seek(end)
            lines = log.read().decode("utf-8", "replace").strip().splitlines()
        errors = [line for line in lines if line.startswith("Error: ")]
        messages = [*lines[-1:], *errors[:1]] or ["the server ended immediately"]
        return QmdError(messages[-1].removeprefix("Error: "), f"see {self.log}")


def stop_holder(pid: int, file: int, timeout: float = STOP_TIMEOUT) -> None:
    """Stop the process that holds the lock of a file, and acquire the lock."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        resume(pid)
    if not _lock_within(file, timeout):
        with suppress(ProcessLookupError):
            kill(pid)
        while not _lock_within(file, timeout):
            pass


def _lock_within(file: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not try_to_hold(file):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


def _pid(file: int) -> int | None:
    digits = read_start(file, 32).strip()
    return int(digits) if digits.isdigit() else None

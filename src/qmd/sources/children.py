"""Read files in child processes with limits, several at a time.

A child that crashes, hangs or needs too much memory costs the file that it was reading.
"""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import Self

from msgspec import json
from msgspec.structs import replace

from qmd.errors import SourceError
from qmd.processes import processors, python, start
from qmd.sources.child import Answer, Request
from qmd.sources.decoding import MAX_LINES
from qmd.sources.formats import registry
from qmd.sources.formats.base import CRASHED, NO_TEXT, TOO_LARGE, TOO_SLOW, Unreadable, fault
from qmd.sources.paths import in_words
from qmd.sources.read import MAX_BYTES, Outcome, RawBytes, failed, read_raw, to_source
from qmd.sources.root import Root
from qmd.text.outline import one_line
from qmd.types import Decoding, SourceFile

#: How long reading one file may take, in seconds.
SECONDS = 30.0
#: How much processor time it may take, in seconds, and how much more for each megabyte.
PROCESSOR, PROCESSOR_PER_MB = 5, 5
#: The most memory of a child process, in bytes of address space.
MEMORY = 1 << 30
#: The most that a child process may return for one file, in bytes.
_MAX_ANSWER = 128 * 1024 * 1024
#: The most child processes.
_MOST = 4
#: Variables by which Python finds its modules and libraries. A child gets no others: they have secrets.
_VARIABLES = ("HOME", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")


class Children:
    """A pool of child processes, for files below `root`, to be used in a `with`."""

    def __init__(self, root: Root | None) -> None:
        self._root = root
        self._threads = ThreadPoolExecutor(min(_MOST, processors()), thread_name_prefix="reader")
        self._local = threading.local()
        self._children: list[_Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # If the scan was interrupted, nothing more begins, and the file being read is the last.
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._end_children()
        self._threads.shutdown()
        self._end_children()  # also one that had just been started

    def _end_children(self) -> None:
        for child in self._children:
            child.end()

    def submit(self, file: SourceFile, reader: registry.Reader, encoding: str | None) -> Future[Outcome]:
        """Read a file as soon as a child process is free."""
        return self._threads.submit(self._read, file, reader, encoding)

    def _read(self, file: SourceFile, reader: registry.Reader, encoding: str | None) -> Outcome:
        isolated = reader.row.isolated
        try:
            raw, fingerprint = read_raw(
                file, encoding, reader.row.max_bytes or MAX_BYTES, self._root, reader.row.beside
            )
            if not isolated:  # decoded here, so that the errors are those of short texts
                raw.data = raw.text().encode()
        except SourceError as error:
            return Outcome(file, error=error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it costs this file alone
            return failed(file, fault(error))
        try:
            answer, decoding = self._child().read(raw, reader, encoding if isolated else None)
            if not isolated:
                decoding = raw.decoding
            found = []
            without = [(key, Unreadable(reason, detail)) for key, reason, detail in answer.failed]
            for key, content in answer.documents or ():
                whole = registry.checked(content, reader, file.path, key)
                if isinstance(whole, Unreadable):
                    without.append((key, whole))
                else:
                    found.append((key, to_source(whole, decoding)))
        except Unreadable as error:
            return failed(file, error)
        except OSError as error:  # no process could be started
            return Outcome(file, error=SourceError(f"cannot read {file.path}: {in_words(error)}"))
        except Exception as error:  # noqa: BLE001 - a child that has read a hostile file may answer anything
            return failed(file, Unreadable(reader.failure, type(error).__name__))
        if isolated:
            found = [(key, source) for key, source in found if source.text.strip()]
            if not found:
                return failed(file, without[0][1] if without else Unreadable(NO_TEXT))
        return Outcome(file, tuple(found), fingerprint, without=(*without,))

    def _child(self) -> _Child:
        child: _Child | None = getattr(self._local, "child", None)
        if child is None or not child.alive:
            child = self._local.child = _Child()
            self._children.append(child)
        return child


class _Child:
    """A child process that reads one file after the other; see `qmd.sources.child`."""

    def __init__(self) -> None:
        self._process = start(
            python("qmd.sources.child", str(MEMORY)),
            environ={name: os.environ[name] for name in _VARIABLES if name in os.environ},
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
        )
        self._late = False

    @property
    def alive(self) -> bool:
        """True if the process can read another file."""
        return self._process.poll() is None

    def read(self, raw: RawBytes, reader: registry.Reader, encoding: str | None) -> tuple[Answer, Decoding]:
        """Return the documents of a file by key, and how they were decoded.

        Raises:
            Unreadable: If the format cannot read the file, or the process reaches a limit or crashes.
        """
        assert self._process.stdin is not None
        size = len(raw.data) + len(raw.beside)
        seconds = PROCESSOR + PROCESSOR_PER_MB * size // 1_000_000
        timer = threading.Timer(SECONDS, self._expire)
        timer.start()
        try:
            request = Request(
                raw.path, reader.row.module, reader.folder, encoding, len(raw.data), len(raw.beside), seconds
            )
            with suppress(BrokenPipeError):
                self._process.stdin.write(json.encode(request) + b"\n")
                self._process.stdin.write(raw.data)
                self._process.stdin.write(raw.beside)
                self._process.stdin.flush()
            answer = self._answer()
        finally:
            timer.cancel()
        if answer is None:
            self.end()
            if self._late:
                raise Unreadable(TOO_SLOW, f"more than {SECONDS:.3g} s")
            if self._process.returncode == -getattr(signal, "SIGXCPU", 0):
                raise Unreadable(TOO_SLOW, f"more than {seconds} s of processor time")
            raise Unreadable(reader.failure, CRASHED)
        if answer.documents is None:
            raise Unreadable(answer.reason or reader.failure, answer.detail, answer.trace)
        decoding = answer.decoding
        charset, lines = one_line(decoding.charset)[:40], decoding.lines[:MAX_LINES]
        return answer, replace(decoding, charset=charset, lines=lines)

    def _answer(self) -> Answer | None:
        """Return the next answer; None if the process has ended."""
        assert self._process.stdout is not None
        head = self._process.stdout.readline(32)
        if not head[:-1].isdigit() or not head.endswith(b"\n"):
            return None
        size = int(head)
        if size > _MAX_ANSWER:
            self.end()
            raise Unreadable(TOO_LARGE, f"{size / 1e6:,.0f} MB of text")
        data = self._process.stdout.read(size)
        return json.decode(data, type=Answer) if len(data) == size else None

    def _expire(self) -> None:
        self._late = True
        self._process.kill()

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.wait()

"""Read files in child processes with limits, several at a time.

A child that crashes, hangs or needs too much memory costs the file that it was reading.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import Self, TypeAlias

from msgspec.msgpack import Decoder, encode
from msgspec.structs import replace

from qmd.errors import SourceError
from qmd.processes import python, start
from qmd.sources.child import ChildRequest, RequestedFile
from qmd.sources.decoding import MAX_LINES
from qmd.sources.formats import registry
from qmd.sources.formats.base import CRASHED, TOO_LARGE, TOO_SLOW, Unreadable, fault
from qmd.sources.formats.checking import checked
from qmd.sources.paths import in_words
from qmd.sources.read import (
    MAX_BYTES,
    Answer,
    Outcome,
    Purpose,
    RawBytes,
    failed,
    not_read,
    outcome,
    read_raw,
)
from qmd.sources.root import Root
from qmd.text.indexing import belongs
from qmd.text.outline import one_line
from qmd.text.values import read_written
from qmd.types import Fingerprint, SourceFile

#: How long reading one file may take, in seconds, and how much longer for each megabyte.
SECONDS, SECONDS_PER_MB = 30.0, 10.0
#: How much processor time it may take, in seconds, and how much more for each megabyte.
PROCESSOR, PROCESSOR_PER_MB = 5, 5
#: How much longer than its processor time reading may take, if a format needs much of that.
_PATIENCE = 10
#: The most memory of a child process, in bytes of address space.
MEMORY = 1 << 30
#: The most that a child process may return for one file, in bytes.
_MAX_ANSWER = 128 * 1024 * 1024
#: Variables by which Python finds its modules and libraries. A child gets no others: they have secrets.
_VARIABLES = ("HOME", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE")


_decode = Decoder(list[Answer]).decode
#: A file with its reader.
Readable: TypeAlias = tuple[SourceFile, registry.Reader]
#: A file that is in memory, with its reader.
_Raw: TypeAlias = tuple[RawBytes, registry.Reader]


class Children:
    """A pool of child processes, for files below `root`, to be used in a `with`.

    Args:
        root: The folder of the files.
        purpose: What they are read for.
        most: The most processes.
    """

    def __init__(self, root: Root | None, purpose: Purpose, most: int) -> None:
        self._root = root
        self._purpose = purpose
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="reader")
        self._local = threading.local()
        self._children: list[Child] = []

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

    def submit(self, files: Sequence[Readable]) -> Future[list[Outcome]]:
        """Read files as soon as a child process is free."""
        return self._threads.submit(self._read, files)

    def _read(self, files: Sequence[Readable]) -> list[Outcome]:
        outcomes: dict[str, Outcome] = {}
        raws: dict[str, tuple[_Raw, Fingerprint]] = {}
        for file, reader in files:
            try:
                raw, fingerprint = read_raw(
                    file,
                    self._purpose.encoding,
                    reader.row.max_bytes or MAX_BYTES,
                    self._root,
                    reader.row.beside,
                )
            except SourceError as error:
                outcomes[file.path] = Outcome(file, error=error)
            except Exception as error:  # noqa: BLE001 - whatever it is, it costs this file alone
                outcomes[file.path] = failed(file, fault(error))
            else:
                raws[file.path] = (raw, reader), fingerprint
        answers = dict(zip(raws, self._answers([raw for raw, _ in raws.values()]), strict=True))
        for file, reader in files:
            if file.path in raws:
                outcomes[file.path] = self._outcome(file, reader, raws[file.path][1], answers[file.path])
        return [outcomes[file.path] for file, _ in files]

    def _answers(self, raws: Sequence[_Raw]) -> list[Answer]:
        """Return the answers for files, each of which costs at most itself."""
        if not raws:
            return []
        try:
            return self._child(raws[0][1].row.isolated).read(raws, self._purpose)
        except Unreadable as error:
            if len(raws) == 1:
                return [not_read(error)]
        except OSError as error:  # no process could be started
            return [Answer(problem=(f"cannot read {raw.path}: {in_words(error)}", None)) for raw, _ in raws]
        except Exception as error:  # noqa: BLE001 - a child that has read a hostile file may answer anything
            if len(raws) == 1:
                return [not_read(Unreadable("", type(error).__name__))]
        return [answer for raw in raws for answer in self._answers([raw])]

    def _outcome(
        self, file: SourceFile, reader: registry.Reader, fingerprint: Fingerprint, answer: Answer
    ) -> Outcome:
        try:
            return outcome(file, fingerprint, reader, completed(file.path, reader, answer))
        except Unreadable as error:
            return failed(file, error)
        except Exception as error:  # noqa: BLE001 - as above
            return failed(file, Unreadable(reader.failure, type(error).__name__))

    def _child(self, isolated: bool) -> Child:
        """Return the process of this thread. One that has read other formats than text reads no text."""
        children: dict[bool, Child] = self._local.__dict__.setdefault("children", {})
        child = children.get(isolated)
        if child is None or not child.alive:
            child = children[isolated] = Child()
            self._children.append(child)
        return child


def completed(path: str, reader: registry.Reader, answer: Answer) -> Answer:
    """Return an answer within the limits: a child that has read a hostile file is not trusted."""
    documents, without = [], [*answer.failed]
    for key, content, made in answer.documents:
        fields = {name: tuple(map(read_written, values)) for name, values in content.fields.items()}
        whole = checked(replace(content, fields=fields), reader, path, key)
        if isinstance(whole, Unreadable):
            without.append((key, whole.reason, whole.detail))
        elif made is not None and not belongs(made, whole.text):
            raise ValueError("the layout is of another text")
        else:
            documents.append((key, whole, made))
    decoding = answer.decoding
    charset, lines = one_line(decoding.charset)[:40], decoding.lines[:MAX_LINES]
    decoding = replace(decoding, charset=charset, lines=lines)
    return replace(answer, documents=(*documents,), failed=(*without,), decoding=decoding)


class Child:
    """A child process that reads one file after the other; see `qmd.sources.child`."""

    def __init__(self, memory: int = MEMORY) -> None:
        self._process = start(
            python("qmd.sources.child", str(memory)),
            environ={name: os.environ[name] for name in _VARIABLES if name in os.environ},
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
        )
        self._late = False

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True if the process can read another file."""
        return self._process.poll() is None

    def read(self, raws: Sequence[_Raw], purpose: Purpose) -> list[Answer]:
        """Return what files are read as.

        Raises:
            Unreadable: If the process reaches a limit or crashes.
        """
        assert self._process.stdin is not None
        size = sum(len(raw.data) + len(raw.beside) for raw, _ in raws)
        own = max(reader.row.seconds for _, reader in raws)
        seconds = PROCESSOR + PROCESSOR_PER_MB * size // 1_000_000 + own
        files = [
            RequestedFile(
                raw.path,
                reader.row.module,
                reader.folder,
                reader.row.isolated,
                len(raw.data),
                len(raw.beside),
            )
            for raw, reader in raws
        ]
        head = encode(ChildRequest((*files,), purpose, seconds))
        patience = SECONDS + SECONDS_PER_MB * (size // 1_000_000) + _PATIENCE * own
        timer = threading.Timer(patience, self._expire)
        timer.start()
        try:
            with suppress(BrokenPipeError):
                self._process.stdin.write(b"%d\n" % len(head))
                for part in (head, *(part for raw, _ in raws for part in (raw.data, raw.beside))):
                    self._process.stdin.write(part)
                self._process.stdin.flush()
            answers = self._answer()
        finally:
            timer.cancel()
        if answers is None:
            self.end()
            if self._late:
                raise Unreadable(TOO_SLOW, f"more than {patience:.3g} s")
            if self._process.returncode == -getattr(signal, "SIGXCPU", 0):
                raise Unreadable(TOO_SLOW, f"more than {seconds} s of processor time")
            raise Unreadable("", CRASHED)
        if len(answers) != len(raws):
            raise Unreadable("", CRASHED)
        return answers

    def _answer(self) -> list[Answer] | None:
        """Return the next answers; None if the process has ended."""
        assert self._process.stdout is not None
        head = self._process.stdout.readline(32)
        if not head[:-1].isdigit() or not head.endswith(b"\n"):
            return None
        size = int(head)
        if size > _MAX_ANSWER:
            self.end()
            raise Unreadable(TOO_LARGE, f"{size / 1e6:,.0f} MB of text")
        data = self._process.stdout.read(size)
        return _decode(data) if len(data) == size else None

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

"""The files of a collection that are not indexed, remembered with its last scan.

A file that its format could not read is not read again until it, its format or the collection's encoding
changes. Files wait for an extra if it is not installed.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from qmd.engine.indexing.record import ScanRecord
from qmd.sources.formats.registry import Readers
from qmd.text.wording import plural
from qmd.types import SourceFile

#: The most files that are remembered of a collection. Others are read at each scan.
_MOST = 3_000
#: The most kinds of files without a reader, and characters of a reason, that are remembered.
_KINDS, _REASON = 30, 80
#: The characters that stand for a path and for the state of its file.
_HALF = 4


class Unread:
    """The unread files of a scan.

    Args:
        last: The record of the last scan, as `packed` returned it.
        readers: The readers of the collection.
        within: The paths that the scan looks at; None if it looks at everything. The records of other files
            are kept.
    """

    def __init__(
        self,
        last: Mapping[str, Any],
        readers: Readers,
        within: Iterable[str] | None = None,
    ) -> None:
        files: Mapping[str, str] = last.get("files", {})
        self._last = {
            marks[at : at + _HALF]: (marks[at + _HALF : at + 2 * _HALF], reason)
            for reason, marks in files.items()
            for at in range(0, len(marks), 2 * _HALF)
        }
        self._readers = readers
        self._partial = within is not None
        self._files = dict(self._last) if self._partial else {}
        for path in within or ():
            self._files.pop(_mark(path), None)
        self._cut: int = last.get("cut", 0) if self._partial else 0
        #: Numbers of files that wait for an extra, by extra and suffix.
        self.waiting: dict[str, dict[str, int]] = dict(last.get("waiting", {})) if self._partial else {}
        #: Numbers of files that no format reads, by suffix.
        self.unknown: dict[str, int] = dict(last.get("unknown", {})) if self._partial else {}

    def wait(self, extra: str, suffix: str) -> None:
        """Count a file that waits for an extra. A partial scan does not count: some were counted before."""
        if self._partial and suffix in self.waiting.get(extra, {}):
            return
        counts = self.waiting.setdefault(extra, {})
        counts[suffix] = counts.get(suffix, 0) + 1

    def again(self, file: SourceFile) -> str:
        """Return why the last scan could not read the unchanged file; "" if it must be read."""
        self._files.pop(_mark(file.path), None)
        state, reason = self._last.get(_mark(file.path), ("", ""))
        return reason if state and state == self._state(file) else ""

    def add(self, path: str, reason: str, file: SourceFile | None = None) -> None:
        """Remember a path that could not be read. With `file`, it is not read again until it changes."""
        state = self._state(file) if file is not None else "=" * _HALF
        self._files[_mark(path)] = state, reason[:_REASON]

    def packed(self) -> dict[str, Any]:
        """Return a record of the files, as short as possible."""
        files: dict[str, str] = {}
        kept = list(self._files.items())[:_MOST]
        for path, (state, reason) in kept:
            files[reason] = files.get(reason, "") + path + state
        most = sorted(self.unknown.items(), key=lambda item: -item[1])[:_KINDS]
        cut = self._cut + len(self._files) - len(kept)
        return {"files": files, "cut": cut, "waiting": self.waiting, "unknown": dict(most)}

    def _state(self, file: SourceFile) -> str:
        """Return what identifies the state of a file and its reader."""
        identity = self._readers.identity(file.path)
        return _mark(f"{file.fingerprint.size}\0{file.fingerprint.mtime_ns}\0{identity}")


def describe(root: str | None) -> list[str]:
    """Describe the unread files of the last scan in one line for each kind."""
    record = ScanRecord.read(root).unread
    lines = [describe_waiting(extra, counts) for extra, counts in record.get("waiting", {}).items()]
    counts = {reason: len(marks) // (2 * _HALF) for reason, marks in record.get("files", {}).items()}
    if total := sum(counts.values()) + record.get("cut", 0):
        listed = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        lines.append(f"{plural(total, 'file')} could not be read: {listed} ('qmd update --failed' lists all)")
    unknown: Mapping[str, int] = record.get("unknown", {})
    if unknown:
        listed = ", ".join(f"{count:,} .{suffix}" for suffix, count in unknown.items())
        lines.append(f"{plural(sum(unknown.values()), 'file')} of kinds that no format reads: {listed}")
    return lines


def describe_waiting(extra: str, counts: Mapping[str, int]) -> str:
    """Return how many files of which kind wait for an extra, and the command that installs it."""
    from qmd.sources.reading import install

    listed = ", ".join(f"{count:,} .{suffix}" for suffix, count in sorted(counts.items()))
    verb = "waits" if sum(counts.values()) == 1 else "wait"
    return f"{plural(sum(counts.values()), 'file')} ({listed}) {verb} for: {install(extra)}"


def _mark(text: str) -> str:
    """Return what stands for a path or a state, in four characters."""
    return b64encode(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).digest()).decode()

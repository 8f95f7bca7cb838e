"""The files of a collection that are not indexed, remembered with its last scan.

A file that its format could not read is not read again until it, its format or the collection's encoding
changes. Files wait for an extra if it is not installed.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from qmd.engine.indexing.record import ScanRecord, UnreadFiles
from qmd.installation import install_command
from qmd.sources.formats.registry import BUILTIN, Readers
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
        last: Those of the last scan.
        readers: The readers of the collection.
        within: The paths that the scan looks at; None if it looks at everything. What is known of other files
            is kept.
    """

    def __init__(self, last: UnreadFiles, readers: Readers, within: Iterable[str] | None = None) -> None:
        self._last = {
            marks[at : at + _HALF]: (marks[at + _HALF : at + 2 * _HALF], reason)
            for reason, marks in last.files.items()
            for at in range(0, len(marks), 2 * _HALF)
        }
        self._readers = readers
        self._partial = within is not None
        before = last if self._partial else UnreadFiles()
        self._files = dict(self._last) if self._partial else {}
        for path in within or ():
            self._files.pop(_mark(path), None)
        self._cut = before.cut
        #: Numbers of files that wait for an extra, by extra and suffix.
        self.waiting = {extra: dict(counts) for extra, counts in before.waiting.items()}
        #: Numbers of files that no format reads, by suffix.
        self.unknown = dict(before.unknown)

    def wait(self, extra: str, suffix: str) -> None:
        """Count a file that waits for an extra. A partial scan does not count: some were counted before."""
        if self._partial and suffix in self.waiting.get(extra, {}):
            return
        counts = self.waiting.setdefault(extra, {})
        counts[suffix] = counts.get(suffix, 0) + 1

    def again(self, file: SourceFile) -> str:
        """Return why the last scan could not read the unchanged file; "" if it must be read."""
        if not self._last:
            return ""
        self._files.pop(_mark(file.path), None)
        state, reason = self._last.get(_mark(file.path), ("", ""))
        return reason if state and state == self._state(file) else ""

    def add(self, path: str, reason: str, file: SourceFile | None = None) -> None:
        """Remember a path that could not be read. With `file`, it is not read again until it changes."""
        state = self._state(file) if file is not None else "=" * _HALF
        self._files[_mark(path)] = state, reason[:_REASON]

    def packed(self) -> UnreadFiles:
        """Return what the next scan needs, as short as possible."""
        files: dict[str, str] = {}
        kept = list(self._files.items())[:_MOST]
        for path, (state, reason) in kept:
            files[reason] = files.get(reason, "") + path + state
        most = sorted(self.unknown.items(), key=lambda item: -item[1])[:_KINDS]
        cut = self._cut + len(self._files) - len(kept)
        return UnreadFiles(files, cut, self.waiting, dict(most))

    def _state(self, file: SourceFile) -> str:
        """Return what identifies the state of a file and its reader."""
        identity = self._readers.identity(file.path)
        return _mark(f"{file.fingerprint.size}\0{file.fingerprint.mtime_ns}\0{identity}")


def describe(root: str | None) -> list[str]:
    """Describe the unread files of the last scan in one line for each kind."""
    last = ScanRecord.read(root).unread
    lines = [describe_waiting(extra, counts) for extra, counts in last.waiting.items()]
    counts = {reason: len(marks) // (2 * _HALF) for reason, marks in last.files.items()}
    if total := sum(counts.values()) + last.cut:
        listed = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        lines.append(f"{plural(total, 'file')} could not be read: {listed} ('qmd update --failed' lists all)")
    if total := sum(last.unknown.values()):
        listed = ", ".join(f"{count:,} .{suffix}" for suffix, count in last.unknown.items())
        lines.append(f"{plural(total, 'file')} of kinds that no format reads: {listed}")
    return lines


def waiting(roots: Iterable[str | None]) -> dict[str, str]:
    """Return how many files wait for each extra, by the last scans of several collections."""
    found: dict[str, Counter[str]] = {}
    for root in roots:
        for extra, counts in ScanRecord.read(root).unread.waiting.items():
            found.setdefault(extra, Counter()).update(counts)
    return {extra: f"{_waiting(counts)} the extra '{extra}'" for extra, counts in found.items()}


def describe_waiting(extra: str, counts: Mapping[str, int]) -> str:
    """Return how many files of which kind wait for an extra, and the command that installs it."""
    return f"{_waiting(counts)}: {remedy(extra)}"


def remedy(extra: str) -> str:
    """Return the command by which files that wait for an extra are read."""
    is_missing = any(row.missing == extra for row in BUILTIN.values())
    return install_command(extra) if is_missing else "qmd update"


def _waiting(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count:,} .{suffix}" for suffix, count in sorted(counts.items()))
    verb = "waits" if sum(counts.values()) == 1 else "wait"
    return f"{plural(sum(counts.values()), 'file')} ({listed}) {verb} for"


def _mark(text: str) -> str:
    """Return what stands for a path or a state, in four characters."""
    return b64encode(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).digest()).decode()

"""The files of a collection that are not indexed although they belong to it, remembered with its last scan.

A file that could not be read is not read again until it or its format changes. Files wait for an extra if it
is not installed.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from qmd.text.wording import plural
from qmd.types import SourceFile

#: The most files that are remembered of a collection. Others are read at each scan.
_MOST = 3_000
#: Where a collection's record of its last scan has the files.
_PLACE = 5


class Unread:
    """The unread files of a scan.

    Args:
        last: The record of the last scan, as `packed` returned it.
        partial: Whether the scan looks at some files only. The records of the other files are kept.
    """

    def __init__(self, last: Mapping[str, Any], *, partial: bool = False) -> None:
        files: Mapping[str, str] = last.get("files", {})
        by_reason = {
            reason: [marks[at : at + 8] for at in range(0, len(marks), 8)] for reason, marks in files.items()
        }
        self._last = {mark: reason for reason, marks in by_reason.items() for mark in marks}
        self._partial = partial
        self._files: dict[str, list[str]] = by_reason if partial else {}
        #: Numbers of files that wait for an extra, by extra and suffix.
        self.waiting: dict[str, dict[str, int]] = dict(last.get("waiting", {})) if partial else {}

    def wait(self, extra: str, suffix: str) -> None:
        """Count a file that waits for an extra. A partial scan does not count: some were counted before."""
        if self._partial and suffix in self.waiting.get(extra, {}):
            return
        counts = self.waiting.setdefault(extra, {})
        counts[suffix] = counts.get(suffix, 0) + 1

    def again(self, file: SourceFile, identity: str) -> str:
        """Return why the last scan could not read the unchanged file; "" if it must be read."""
        reason = self._last.get(_mark(file, identity), "") if self._last else ""
        if reason:
            self.add(file, identity, reason)
        return reason

    def add(self, file: SourceFile, identity: str, reason: str) -> None:
        """Remember a file that could not be read."""
        mark = _mark(file, identity)
        if not (self._partial and mark in self._last):
            self._files.setdefault(reason, []).append(mark)

    def packed(self) -> dict[str, Any]:
        """Return a record of the files, as short as possible."""
        left = _MOST
        files = {}
        for reason, marks in self._files.items():
            files[reason] = "".join(marks[:left])
            left -= len(marks[:left])
        return {"files": files, "waiting": self.waiting}


def last_unread(last: Sequence[Any]) -> Mapping[str, Any]:
    """Return the unread files from the record of a scan."""
    return last[_PLACE] if len(last) > _PLACE and isinstance(last[_PLACE], dict) else {}


def describe(root: str | None) -> list[str]:
    """Describe the unread files of the last scan in one line for each kind."""
    record = last_unread(json.loads(root or "[]"))
    lines = [describe_waiting(extra, counts) for extra, counts in record.get("waiting", {}).items()]
    counts = {reason: len(marks) // 8 for reason, marks in record.get("files", {}).items()}
    if total := sum(counts.values()):
        listed = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        lines.append(f"{plural(total, 'file')} could not be read: {listed}")
    return lines


def describe_waiting(extra: str, counts: Mapping[str, int]) -> str:
    """Return how many files of which kind wait for an extra, and the command that installs it."""
    from qmd.sources.reading import install

    listed = ", ".join(f"{count:,} .{suffix}" for suffix, count in sorted(counts.items()))
    verb = "waits" if sum(counts.values()) == 1 else "wait"
    return f"{plural(sum(counts.values()), 'file')} ({listed}) {verb} for: {install(extra)}"


def _mark(file: SourceFile, identity: str) -> str:
    """Return what identifies the state of a file and the reader that failed, in 8 characters."""
    state = f"{file.path}\0{file.fingerprint.size}\0{file.fingerprint.mtime_ns}\0{identity}"
    return b64encode(blake2b(state.encode(), digest_size=6).digest()).decode()

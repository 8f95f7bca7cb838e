"""The texts of an archive in memory, each read again only when its file has changed (A7)."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from qmd.engine.archive.folder import Entry
from qmd.engine.archive.matching import Text
from qmd.sources.problems import OnProblem, in_words
from qmd.types import Fingerprint


@dataclass(frozen=True, slots=True)
class _Kept:
    fingerprint: Fingerprint
    text: Text


class TextCache:
    """Keeps texts by author and path. Safe to use from several threads."""

    def __init__(self, on_problem: OnProblem) -> None:
        self._on_problem = on_problem
        self._authors: dict[str, dict[str, _Kept]] = {}
        self._lock = threading.Lock()

    def texts(self, author: str, files: Iterable[Entry]) -> list[tuple[str, Text]]:
        """(path, text) of an author's files, which are all that there are, by path."""
        with self._lock:
            before = self._authors.get(author, {})
            now = {
                file.path: kept
                for file in sorted(files, key=lambda file: file.path)
                if (kept := self._current(file, before.get(file.path)))
            }
            self._authors[author] = now
        return [(path, kept.text) for path, kept in now.items()]

    def keep_only(self, authors: Collection[str]) -> None:
        """Let go of the texts of all other authors."""
        with self._lock:
            self._authors = {name: kept for name, kept in self._authors.items() if name in authors}

    def _current(self, file: Entry, known: _Kept | None) -> _Kept | None:
        try:
            found = _fingerprint(os.stat(file.absolute, follow_symlinks=False))
            if known is not None and known.fingerprint == found:
                return known
            with open(file.absolute, "rb") as opened:
                # The state before reading: a file that changes meanwhile differs from it the next time.
                found = _fingerprint(os.fstat(opened.fileno()))
                return _Kept(found, Text.of(opened.read()))
        except FileNotFoundError:  # it has gone since it was listed
            return None
        except OSError as error:
            self._on_problem(file.path, in_words(error))
            return None


def _fingerprint(status: os.stat_result) -> Fingerprint:
    return Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino)

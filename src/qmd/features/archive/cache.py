"""An in-memory cache of the archive's texts. A file is read again only if it has changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable

from qmd.features.archive.folder import PostFile
from qmd.features.archive.matching import Text
from qmd.sources.paths import OnProblem, in_words
from qmd.types import Fingerprint


class TextCache:
    """A cache of texts by author and path, as `shown` returns them. Safe to use from several threads."""

    def __init__(self, on_problem: OnProblem, shown: Callable[[str], str] = str) -> None:
        self._on_problem = on_problem
        self._shown = shown
        self._authors: dict[str, dict[str, tuple[Fingerprint, Text]]] = {}
        self._lock = threading.Lock()

    def texts(self, author: str, files: Iterable[PostFile]) -> list[tuple[str, Text]]:
        """Return (path, text) of all the author's `files`, sorted by path, and forget other files."""
        with self._lock:
            before = self._authors.get(author, {})
            current = {
                file.path: entry
                for file in sorted(files, key=lambda file: file.path)
                if (entry := self._load(file, before.get(file.path)))
            }
            self._authors[author] = current
        return [(path, text) for path, (_, text) in current.items()]

    def retain(self, authors: Collection[str]) -> None:
        """Forget the texts of all other authors."""
        with self._lock:
            self._authors = {name: texts for name, texts in self._authors.items() if name in authors}

    def _load(
        self, file: PostFile, cached: tuple[Fingerprint, Text] | None
    ) -> tuple[Fingerprint, Text] | None:
        """Return the cached text if the file is unchanged, otherwise read it; None if it cannot be read."""
        try:
            status = os.stat(file.absolute, follow_symlinks=False)
            if cached is not None and cached[0] == Fingerprint.of(status):
                return cached
            with open(file.absolute, "rb") as stream:
                # Taken before reading, so that a change during the read is noticed by the next call.
                fingerprint = Fingerprint.of(os.fstat(stream.fileno()))
                return fingerprint, Text.of(stream.read(), self._shown)
        except FileNotFoundError:  # removed after it was listed
            return None
        except OSError as error:
            self._on_problem(file.path, in_words(error))
            return None

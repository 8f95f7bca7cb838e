"""The models of an index: found by name, loaded at the first call that needs them, then kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from qmd.config.settings import Settings

if TYPE_CHECKING:
    from qmd.models.base import Embedder, Expander, Reranker
    from qmd.models.catalog import Role


class Roles:
    """Embedder, reranker and expander as the settings name them.

    Raises `ModelError`, at its use, for one that cannot be had.
    """

    def __init__(
        self, settings: Settings, cache_dir: str, progress: Callable[[str], None] | None = None
    ) -> None:
        self._settings = settings
        self._cache_dir = cache_dir
        self.progress = progress
        self._lock = threading.RLock()
        self._embedder: Embedder | None = None
        self._reranker: Reranker | None = None
        self._expander: Expander | None = None
        self._expander_known = False
        self._expander_given = False

    @property
    def embedder(self) -> Embedder:
        """The embedder; its weights load when it first embeds."""
        from pathlib import Path

        from qmd.models.registry import load_embedder

        with self._lock:
            if self._embedder is None:
                self._embedder = load_embedder(
                    self._settings.embed_model,
                    cache_dir=Path(self._cache_dir),
                    settings=self._settings,
                    progress=self.report,
                )
            return self._embedder

    @property
    def loaded(self) -> bool:
        """Whether the embedder's weights are in memory."""
        with self._lock:
            return self._embedder is not None and self._embedder.loaded

    @property
    def reranker(self) -> Reranker:
        """The reranker."""
        from pathlib import Path

        from qmd.models.registry import load_reranker

        with self._lock:
            if self._reranker is None:
                self._reranker = load_reranker(
                    self._settings.rerank_model,
                    cache_dir=Path(self._cache_dir),
                    settings=self._settings,
                    progress=self.report,
                )
            return self._reranker

    @property
    def expander(self) -> Expander | None:
        """The expander, where the settings name one."""
        from pathlib import Path

        from qmd.models.registry import load_expander

        with self._lock:
            if not self._expander_known:
                self._expander = load_expander(
                    self._settings.generate_model,
                    cache_dir=Path(self._cache_dir),
                    settings=self._settings,
                    progress=self.report,
                )
                self._expander_known = True
            return self._expander

    def release(self) -> None:
        """Let go of the models: what uses them now goes on, and the next use loads them again."""
        with self._lock:
            self._embedder = self._reranker = None
            if not self._expander_given:
                self._expander, self._expander_known = None, False
        _trim_memory()

    def use_expander(self, expander: Expander | None) -> None:
        """Put an expander of the caller's own in place of the configured one."""
        with self._lock:
            self._expander, self._expander_known, self._expander_given = expander, True, True

    def server(self, role: Role) -> str | None:
        """The other machine that texts go to for a role; None where they stay on this one."""
        from qmd.models.registry import server_of

        if role == "generate" and self._expander_given:
            return None
        return server_of(self.setting(role))

    def setting(self, role: Role) -> str | None:
        """What the settings name for a role."""
        match role:
            case "embed":
                return self._settings.embed_model
            case "rerank":
                return self._settings.rerank_model
            case "generate":
                return self._settings.generate_model

    @property
    def fingerprint(self) -> str:
        """What vectors are made with: the embedder and how texts are cut for it (E12)."""
        from qmd.engine.embedding import fingerprint

        return fingerprint(self.embedder)

    def report(self, message: str) -> None:
        """Say something to the user that is no part of an answer."""
        if self.progress is not None:
            self.progress(message)


def _trim_memory() -> None:
    """Have the C library give freed memory back: glibc keeps most of it for itself otherwise."""
    import ctypes

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)

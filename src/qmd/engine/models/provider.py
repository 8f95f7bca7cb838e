"""The models of an index: found by name, loaded at the first call that needs them, then kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.store.base import VectorSet

if TYPE_CHECKING:
    from qmd.models.base import Embedder, Expander, Reranker
    from qmd.models.catalog import Role


class ModelProvider:
    """Embedder, reranker and expander as the settings name them.

    Raises `ModelError`, at its use, for one that cannot be had.
    """

    def __init__(
        self,
        settings: Settings,
        cache_dir: str,
        progress: Callable[[str], None] | None = None,
        *,
        foreign_index: bool = False,
    ) -> None:
        """`foreign_index`: the index may come with a checkout, so a model that it names may be anybody's."""
        self._settings = settings
        self._foreign_index = foreign_index
        self._cache_dir = cache_dir
        self.progress = progress
        self._lock = threading.RLock()
        self._embedder: Embedder | None = None
        self._earlier: tuple[VectorSet, Embedder] | None = None
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

    def earlier(self, made: VectorSet) -> Embedder:
        """The embedder that made a set of vectors, which the index names, and the settings not any more.

        Raises `ModelError` where it cannot be had, or another answers to its name by now.
        """
        from pathlib import Path

        from qmd.engine.embedding.batches import fingerprint
        from qmd.models.registry import load_embedder

        with self._lock:
            if self._earlier is not None and self._earlier[0].fingerprint == made.fingerprint:
                return self._earlier[1]
            if self._foreign_index and not _is_known(made.source):
                raise ModelError(
                    f"'{made.name}' is named by the project's index, not by you", "Run 'qmd embed'."
                )
            found = load_embedder(
                made.source,
                cache_dir=Path(self._cache_dir),
                settings=self._without_key_for(made.source),
                progress=self.report,
            )
            # Texts may be cut otherwise since then: queries are put to the same model all the same.
            same = found.fingerprint == made.model if made.model else fingerprint(found) == made.fingerprint
            if not same:
                raise ModelError(f"'{made.name}' is not the model that it was", "Run 'qmd embed'.")
            self._earlier = (made, found)
            return found

    def forget_earlier(self) -> None:
        """Let go of the embedder of vectors that are not used any more."""
        with self._lock:
            self._earlier = None

    def _without_key_for(self, source: str) -> Settings:
        """The settings for a model that they do not name: a key is for the servers that they do name."""
        from qmd.models.registry import remote_host

        roles: tuple[Role, ...] = ("embed", "rerank", "generate")
        named = {server for role in roles if (server := remote_host(self.setting(role)))}
        if named <= {remote_host(source)}:
            return self._settings
        return replace(self._settings, openai_api_key=None, openai_api_key_file=None)

    @property
    def loaded(self) -> bool:
        """Whether the weights of the embedder, or of the one before it, are in memory."""
        with self._lock:
            earlier = None if self._earlier is None else self._earlier[1]
            return any(each is not None and each.loaded for each in (self._embedder, earlier))

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
            self._embedder = self._reranker = self._earlier = None
            if not self._expander_given:
                self._expander, self._expander_known = None, False
        _trim_memory()

    def use_expander(self, expander: Expander | None) -> None:
        """Put an expander of the caller's own in place of the configured one."""
        with self._lock:
            self._expander, self._expander_known, self._expander_given = expander, True, True

    def server(self, role: Role) -> str | None:
        """The other machine that texts go to for a role; None where they stay on this one."""
        from qmd.models.registry import remote_host

        if role == "generate" and self._expander_given:
            return None
        return remote_host(self.setting(role))

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
        from qmd.engine.embedding.batches import fingerprint

        return fingerprint(self.embedder)

    @property
    def vector_set(self) -> VectorSet:
        """The set that the embedder's vectors belong to."""
        from qmd.models.registry import stable_name

        source = stable_name(self._settings.embed_model, "embed")
        return VectorSet(self.fingerprint, self.embedder.name, self.embedder.fingerprint, source)

    def report(self, message: str) -> None:
        """Say something to the user that is no part of an answer."""
        if self.progress is not None:
            self.progress(message)


def _is_known(source: str) -> bool:
    """Whether a model is one of those that the program itself knows."""
    from qmd.models.catalog import CARDS

    return any(source == card.name for card in CARDS)


def _trim_memory() -> None:
    """Have the C library give freed memory back: glibc keeps most of it for itself otherwise."""
    import ctypes

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)

"""The models of an index, loaded on first use and then kept in memory."""

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
    """Provides the embedder, reranker and query expander that the settings name.

    Each property raises `ModelError` if its model is not available.
    """

    def __init__(
        self,
        settings: Settings,
        cache_dir: str,
        progress: Callable[[str], None] | None = None,
        *,
        foreign_index: bool = False,
    ) -> None:
        """Create a provider; nothing is loaded yet.

        Args:
            settings: Settings that name the models.
            cache_dir: Folder of downloaded models.
            progress: Called with messages for the user.
            foreign_index: True if the index may come with a checkout. Models that only the index names are
                then not trusted.
        """
        self._settings = settings
        self._foreign_index = foreign_index
        self._cache_dir = cache_dir
        self.progress = progress
        self._lock = threading.RLock()
        self._embedder: Embedder | None = None
        self._earlier: tuple[VectorSet, Embedder] | None = None
        self._reranker: Reranker | None = None
        self._expander: Expander | None = None
        self._expander_loaded = False
        self._expander_given = False

    @property
    def embedder(self) -> Embedder:
        """The embedder. Its weights are loaded when it first embeds."""
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

    def earlier(self, vectors: VectorSet) -> Embedder:
        """Return the embedder that made `vectors`, which the settings do not name any more.

        Raises `ModelError` if it is not available, or if its name now stands for another model.
        """
        from pathlib import Path

        from qmd.engine.embedding.batches import fingerprint
        from qmd.models.registry import load_embedder

        with self._lock:
            if self._earlier is not None and self._earlier[0].fingerprint == vectors.fingerprint:
                return self._earlier[1]
            if self._foreign_index and not _is_known(vectors.source):
                raise ModelError(
                    f"the project's index names the model '{vectors.name}', which your settings do not name",
                    "Run 'qmd embed'.",
                )
            embedder = load_embedder(
                vectors.source,
                cache_dir=Path(self._cache_dir),
                settings=self._without_key_for(vectors.source),
                progress=self.report,
            )
            # Compare the model alone if possible: how texts are chunked does not matter for queries.
            if vectors.model:
                same = embedder.fingerprint == vectors.model
            else:
                same = fingerprint(embedder) == vectors.fingerprint
            if not same:
                raise ModelError(
                    f"the model '{vectors.name}' has changed since it embedded your documents",
                    "Run 'qmd embed'.",
                )
            self._earlier = (vectors, embedder)
            return embedder

    def forget_earlier(self) -> None:
        """Release the earlier embedder, whose vectors are not used any more."""
        with self._lock:
            self._earlier = None

    def _without_key_for(self, source: str) -> Settings:
        """Return the settings for a model that they do not name.

        The API key is removed if the settings name another server: a key must not be sent elsewhere.
        """
        from qmd.models.registry import remote_host

        roles: tuple[Role, ...] = ("embed", "rerank", "generate")
        servers = {server for role in roles if (server := remote_host(self.setting(role)))}
        if servers <= {remote_host(source)}:
            return self._settings
        return replace(self._settings, openai_api_key=None, openai_api_key_file=None)

    @property
    def loaded(self) -> bool:
        """True if the weights of the embedder, or of the earlier embedder, are in memory."""
        with self._lock:
            earlier = None if self._earlier is None else self._earlier[1]
            return any(model is not None and model.loaded for model in (self._embedder, earlier))

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
        """The query expander, or None if the settings name none."""
        from pathlib import Path

        from qmd.models.registry import load_expander

        with self._lock:
            if not self._expander_loaded:
                self._expander = load_expander(
                    self._settings.generate_model,
                    cache_dir=Path(self._cache_dir),
                    settings=self._settings,
                    progress=self.report,
                )
                self._expander_loaded = True
            return self._expander

    def release(self) -> None:
        """Release the models. Running calls finish; the next use loads the models again."""
        with self._lock:
            self._embedder = self._reranker = self._earlier = None
            if not self._expander_given:
                self._expander, self._expander_loaded = None, False
        _trim_memory()

    def use_expander(self, expander: Expander | None) -> None:
        """Use `expander` in place of the configured one."""
        with self._lock:
            self._expander, self._expander_loaded, self._expander_given = expander, True, True

    def server(self, role: Role) -> str | None:
        """Return the server that a role's texts are sent to, or None if its model runs on this machine."""
        from qmd.models.registry import remote_host

        if role == "generate" and self._expander_given:
            return None
        return remote_host(self.setting(role))

    def setting(self, role: Role) -> str | None:
        """Return the model that the settings name for a role."""
        match role:
            case "embed":
                return self._settings.embed_model
            case "rerank":
                return self._settings.rerank_model
            case "generate":
                return self._settings.generate_model

    @property
    def fingerprint(self) -> str:
        """A fingerprint of the embedder and of how texts are chunked for it."""
        from qmd.engine.embedding.batches import fingerprint

        return fingerprint(self.embedder)

    @property
    def vector_set(self) -> VectorSet:
        """The vector set of the configured embedder."""
        from qmd.models.registry import stable_name

        source = stable_name(self._settings.embed_model, "embed")
        return VectorSet(self.fingerprint, self.embedder.name, self.embedder.fingerprint, source)

    def report(self, message: str) -> None:
        """Send the user a message outside of the result."""
        if self.progress is not None:
            self.progress(message)


def _is_known(source: str) -> bool:
    """Return whether a model is in the program's own catalog."""
    from qmd.models.catalog import CARDS

    return any(source == card.name for card in CARDS)


def _trim_memory() -> None:
    """Return freed memory to the system, because glibc otherwise keeps most of it."""
    import ctypes

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)

"""The models of an index, loaded on first use and then kept in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from qmd.config.settings import Settings
from qmd.errors import ModelError, NotEnoughMemoryError
from qmd.store.values import VectorSet
from qmd.system import memory_limit, trim_memory
from qmd.text.digest import sha256

if TYPE_CHECKING:
    from qmd.models.base import Embedder, Expander, Reranker
    from qmd.models.catalog import Role


#: What the reranker keeps of a window in the mean, with its row.
_WINDOW_BYTES = 8_000
#: Changes if other text is put around chunks.
_VERSION = 2
#: Bytes of address space, with those of Python and its libraries, below which no model is tried.
_LEAST_MEMORY = 450_000_000


class ModelProvider:
    """Provides the embedder, reranker and query expander that the settings name.

    Each property raises `ModelError` if its model is not available. `progress` is called with messages for
    the user. If the index may come with a checkout, a `foreign_index`, models that only it names are not
    trusted. The models that a `portable` file names are never loaded.
    """

    def __init__(
        self,
        settings: Settings,
        cache_dir: str,
        progress: Callable[[str], None] | None = None,
        *,
        foreign_index: bool = False,
        portable: bool = False,
    ) -> None:
        self._settings = settings
        self._foreign_index = foreign_index
        self.portable = portable
        self._cache_dir = cache_dir
        self._progress = progress
        self._lock = threading.RLock()
        self._models: dict[Role, Any] = {}
        self._earlier: tuple[VectorSet, Embedder] | None = None

    @property
    def embedder(self) -> Embedder:
        """The embedder. Its weights are loaded when it first embeds."""
        return cast("Embedder", self._model("embed"))

    @property
    def reranker(self) -> Reranker:
        return cast("Reranker", self._model("rerank"))

    @property
    def expander(self) -> Expander | None:
        """The query expander, or None if the settings name none."""
        return cast("Expander | None", self._model("generate"))

    def _model(self, role: Role) -> Any:
        with self._lock:
            if role not in self._models:
                self._models[role] = self._load(role, self.setting(role), self._settings)
            return self._models[role]

    def _load(self, role: Role, source: str | None, settings: Settings) -> Any:
        from pathlib import Path

        if (limit := memory_limit()) is not None and limit < _LEAST_MEMORY:
            # Libraries end the process if they get none.
            allowed = (
                f"this process may have {limit // 1_000_000} MB of memory, which is too little for a model"
            )
            raise ModelError(allowed, NotEnoughMemoryError.HINT)
        from qmd.models.registry import load

        return load(source, role, cache_dir=Path(self._cache_dir), settings=settings, progress=self.report)

    def earlier(self, vectors: VectorSet) -> Embedder:
        """Return the embedder that made `vectors`, which the settings do not name any more.

        Raises `ModelError` if it is not available, or if its name now stands for another model.
        """
        from qmd.models.catalog import CARDS

        if self.portable:
            raise ModelError(
                f"the vectors of this index file are by the model '{vectors.name}', and your settings name "
                f"'{self.embedder.name}', so it is searched by words only",
                "choose that model with QMD_EMBED_MODEL or in your index.yml, if you have it",
            )
        with self._lock:
            if self._earlier is not None and self._earlier[0].fingerprint == vectors.fingerprint:
                return self._earlier[1]
            if self._foreign_index and all(vectors.source != card.name for card in CARDS):
                raise ModelError(
                    f"the project's index names the model '{vectors.name}', which your settings do not name",
                    "run 'qmd embed'",
                )
            embedder: Embedder = self._load("embed", vectors.source, self._without_key_for(vectors.source))
            # Compare the model alone if possible: how texts are chunked does not matter for queries.
            if vectors.model:
                same = embedder.fingerprint == vectors.model
            else:
                same = _fingerprint(embedder) == vectors.fingerprint
            if not same:
                raise ModelError(
                    f"the model '{vectors.name}' has changed since it embedded your documents",
                    "run 'qmd embed'",
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
            return any(model is not None and model.loaded for model in (self._models.get("embed"), earlier))

    def release(self) -> None:
        """Release the models. Running calls finish; the next use loads the models again."""
        with self._lock:
            self._models = {}
            self._earlier = None
        trim_memory()

    def server(self, role: Role) -> str | None:
        """Return the server that a role's texts are sent to, or None if its model runs on this machine."""
        if self.setting(role) is None:
            return None
        from qmd.models.registry import remote_host

        return remote_host(self.setting(role))

    def setting(self, role: Role) -> str | None:
        """Return the model that the settings name for a role."""
        return model_setting(self._settings, role)

    @property
    def windows(self) -> int:
        """The most windows of which the index keeps what the reranker has read."""
        return 0 if self.portable else self._settings.windows_mb * 1_000_000 // _WINDOW_BYTES

    @property
    def fingerprint(self) -> str:
        """A fingerprint of the embedder and of how texts are chunked for it."""
        return _fingerprint(self.embedder)

    @property
    def vector_set(self) -> VectorSet:
        """The vector set of the configured embedder."""
        from qmd.models.registry import stable_name

        source = stable_name(self._settings.embed_model, "embed")
        return VectorSet(self.fingerprint, self.embedder.name, self.embedder.fingerprint, source)

    def report(self, message: str) -> None:
        """Send the user a message outside of the result."""
        if self._progress is not None:
            self._progress(message)


def _fingerprint(embedder: Embedder) -> str:
    """Return a digest of the inputs of vectors: the model, the chunking and the text around chunks."""
    # Imported on use, because a search for words needs no vectors.
    from qmd.text import chunking

    sizes = embedder.chunk_tokens, embedder.chunk_overlap
    recipe = (embedder.fingerprint, chunking.VERSION, _VERSION, *sizes)
    return sha256(repr(recipe).encode())[:16]


def model_setting(settings: Settings, role: Role) -> str | None:
    """Return the model that settings name for a role; None for the default."""
    models: dict[Role, str | None] = {
        "embed": settings.embed_model,
        "rerank": settings.rerank_model,
        "generate": settings.generate_model,
    }
    return models[role]

"""llama.cpp in this process, behind an OpenAI-compatible interface."""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.features.models.llama.gguf import Header
from qmd.features.models.remote import RefusedError
from qmd.models.catalog import ModelCard

#: Tokens of context: enough for a long chunk in any script.
CONTEXT = 4096
#: Bytes for the buffers of the computation graph.
_OVERHEAD = 150_000_000
_METHODS = {
    "/embeddings": "handle_embeddings",
    "/chat/completions": "handle_chat_completions",
    "/rerank": "handle_rerank",
}
#: The share of the machine's memory that models may take by default.
_MEMORY_SHARE = 0.8
_memory_lock = threading.Lock()
#: The models that may be in memory, least recently used first.
_models: list[weakref.ref[LlamaService]] = []


class LlamaService:
    """A model that loads at the first request, and again if it was unloaded for another model."""

    def __init__(
        self,
        card: ModelCard,
        path: Path,
        header: Header,
        settings: Settings,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._card = card
        self._path = path
        self._header = header
        self._settings = settings
        self._progress = progress
        self._lock = threading.Lock()
        self._server: Any = None

    @property
    def loaded(self) -> bool:
        """True if the weights are in memory."""
        return self._server is not None

    @property
    def bytes_needed(self) -> int:
        """Estimate the memory for the weights, the keys and values of the context, and buffers."""
        header, context = self._header, self._context
        heads = header.number("attention.head_count") or 1
        kv_heads = header.number("attention.head_count_kv") or heads
        width = header.number("embedding_length") * kv_heads // heads
        # Keys and values, two bytes for each number.
        return header.size + 4 * context * width * header.number("block_count") + _OVERHEAD

    def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """Return the reply to a request. Raises `ModelError` if the model cannot be loaded."""
        reply = self._handle(path, payload)
        self._check(reply)
        return reply

    def stream(
        self, path: str, payload: Mapping[str, Any], seconds: float, on_part: Callable[[Any], bool]
    ) -> None:
        """Give the parts of a reply to `on_part` until it returns true. The caller counts the seconds."""
        failed: list[BaseException] = []

        def take(part: Any) -> bool:
            try:
                self._check(part)
                return on_part(part)
            except BaseException as error:  # noqa: BLE001 - raised below: it must not pass through llama.cpp
                failed.append(error)
                return True

        self._handle(path, payload, take)
        if failed:
            raise failed[0]

    def _handle(self, path: str, payload: Mapping[str, Any], *on_part: Callable[[Any], bool]) -> Any:
        with self._lock:
            _reserve_memory(self, self._settings.max_ram_mb)
            if self._server is None:
                if self._progress is not None:
                    self._progress(f"Loading {self._card.name}")
                self._server = self._load()
            try:
                reply = getattr(self._server, _METHODS[path])(dict(payload), *on_part)
            except (ValueError, RuntimeError) as error:
                raise RefusedError(f"'{self._card.name}': {error}", None, 400) from error
        return reply

    def _check(self, reply: Any) -> None:
        match reply:
            case {"error": {"code": int(code), "message": str(message)}}:
                raise RefusedError(f"'{self._card.name}': {message}", None, code)

    def unload(self) -> bool:
        """Free the memory, and return True, unless a request is running."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._server = None
            return True
        finally:
            self._lock.release()

    def _load(self) -> Any:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.verbosity = -1
        params.warmup = False
        params.n_parallel = 1
        params.n_ctx = params.n_batch = params.n_ubatch = self._context
        if self._settings.threads is not None:
            params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._settings.threads
        # The server also listens on a port of the loopback interface: a random key keeps others out.
        params.api_keys = [secrets.token_urlsafe()]
        params.ui = False
        pooling = xllamacpp.llama_pooling_type
        if self._card.role == "rerank":
            params.embedding, params.pooling_type = True, pooling.LLAMA_POOLING_TYPE_RANK
        elif self._card.role == "embed":
            params.embedding = True
            if not self._header.pooling:
                kind = "LAST" if self._card.pooling == "last" else "MEAN"
                params.pooling_type = getattr(pooling, f"LLAMA_POOLING_TYPE_{kind}")
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelError(
                f"{self._path}: llama.cpp cannot load this file", "download it again, or upgrade xllamacpp"
            ) from error

    @property
    def _context(self) -> int:
        return min(CONTEXT, self._card.window)


def _reserve_memory(model: LlamaService, max_ram_mb: int | None) -> None:
    """Free enough memory for a model by unloading others; the limit is for the process.

    Raises `ModelError` if the model does not fit, or not beside the models in use.
    """
    limit = max_ram_mb * 1_000_000 if max_ram_mb is not None else int(_total_memory() * _MEMORY_SHARE)
    needed = model.bytes_needed
    if needed > limit:
        raise ModelError(
            f"The model needs about {needed // 1_000_000:,} MB of memory; "
            f"the limit is {limit // 1_000_000:,} MB",
            "raise models.max_ram_mb, or use a smaller model",
        )
    with _memory_lock:
        others = [other for ref in _models if (other := ref()) is not None and other is not model]
        taken = sum(other.bytes_needed for other in others if other.loaded)
        for other in others:
            if taken + needed > limit and other.loaded and other.unload():
                taken -= other.bytes_needed
        if taken + needed > limit:
            raise ModelError(
                "Not enough memory for the model while other models are in use", "try again in a moment"
            )
        _models[:] = [weakref.ref(other) for other in (*others, model)]


def _total_memory() -> int:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**63

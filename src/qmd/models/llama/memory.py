"""The memory limit for models in this process. The least recently used model is unloaded first."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

from qmd.errors import ModelError

#: The share of the machine's memory that models may take by default.
_SHARE = 0.8


class Unloadable(Protocol):
    """A model whose memory can be freed."""

    @property
    def loaded(self) -> bool: ...
    @property
    def bytes_needed(self) -> int: ...
    def unload(self) -> bool:
        """Free the memory, and return True, unless the model is in use."""
        ...


class Memory:
    """The models with memory, most recently used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: list[weakref.ref[Unloadable]] = []

    def reserve(self, model: Unloadable, max_ram_mb: int | None) -> None:
        """Free enough memory for a model by unloading others.

        Raises:
            ModelError: The model does not fit, or not beside the models in use.
        """
        limit = max_ram_mb * 1_000_000 if max_ram_mb is not None else int(_total() * _SHARE)
        needed = model.bytes_needed
        if needed > limit:
            raise ModelError(
                f"The model needs about {needed // 1_000_000:,} MB of memory; "
                f"the limit is {limit // 1_000_000:,} MB",
                "Raise models.max_ram_mb, or use a smaller model.",
            )
        with self._lock:
            others = [other for ref in self._models if (other := ref()) is not None and other is not model]
            taken = sum(other.bytes_needed for other in others if other.loaded)
            for other in others:
                if taken + needed > limit and other.loaded and other.unload():
                    taken -= other.bytes_needed
            if taken + needed > limit:
                raise ModelError(
                    "Not enough memory for the model while other models are in use",
                    "Try again in a moment.",
                )
            self._models = [weakref.ref(other) for other in (*others, model)]


#: Shared by all models, because the limit is for the process.
MEMORY = Memory()


def _total() -> int:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**63

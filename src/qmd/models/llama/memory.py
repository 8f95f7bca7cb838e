"""The memory of this process that models may take: the one used longest ago makes room for the next."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from qmd.errors import ModelError

if TYPE_CHECKING:
    from qmd.models.llama.service import LlamaService

#: Of the machine's memory, where the settings do not say how much.
_SHARE = 0.8


class Memory:
    """Who has memory, last used last. One for the process, since memory is the process's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: list[weakref.ref[LlamaService]] = []

    def use(self, service: LlamaService, max_ram_mb: int | None) -> None:
        """Make room for a model that is about to be used, and note that it is.

        Raises `ModelError` for one that does not fit, or not beside those at work now.
        """
        limit = max_ram_mb * 1_000_000 if max_ram_mb is not None else int(_total() * _SHARE)
        needed = service.bytes_needed
        if needed > limit:
            megabytes = f"{needed // 1_000_000:,} MB of memory of at most {limit // 1_000_000:,}"
            raise ModelError(
                f"The model takes about {megabytes}",
                "models.max_ram_mb sets how much; or use a smaller model.",
            )
        with self._lock:
            others = [each for ref in self._users if (each := ref()) is not None and each is not service]
            taken = sum(each.bytes_needed for each in others if each.loaded)
            for other in others:
                if taken + needed > limit and other.loaded and other.unload():
                    taken -= other.bytes_needed
            if taken + needed > limit:
                raise ModelError(
                    "There is no memory for the model beside the others at work", "Try again in a moment."
                )
            self._users = [weakref.ref(each) for each in (*others, service)]


MEMORY = Memory()


def _total() -> int:
    """Bytes of memory of this machine."""
    import os

    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**63

"""Refuses NumPy to a process that may have little memory, because its libraries would end the process."""

from __future__ import annotations

import os

from qmd.errors import NotEnoughMemoryError
from qmd.system import memory_limit

#: Bytes of address space below which NumPy is not imported, and those for the buffers of its threads.
_LEAST, _FOR_THREADS = 150_000_000, 1_000_000_000


class Guard:
    """Looks at the limit of this process when NumPy is imported: most commands do without."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Leave the module to other finders. Raises `NotEnoughMemoryError` for NumPy."""
        if name != "numpy" or (limit := memory_limit()) is None or limit >= _FOR_THREADS:
            return
        if limit < _LEAST:
            allowed = f"this process may have {limit // 1_000_000} MB of memory"
            raise NotEnoughMemoryError(f"{allowed}, which is too little for vectors")
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

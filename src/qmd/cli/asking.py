"""Who answers a search: this process, or the server of the same index, whose models are warm (C4)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from qmd.errors import NotFoundError

if TYPE_CHECKING:
    from qmd.engine.index import Index
    from qmd.engine.requests import SearchRequest
    from qmd.types import SearchResponse


def ask(index: Index, kind: str, request: SearchRequest, mode: str) -> SearchResponse:
    """Have a search answered; whoever does it, the answer is the same.

    `mode` is local, server, or auto: by the server where one runs. Raises `NotFoundError` where there must be
    a server and none runs, and `NoAnswerError` where it has another configuration or version.
    """
    if mode != "local":
        from qmd.config.paths import cache_dir
        from qmd.server.discovery import find

        server = find(cache_dir(os.environ), index.locations.index)
        if server is not None:
            from qmd.server import run_handler

            try:
                return run_handler.ask(server, index, kind, request)
            except run_handler.NoAnswerError:
                if mode == "server":
                    raise
        elif mode == "server":
            raise NotFoundError("no server runs for this index", "start one: qmd server --daemon")
    return index.run(kind, request)

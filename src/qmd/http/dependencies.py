"""What a request asks of the index: reads side by side, writes one after another, all off the event loop."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from qmd.engine.index import Index
from qmd.models.base import Cancelled
from qmd.server.access import index_of
from qmd.server.index_host import IndexHost
from qmd.server.jobs import Jobs

#: Asks the index, in a thread of its own; gives the answer's body.
Work = Callable[[Index, Cancelled], BaseModel]


class Service:
    """The index as one request may use it. Bodies are written out in the thread, however large they are."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._resident: IndexHost = request.app.state.resident
        self._jobs: Jobs = request.app.state.jobs

    async def read(self, work: Work, *, models: bool = False) -> Response:
        """Answer with what `work` finds; `models` says whether it may use them."""
        return _json(await self._resident.call(self._written(work), models=models))

    async def write(self, work: Work, *, models: bool = False) -> Response:
        """The same in the queue of those that change the index."""
        return _json(await self._jobs.call(self._written(work), models=models))

    def _written(self, work: Work) -> Callable[[Index, Cancelled], bytes]:
        def run(index: Index, cancelled: Cancelled) -> bytes:
            # What was not set is no part of an answer: an explanation that nobody asked for.
            answer = work(index_for(self._request, index), cancelled)
            return answer.model_dump_json(exclude_unset=True).encode()

        return run


def service(request: Request) -> Service:
    """The index as a request may use it."""
    return Service(request)


def index_for(request: Request, index: Index) -> Index:
    """As much of the index as whoever sent the request may see."""
    return index_of(request.scope, index)


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")

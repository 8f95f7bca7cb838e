"""Access of requests to the index: concurrent reads, queued writes, all in threads."""

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

#: Calls the index, and returns the body of the answer. Runs in a thread.
Work = Callable[[Index, Cancelled], BaseModel]


class Service:
    """The index for one request. Answers are serialized in the thread, because they can be large."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._index_host: IndexHost = request.app.state.index_host
        self._jobs: Jobs = request.app.state.jobs

    async def read(self, work: Work, *, models: bool = False) -> Response:
        """Answer with the result of `work`. `models` is whether it may use models."""
        return _json(await self._index_host.call(self._serialized(work), models=models))

    async def write(self, work: Work, *, models: bool = False) -> Response:
        """Answer with the result of `work`, which runs in the queue of writes."""
        return _json(await self._jobs.call(self._serialized(work), models=models))

    def _serialized(self, work: Work) -> Callable[[Index, Cancelled], bytes]:
        def run(index: Index, cancelled: Cancelled) -> bytes:
            # Leave out optional fields that are not set, such as the explanation of a hit.
            answer = work(index_for(self._request, index), cancelled)
            return answer.model_dump_json(exclude_unset=True).encode()

        return run


def service(request: Request) -> Service:
    """Return the index for a request."""
    return Service(request)


def index_for(request: Request, index: Index) -> Index:
    """Return the index as the sender of a request may see it."""
    return index_of(request.scope, index)


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")

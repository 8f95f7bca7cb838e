"""Operations that the server answers by itself: `/health` and `/metrics`."""

from __future__ import annotations

from typing import Literal

import anyio
from msgspec import Struct, json
from starlette.requests import Request
from starlette.responses import Response

from qmd.api.operation import Operation
from qmd.errors import QmdError
from qmd.server.access import index_of
from qmd.server.errors import answer
from qmd.server.index_host import IndexHost
from qmd.server.logs import client_logger
from qmd.server.metrics import MEDIA_TYPE, Metrics, metrics_of

logger = client_logger(__name__)


class Health(Struct, frozen=True):
    """Whether the index can be used, whether the embedding model is in memory, and how changes are noticed.

    `watching` is `events`, `polling`, `standby` while another process may watch the folders, or `off`.
    """

    status: Literal["healthy", "unhealthy"]
    model_loaded: bool
    watching: Literal["events", "polling", "standby", "off"]


class Unhealthy(Health, frozen=True):
    """The state of a server that is not ready, which is also an error."""

    detail: str
    status_code: int


async def health(request: Request) -> Response:
    """Return whether the server is ready. Needs no key."""
    # Not in a thread of the index, so that it also answers if all of them are busy.
    state = await anyio.to_thread.run_sync(_check, request.app.state.index_host)
    status = 503 if isinstance(state, Unhealthy) else 200
    return Response(json.encode(state), status, media_type="application/json")


async def metrics(request: Request) -> Response:
    """Return metrics of requests, their times, the index, the models and the queue of writes."""
    server_metrics = metrics_of(request.scope)
    if server_metrics is None:
        return answer(501, Metrics.missing())
    index_host: IndexHost = request.app.state.index_host
    waiting = index_host.writes
    page = await index_host.call(
        lambda index, cancelled: server_metrics.page(
            index_of(request.scope, index).status(), models_loaded=index.model_loaded, waiting=waiting
        )
    )
    return Response(page, media_type=MEDIA_TYPE)


def _check(index_host: IndexHost) -> Health:
    try:
        index = index_host.index
        _ = index.config  # raises an error if the file has become invalid
    except QmdError as error:
        logger.warning("not ready: %s", error.in_one_line())
        return Unhealthy("unhealthy", False, index_host.watching, "The index is not ready", 503)
    return Health("healthy", index.model_loaded, index_host.watching)


OPERATIONS = (
    Operation("GET /health", health, gives=Health),
    Operation("GET /metrics", metrics, gives=str),
)

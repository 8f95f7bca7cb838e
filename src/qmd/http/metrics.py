"""`/metrics`: metrics of the server for Prometheus."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from qmd.http.dependencies import index_for
from qmd.http.errors import answer, errors
from qmd.http.routing import router
from qmd.server.index_host import IndexHost
from qmd.server.jobs import Jobs
from qmd.server.metrics import MEDIA_TYPE, MISSING, metrics_of

routes = router()

_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The metrics"}
}


@routes.get("/metrics", response_class=Response, responses=_TEXT | errors(501))
async def metrics(request: Request) -> Response:
    """Return metrics of requests, their times, the index, the models and the queue of writes."""
    server_metrics = metrics_of(request.scope)
    if server_metrics is None:
        return answer(501, MISSING)
    index_host: IndexHost = request.app.state.index_host
    jobs: Jobs = request.app.state.jobs
    waiting = jobs.waiting
    page = await index_host.call(
        lambda index, cancelled: server_metrics.page(
            index_for(request, index).status(), models_loaded=index.model_loaded, waiting=waiting
        )
    )
    return Response(page, media_type=MEDIA_TYPE)

"""Metrics of a running server, in the text format of Prometheus."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qmd.installation import install_command

if TYPE_CHECKING:
    from qmd.engine.upkeep.status import Status

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

#: Seconds. The highest bucket is for a search that must load a model.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: The entry of a request's ASGI scope for the metrics of its server.
_SCOPE_KEY = "qmd.metrics"


class Metrics:
    """Counts and times requests. Requires the package prometheus-client, see `available`."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        registry = self._registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("qmd_requests", "Requests answered.", labels, registry=registry)
        about = "Time from a request to its answer."
        self._seconds = Histogram(
            "qmd_request_seconds", about, ("route",), buckets=_BUCKETS, registry=registry
        )
        about = "Requests that wait for their answer."
        self._open = Gauge("qmd_requests_in_progress", about, registry=registry)

    @staticmethod
    def missing() -> str:
        """Return the error if the package prometheus-client is not installed."""
        return f"metrics need the extra 'server': {install_command('server')}"

    @staticmethod
    def available() -> bool:
        return find_spec("prometheus_client") is not None

    def wrap(self, app: ASGIApp) -> ASGIApp:
        """Return an application whose requests are counted and timed."""

        async def measured(scope: Scope, receive: Receive, send: Send) -> None:
            status = "none"

            async def send_and_record(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = str(message["status"])
                await send(message)

            scope[_SCOPE_KEY] = self
            began = time.perf_counter()
            try:
                with self._open.track_inprogress():
                    await app(scope, receive, send_and_record)
            finally:
                route = _route(scope)
                self._requests.labels(_method(scope), route, status).inc()
                self._seconds.labels(route).observe(time.perf_counter() - began)

        return measured

    def page(self, status: Status, *, models_loaded: bool, waiting: int) -> bytes:
        """Return all metrics as text. Those of the index come from its status."""
        from prometheus_client import CollectorRegistry, Gauge, generate_latest

        current = CollectorRegistry()

        def gauge(name: str, description: str, *labels: str) -> Gauge:
            return Gauge(f"qmd_{name}", description, labels, registry=current)

        documents = gauge("documents", "Documents indexed.", "collection")
        sizes = gauge("document_bytes", "Bytes of the documents indexed.", "collection")
        for collection in status.collections:
            documents.labels(collection.name).set(collection.documents)
            sizes.labels(collection.name).set(collection.bytes)
        gauge("index_bytes", "Bytes of the index file.").set(status.size)
        gauge("texts_without_vectors", "Texts that wait for 'qmd embed'.").set(status.needs_embedding)
        gauge("models_loaded", "1 if models are in memory.").set(models_loaded)
        gauge("writes_queued", "Writes that wait, or are in progress.").set(waiting)
        return bytes(generate_latest(self._registry) + generate_latest(current))


def metrics_of(scope: Scope) -> Metrics | None:
    """Return the metrics of the server of a request, or None if it has none."""
    return cast("Metrics | None", scope.get(_SCOPE_KEY))


def _method(scope: Scope) -> str:
    """Return the method of a request, or `other` so that clients cannot create labels."""
    method: str = scope["method"]
    return method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS") else "other"


def _route(scope: Scope) -> str:
    """Return the path template of the request's route, or `none` if there is no route."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return path
    # A Starlette route is not in the scope, only its endpoint. Its path has no parameters.
    return str(scope["path"]) if "endpoint" in scope and not scope.get("path_params") else "none"

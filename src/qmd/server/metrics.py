"""Figures of a running server, in the form that Prometheus reads."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from qmd.engine.upkeep.status import Status

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: What to say where the package that writes them is not here.
MISSING = "Metrics need the package prometheus-client: pip install 'qmd-python[server]'"

#: Up to a search that has to load a model; in seconds.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: Where the metrics of a server are in the ASGI scope of its requests.
_IN_SCOPE = "qmd.metrics"


class Metrics:
    """Counts and times requests. It needs the package prometheus-client: see `available`."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter("qmd_requests", "Requests answered.", ["method", "route", "status"], **own)
        self._seconds = Histogram(
            "qmd_request_seconds", "Time from a request to its answer.", ["route"], buckets=_BUCKETS, **own
        )
        self._open = Gauge("qmd_requests_in_progress", "Requests that wait for their answer.", **own)

    @staticmethod
    def available() -> bool:
        """Whether the package is here."""
        return find_spec("prometheus_client") is not None

    def watch(self, app: ASGIApp) -> ASGIApp:
        """An application whose requests are counted and timed."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            status = "none"

            async def note(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = str(message["status"])
                await send(message)

            scope[_IN_SCOPE] = self
            began = time.perf_counter()
            try:
                with self._open.track_inprogress():
                    await app(scope, receive, note)
            finally:
                route = _route(scope)
                self._requests.labels(_method(scope), route, status).inc()
                self._seconds.labels(route).observe(time.perf_counter() - began)

        return watched

    def page(self, found: Status, *, models_loaded: bool, waiting: int) -> bytes:
        """All figures; those of the index are the ones of `found`."""
        from prometheus_client import CollectorRegistry, Gauge, generate_latest

        now = CollectorRegistry()

        def gauge(name: str, what: str, *labels: str) -> Gauge:
            return Gauge(f"qmd_{name}", what, labels, registry=now)

        documents = gauge("documents", "Documents indexed.", "collection")
        sizes = gauge("document_bytes", "Bytes of the documents indexed.", "collection")
        for each in found.collections:
            documents.labels(each.name).set(each.documents)
            sizes.labels(each.name).set(each.bytes)
        gauge("index_bytes", "Bytes of the index file.").set(found.size)
        gauge("texts_without_vectors", "Texts that wait for 'qmd embed'.").set(found.needs_embedding)
        gauge("models_loaded", "1 where models are in memory.").set(models_loaded)
        gauge("writes_queued", "Writes that wait, or are in progress.").set(waiting)
        return bytes(generate_latest(self._registry) + generate_latest(now))


def metrics_of(scope: Scope) -> Metrics | None:
    """The metrics of the server that a request came to, where it keeps any."""
    metrics: Metrics | None = scope.get(_IN_SCOPE)
    return metrics


def _method(scope: Scope) -> str:
    """The method; one that is made up is no label, of which there must be few."""
    method: str = scope["method"]
    return method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS") else "other"


def _route(scope: Scope) -> str:
    """The path as its route writes it; one for all requests that no route answered."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return path
    # A plain route leaves no trace but what answers; its path has no parameters.
    return str(scope["path"]) if "endpoint" in scope and not scope.get("path_params") else "none"

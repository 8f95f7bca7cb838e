"""`/index`, `/update` and `/embed`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from qmd.api.arguments import Arguments
from qmd.engine.embedding.batches import MAX_TEXTS
from qmd.engine.index import Index
from qmd.engine.indexing.scan import ScanReport
from qmd.errors import ModelError
from qmd.http.dependencies import service
from qmd.http.errors import errors
from qmd.http.routing import example, router
from qmd.models.base import Cancelled, CancelledError
from qmd.server.jobs import stop_if
from qmd.text.wording import plural

routes = router()


class Nothing(Arguments):
    """No fields."""


class UpdateBody(Arguments):
    """With `pull`, run `git pull --ff-only` first in folders that are git work trees."""

    model_config = example(pull=True)

    pull: bool = False


class Texts(Arguments):
    """Texts to embed as documents. Longer texts are cut to the length that the model reads."""

    model_config = example(texts=["a text", "another"])

    # The engine checks the number of texts and has its own messages for it.
    texts: Annotated[list[str], Field(json_schema_extra={"minItems": 1, "maxItems": MAX_TEXTS})]


class Problem(BaseModel):
    """A file that could not be read."""

    path: str
    reason: str


class Report(BaseModel):
    """The result of a scan. `error` is the reason if it is incomplete; `notices` are other messages."""

    collection: str
    added: int
    updated: int
    unchanged: int
    removed: int
    problems: list[Problem]
    notices: list[str]
    error: str | None


class Indexed(BaseModel):
    """The scans of all collections; `collections` is their number."""

    status: Literal["indexed"]
    collections: int
    total_documents: int
    reports: list[Report]
    content: str


class Updated(BaseModel):
    """The scans of all collections; `collections` is their number."""

    status: Literal["updated"]
    collections: int
    reports: list[Report]
    content: str


class Embeddings(BaseModel):
    """One vector of length 1 per text, in their order."""

    embeddings: list[list[float]]


@routes.post("/index", response_model=Indexed, responses=errors(413))
async def scan(request: Request, body: Nothing = Nothing()) -> Response:  # noqa: B008 - it is frozen
    """Scan all collections for new, changed and deleted files."""

    def work(index: Index, cancelled: Cancelled) -> Indexed:
        reports = index.update(commands=False, on_progress=stop_if(cancelled))
        total = index.status().total_documents
        collections = plural(len(reports), "collection", separator="")
        documents = plural(total, "document", separator="")
        return Indexed(
            status="indexed",
            collections=len(reports),
            total_documents=total,
            reports=_reports(reports),
            content=f"Indexed {collections}: {documents}" + _failures(reports),
        )

    return await service(request).write(work)


@routes.post("/update", response_model=Updated, responses=errors(413))
async def update(request: Request, body: UpdateBody = UpdateBody()) -> Response:  # noqa: B008 - it is frozen
    """Run the collections' update commands, then scan for new, changed and deleted files."""

    def work(index: Index, cancelled: Cancelled) -> Updated:
        reports = index.update(pull=body.pull, on_progress=stop_if(cancelled))
        return Updated(
            status="updated",
            collections=len(reports),
            reports=_reports(reports),
            content=f"Updated {plural(len(reports), 'collection', separator='')}" + _failures(reports),
        )

    return await service(request).write(work)


@routes.post("/embed", response_model=Embeddings, responses=errors(413))
async def embed(request: Request, body: Texts) -> Response:
    """Embed texts with the index's model. Nothing is written."""

    def work(index: Index, cancelled: Cancelled) -> Embeddings:
        try:
            vectors = index.embed_texts(body.texts, cancelled=cancelled)
        except CancelledError:
            raise
        except ModelError as error:
            raise _NotLoadedError from error
        return Embeddings.model_construct(_fields_set=None, embeddings=vectors.tolist())

    return await service(request).write(work, models=True)


class _NotLoadedError(ModelError):
    def __init__(self) -> None:
        super().__init__("Model not loaded")


def _reports(reports: Sequence[ScanReport]) -> list[Report]:
    return [
        Report(
            collection=report.collection,
            added=report.added,
            updated=report.updated,
            unchanged=report.unchanged,
            removed=report.removed,
            problems=[Problem(path=path, reason=reason) for path, reason in report.problems],
            notices=report.notices,
            error=None if report.error is None else report.error.in_one_line(),
        )
        for report in reports
    ]


def _failures(reports: Sequence[ScanReport]) -> str:
    """Return a suffix that names the collections whose scan failed."""
    names = [report.collection for report in reports if report.error is not None]
    return f"; {plural(len(names), 'error', separator='')}: {', '.join(names)}" if names else ""

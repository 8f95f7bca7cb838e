"""`/index`, `/update` and `/embed` (H26, H32, H33)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from qmd.engine.embedding.batches import MAX_TEXTS
from qmd.engine.index import Index
from qmd.engine.indexing.scan import ScanReport
from qmd.errors import ModelError
from qmd.http.dependencies import service
from qmd.http.errors import errors
from qmd.http.routing import Body, example, router
from qmd.models.base import Cancelled, CancelledError
from qmd.server.jobs import unless
from qmd.text.wording import plural

routes = router()


class Nothing(Body):
    """No fields."""


class UpdateBody(Body):
    """`pull`: first `git pull --ff-only` where a folder is a git work tree."""

    model_config = example(pull=True)

    pull: bool = False


class Texts(Body):
    """Texts to be embedded as documents are; of a longer one, as much as the model reads."""

    model_config = example(texts=["a text", "another"])

    # How many there may be is the engine's to say: the contract has words of its own for it.
    texts: Annotated[list[str], Field(json_schema_extra={"minItems": 1, "maxItems": MAX_TEXTS})]


class Problem(BaseModel):
    """A file that could not be read."""

    path: str
    reason: str


class Report(BaseModel):
    """What a scan of a collection did; `error` is what kept it from doing all, `notices` tell the rest."""

    collection: str
    added: int
    updated: int
    unchanged: int
    removed: int
    problems: list[Problem]
    notices: list[str]
    error: str | None


class Indexed(BaseModel):
    """`collections` counts those gone through; `reports` says how it went."""

    status: Literal["indexed"]
    collections: int
    total_documents: int
    reports: list[Report]
    content: str


class Updated(BaseModel):
    """`collections` counts those gone through; `reports` says how it went."""

    status: Literal["updated"]
    collections: int
    reports: list[Report]
    content: str


class Embeddings(BaseModel):
    """A vector a text, in their order; each is of length 1."""

    embeddings: list[list[float]]


@routes.post("/index", response_model=Indexed, responses=errors(413))
async def scan(request: Request, body: Nothing = Nothing()) -> Response:  # noqa: B008 - it is frozen
    """Scan all collections for new, changed and deleted files."""

    def work(index: Index, cancelled: Cancelled) -> Indexed:
        reports = index.update(commands=False, on_progress=unless(cancelled))
        total = index.status().total_documents
        told = f"Indexed {plural(len(reports), 'collection')}: {plural(total, 'document')}"
        return Indexed(
            status="indexed",
            collections=len(reports),
            total_documents=total,
            reports=_shown(reports),
            content=told + _failed(reports),
        )

    return await service(request).write(work)


@routes.post("/update", response_model=Updated, responses=errors(413))
async def update(request: Request, body: UpdateBody = UpdateBody()) -> Response:  # noqa: B008 - likewise
    """Run the collections' update commands, then scan for new, changed and deleted files."""

    def work(index: Index, cancelled: Cancelled) -> Updated:
        reports = index.update(pull=body.pull, on_progress=unless(cancelled))
        return Updated(
            status="updated",
            collections=len(reports),
            reports=_shown(reports),
            content=f"Updated {plural(len(reports), 'collection')}" + _failed(reports),
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


def _shown(reports: Sequence[ScanReport]) -> list[Report]:
    return [
        Report(
            collection=each.collection,
            added=each.added,
            updated=each.updated,
            unchanged=each.unchanged,
            removed=each.removed,
            problems=[Problem(path=path, reason=reason) for path, reason in each.problems],
            notices=each.notices,
            error=None if each.error is None else each.error.in_one_line(),
        )
        for each in reports
    ]


def _failed(reports: Sequence[ScanReport]) -> str:
    """Which had errors, to be put behind a text."""
    names = [each.collection for each in reports if each.error is not None]
    return f"; {plural(len(names), 'error')}: {', '.join(names)}" if names else ""

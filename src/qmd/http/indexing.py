"""`/index`, `/update` and `/embed`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from qmd.api.arguments import Arguments
from qmd.engine.embedding.batches import MAX_TEXTS
from qmd.engine.index import Index
from qmd.engine.indexing.scan import ScanReport, stop_if
from qmd.errors import ModelError
from qmd.http.routing import Router, example
from qmd.models.base import Cancelled, CancelledError
from qmd.text.wording import plural

routes = Router()


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
    """The result of a scan. `error` is the reason if it is incomplete.

    `notices` are other messages, also about files that wait for an extra.
    """

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


@routes.endpoint("POST", "/index", 413, write=True)
def scan(index: Index, cancelled: Cancelled, body: Nothing = Nothing()) -> Indexed:  # noqa: B008 - it is frozen
    """Scan all collections for new, changed and deleted files."""
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


@routes.endpoint("POST", "/update", 413, write=True)
def update(index: Index, cancelled: Cancelled, body: UpdateBody = UpdateBody()) -> Updated:  # noqa: B008
    """Run the collections' update commands, then scan for new, changed and deleted files."""
    reports = index.update(pull=body.pull, on_progress=stop_if(cancelled))
    return Updated(
        status="updated",
        collections=len(reports),
        reports=_reports(reports),
        content=f"Updated {plural(len(reports), 'collection', separator='')}" + _failures(reports),
    )


@routes.endpoint("POST", "/embed", 413, write=True, models=True)
def embed(index: Index, cancelled: Cancelled, body: Texts) -> Embeddings:
    """Embed texts with the index's model. Nothing is written."""
    try:
        vectors = index.embed_texts(body.texts, cancelled=cancelled)
    except CancelledError:
        raise
    except ModelError as error:
        raise ModelError("Model not loaded") from error
    return Embeddings.model_construct(embeddings=vectors.tolist())


def _reports(reports: Sequence[ScanReport]) -> list[Report]:
    return [
        Report(
            collection=report.collection,
            added=report.added,
            updated=report.updated,
            unchanged=report.unchanged,
            removed=report.removed,
            problems=problems_of(report),
            notices=[*report.notices, *report.waits()],
            error=None if report.error is None else report.error.in_one_line(),
        )
        for report in reports
    ]


def problems_of(report: ScanReport) -> list[Problem]:
    """Return the files of a scan that could not be read."""
    return [Problem(path=path, reason=reason) for path, reason in report.problems]


def _failures(reports: Sequence[ScanReport]) -> str:
    """Return a suffix that names the collections whose scan failed."""
    names = [report.collection for report in reports if report.error is not None]
    return f"; {plural(len(names), 'error', separator='')}: {', '.join(names)}" if names else ""

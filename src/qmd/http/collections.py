"""`/collections`: the folders that are indexed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from qmd.api.arguments import NOT_BLANK, Arguments, Name
from qmd.api.results import Collection
from qmd.config.validate import MAX_COLLECTION_NAME
from qmd.engine.index import Index
from qmd.engine.upkeep.status import CollectionStatus
from qmd.errors import UsageError
from qmd.http.dependencies import service
from qmd.http.errors import errors
from qmd.http.routing import example, router
from qmd.models.base import Cancelled
from qmd.server.jobs import stop_if
from qmd.text.wording import plural
from qmd.types import DEFAULT_PATTERN

routes = router()

_CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_SPACES = r" \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
#: The rule of `qmd.config.validate` as JSON Schema.
_NEW_NAME = {
    "minLength": 1,
    "maxLength": MAX_COLLECTION_NAME,
    "pattern": rf"^[^./\\{_SPACES}{_CONTROLS}]([^/\\{_CONTROLS}]*[^/\\{_SPACES}{_CONTROLS}])?$",
}


class NewCollection(Arguments):
    """A folder on the server's machine: an absolute path, or one that begins with `~`."""

    model_config = example(name="notes", path="~/notes")

    name: Annotated[Name, Field(json_schema_extra=_NEW_NAME)]
    path: Annotated[Name, Field(json_schema_extra={"pattern": "^[/~]"})]
    glob_pattern: Annotated[Name, Field(json_schema_extra={"pattern": NOT_BLANK})] = DEFAULT_PATTERN


class NewName(Arguments):
    """The new name of a collection."""

    model_config = example(new_name="journal")

    new_name: Annotated[Name, Field(json_schema_extra=_NEW_NAME)]


class CollectionDetails(Collection):
    """A collection; `last_indexed` is the time of its last scan, ISO 8601 in UTC."""

    last_indexed: str | None


class Collections(BaseModel):
    """All collections, in the order of the configuration."""

    collections: list[Collection]
    content: str


class Added(BaseModel):
    """The new collection."""

    status: Literal["added"]
    name: str
    path: str
    documents: int
    content: str


class Removed(BaseModel):
    """The removed collection. Its files stay on the disk."""

    status: Literal["removed"]
    name: str
    content: str


class Renamed(BaseModel):
    """The renamed collection."""

    status: Literal["renamed"]
    old_name: str
    new_name: str
    content: str


CollectionName = Annotated[str, Path(description="The name of a collection.")]


@routes.post("/collections/add", response_model=Added, responses=errors(413))
async def add(request: Request, body: NewCollection) -> Response:
    """Index a folder."""

    def work(index: Index, cancelled: Cancelled) -> Added:
        if not body.path.startswith(("/", "~")):
            raise UsageError(
                f"path: {body.path} is relative", "give an absolute path on the server's machine"
            )
        report = index.add_collection(
            body.path, body.name, pattern=body.glob_pattern, on_progress=stop_if(cancelled)
        )
        added = _status(index, report.collection)
        documents = plural(added.documents, "document", separator="")
        return Added(
            status="added",
            name=added.name,
            path=added.path,
            documents=added.documents,
            content=f"Added collection '{added.name}' with {documents}",
        )

    return await service(request).write(work)


@routes.get("/collections", response_model=Collections)
async def collections(request: Request) -> Response:
    """List the collections."""

    def work(index: Index, cancelled: Cancelled) -> Collections:
        statuses = index.status().collections
        lines = [f"- {status.name} ({plural(status.documents, 'doc', separator='')})" for status in statuses]
        return Collections(
            collections=[Collection(**_fields(status)) for status in statuses],
            content="\n".join([f"Collections: {len(statuses)}", *lines]),
        )

    return await service(request).read(work)


@routes.get("/collections/{name}", response_model=CollectionDetails, responses=errors(404))
async def collection(request: Request, name: CollectionName) -> Response:
    """Show a collection."""

    def work(index: Index, cancelled: Cancelled) -> CollectionDetails:
        status = _status(index, name)
        return CollectionDetails(**_fields(status), last_indexed=status.last_updated)

    return await service(request).read(work)


@routes.delete("/collections/{name}", response_model=Removed, responses=errors(404))
async def remove(request: Request, name: CollectionName) -> Response:
    """Remove a collection from the index. Its files stay on the disk."""

    def work(index: Index, cancelled: Cancelled) -> Removed:
        index.remove_collection(name)
        return Removed(status="removed", name=name, content=f"Removed collection '{name}'")

    return await service(request).write(work)


@routes.put("/collections/{name}", response_model=Renamed, responses=errors(404, 413))
async def rename(request: Request, name: CollectionName, body: NewName) -> Response:
    """Rename a collection."""

    def work(index: Index, cancelled: Cancelled) -> Renamed:
        index.rename_collection(name, body.new_name)
        return Renamed(
            status="renamed",
            old_name=name,
            new_name=body.new_name,
            content=f"Renamed '{name}' to '{body.new_name}'",
        )

    return await service(request).write(work)


def _status(index: Index, name: str) -> CollectionStatus:
    """Return the status of a collection; raise `CollectionNotFoundError` if there is none."""
    collection = index.collection(name)
    return next(status for status in index.status().collections if status.name == collection.name)


def _fields(status: CollectionStatus) -> dict[str, Any]:
    return {
        "name": status.name,
        "path": status.path,
        "pattern": status.pattern,
        "documents": status.documents,
    }

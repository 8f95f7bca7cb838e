"""`/collections`: the folders that are indexed."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, Field

from qmd.api import operations
from qmd.api.arguments import NOT_BLANK, Arguments, Name
from qmd.api.results import Collection
from qmd.config.validate import MAX_COLLECTION_NAME
from qmd.engine.index import Index
from qmd.engine.indexing.scan import stop_if
from qmd.engine.upkeep.status import CollectionStatus
from qmd.http.indexing import Problem, problems_of
from qmd.http.routing import Router, example
from qmd.models.base import Cancelled
from qmd.text.wording import plural
from qmd.types import DEFAULT_PATTERN

routes = Router()

_CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_SPACES = r" \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
#: The rule of `qmd.config.validate` as JSON Schema.
_NEW_NAME = {
    "minLength": 1,
    "maxLength": MAX_COLLECTION_NAME,
    "pattern": rf"^[^./\\{_SPACES}{_CONTROLS}]([^/\\{_CONTROLS}]*[^/\\{_SPACES}{_CONTROLS}])?$",
}


class NewCollection(Arguments):
    """A folder on the server's machine: an absolute path, or one that begins with `~`.

    `formats` are names such as `pdf`, or `all`. They select the files, unless there is a `glob_pattern`, too.
    """

    model_config = example(name="papers", path="~/papers", formats=["markdown", "pdf"])

    name: Annotated[Name, Field(json_schema_extra=_NEW_NAME)]
    path: Annotated[Name, Field(json_schema_extra={"pattern": "^[/~]"})]
    glob_pattern: Annotated[Name, Field(json_schema_extra={"pattern": NOT_BLANK})] = DEFAULT_PATTERN
    formats: list[Name] = Field([])


class NewName(Arguments):
    """The new name of a collection."""

    model_config = example(new_name="journal")

    new_name: Annotated[Name, Field(json_schema_extra=_NEW_NAME)]


class CollectionDetails(Collection):
    """A collection; `last_indexed` is the time of its last scan, ISO 8601 in UTC.

    `formats` are those that it names. If there is no `pattern`, they select its files.
    """

    last_indexed: str | None
    formats: list[str]


class Collections(BaseModel):
    """All collections, in the order of the configuration."""

    collections: list[Collection]
    content: str


class Added(BaseModel):
    """The new collection, the files that could not be read, and messages, as of `/update`."""

    status: Literal["added"]
    name: str
    path: str
    documents: int
    problems: list[Problem]
    notices: list[str]
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


@routes.endpoint("POST", "/collections/add", 413, write=True)
def add(index: Index, cancelled: Cancelled, body: NewCollection) -> Added:
    """Index a folder."""
    by_formats = body.formats and "glob_pattern" not in body.model_fields_set
    report = operations.add_collection(
        index,
        body.path,
        body.name,
        None if by_formats else body.glob_pattern,
        formats=body.formats,
        on_progress=stop_if(cancelled),
    )
    added = _status(index, report.collection)
    documents = plural(added.documents, "document", separator="")
    return Added(
        status="added",
        name=added.name,
        path=added.path,
        documents=added.documents,
        problems=problems_of(report),
        notices=[*report.notices, *report.waits()],
        content=f"Added collection '{added.name}' with {documents}",
    )


@routes.endpoint("GET", "/collections")
def collections(index: Index, cancelled: Cancelled) -> Collections:
    """List the collections."""
    statuses = index.status().collections
    lines = [f"- {status.name} ({plural(status.documents, 'doc', separator='')})" for status in statuses]
    return Collections(
        collections=[Collection.model_validate(status, from_attributes=True) for status in statuses],
        content="\n".join([f"Collections: {len(statuses)}", *lines]),
    )


@routes.endpoint("GET", "/collections/{name}", 404)
def collection(index: Index, cancelled: Cancelled, name: CollectionName) -> CollectionDetails:
    """Show a collection."""
    status = _status(index, name)
    shared = Collection.model_validate(status, from_attributes=True)
    formats = list(index.collection(name).formats)
    return CollectionDetails(**dict(shared), last_indexed=status.last_updated, formats=formats)


@routes.endpoint("DELETE", "/collections/{name}", 404, write=True)
def remove(index: Index, cancelled: Cancelled, name: CollectionName) -> Removed:
    """Remove a collection from the index. Its files stay on the disk."""
    index.remove_collection(name)
    return Removed(status="removed", name=name, content=f"Removed collection '{name}'")


@routes.endpoint("PUT", "/collections/{name}", 404, 413, write=True)
def rename(index: Index, cancelled: Cancelled, name: CollectionName, body: NewName) -> Renamed:
    """Rename a collection."""
    index.rename_collection(name, body.new_name)
    return Renamed(
        status="renamed",
        old_name=name,
        new_name=body.new_name,
        content=f"Renamed '{name}' to '{body.new_name}'",
    )


def _status(index: Index, name: str) -> CollectionStatus:
    collection = index.collection(name)  # raises an error if there is none
    return next(status for status in index.status().collections if status.name == collection.name)

"""`/contexts`: descriptions of collections and folders."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, Field

from qmd.api.arguments import NOT_BLANK, Arguments, Name
from qmd.engine.index import Index
from qmd.errors import UsageError
from qmd.http.routing import Router, example
from qmd.models.base import Cancelled
from qmd.text.uris import SCHEME, is_uri

routes = Router()


class NewContext(Arguments):
    """A description of `/` (everything), `qmd://collection/folder`, or a folder of a collection on disk."""

    model_config = example(path="qmd://notes/ops", text="How the service is run")

    path: Annotated[Name, Field(json_schema_extra={"minLength": 1})]
    text: Annotated[str, Field(json_schema_extra={"pattern": NOT_BLANK})]


ContextPath = Annotated[str, Path(description="As it was added, or as it is listed.")]


class Context(BaseModel):
    """A path, as a `qmd://` address, and its description."""

    path: str
    text: str


class Contexts(BaseModel):
    """All contexts."""

    contexts: list[Context]


class ContextAdded(BaseModel):
    """The new context."""

    status: Literal["added"]
    path: str
    content: str


class ContextRemoved(BaseModel):
    """The removed context."""

    status: Literal["removed"]
    path: str


@routes.endpoint("POST", "/contexts/add", 404, 413, write=True)
def add(index: Index, cancelled: Cancelled, body: NewContext) -> ContextAdded:
    """Describe a path. The description is shown with every document below the path."""
    index.add_context(_location(body.path), body.text)
    return ContextAdded(status="added", path=body.path, content=f"Added context for {body.path}")


@routes.endpoint("GET", "/contexts")
def contexts(index: Index, cancelled: Cancelled) -> Contexts:
    """List the contexts."""
    return Contexts(contexts=[Context(path=path, text=text) for path, text in index.contexts()])


@routes.endpoint("DELETE", "/contexts/{path:path}", 404, write=True)
def remove(index: Index, cancelled: Cancelled, path: ContextPath) -> ContextRemoved:
    """Remove a context."""
    index.remove_context(_location(path))
    return ContextRemoved(status="removed", path=path)


def _location(path: str) -> str:
    """Return a path as the engine takes it. A relative path begins with a collection."""
    if not path:  # to the engine that would mean everything
        raise UsageError("the path is empty", "use / for everything")
    return path if path.startswith(("/", "~")) or is_uri(path) else SCHEME + path

"""`/contexts`: descriptions of collections and folders."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from qmd.api.arguments import NOT_BLANK, Arguments, Name
from qmd.engine.index import Index
from qmd.errors import UsageError
from qmd.http.dependencies import service
from qmd.http.errors import errors
from qmd.http.routing import example, router
from qmd.models.base import Cancelled
from qmd.text.uris import SCHEME, is_uri

routes = router()


class NewContext(Arguments):
    """A description of `/` (everything), `qmd://collection/folder`, or a folder of a collection on disk."""

    model_config = example(path="qmd://notes/ops", text="How the service is run")

    path: Annotated[Name, Field(json_schema_extra={"minLength": 1})]
    text: Annotated[str, Field(json_schema_extra={"pattern": NOT_BLANK})]


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


@routes.post("/contexts/add", response_model=ContextAdded, responses=errors(404, 413))
async def add(request: Request, body: NewContext) -> Response:
    """Describe a path. The description is shown with every document below the path."""

    def work(index: Index, cancelled: Cancelled) -> ContextAdded:
        index.add_context(_location(body.path), body.text)
        return ContextAdded(status="added", path=body.path, content=f"Added context for {body.path}")

    return await service(request).write(work)


@routes.get("/contexts", response_model=Contexts)
async def contexts(request: Request) -> Response:
    """List the contexts."""

    def work(index: Index, cancelled: Cancelled) -> Contexts:
        return Contexts(contexts=[Context(path=path, text=text) for path, text in index.contexts()])

    return await service(request).read(work)


@routes.delete("/contexts/{path:path}", response_model=ContextRemoved, responses=errors(404))
async def remove(
    request: Request, path: Annotated[str, Path(description="As it was added, or as it is listed.")]
) -> Response:
    """Remove a context."""

    def work(index: Index, cancelled: Cancelled) -> ContextRemoved:
        index.remove_context(_location(path))
        return ContextRemoved(status="removed", path=path)

    return await service(request).write(work)


def _location(path: str) -> str:
    """Return a path as the engine takes it. A relative path begins with a collection.

    Raises:
        UsageError: If the path is empty, because to the engine that would mean everything.
    """
    if not path:
        raise UsageError("the path is empty", "use / for everything")
    return path if path.startswith(("/", "~")) or is_uri(path) else SCHEME + path

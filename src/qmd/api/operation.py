"""An operation: what clients can do with an index over HTTP and MCP, as a row of `qmd.api.table`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_type_hints

from msgspec import Struct

from qmd.api.arguments import Nothing
from qmd.api.reading import Request
from qmd.errors import UsageError

_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")


class Tool(Struct, frozen=True):
    """An operation as a tool of MCP. Every word of it costs tokens in every session.

    Attributes:
        title: Its title.
        description: Its effect, and when to choose it.
        arguments: Its arguments, in camelCase.
        result: The answer whose fields its structured content has; None if it has none.
        hidden: Fields of the answer that are left out of the description of the structured content.
        unlisted: Arguments that are left out of the description.
    """

    title: str
    description: str
    arguments: type[Request]
    result: type[Struct] | None = None
    hidden: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()


class Operation(Struct, frozen=True):
    """Something that clients can do with an index.

    Attributes:
        route: Its method and path over HTTP. `{name:path}` may contain slashes.
        run: Its function, whose docstring describes it.
        at: The path of an example in the documentation, if it is not that of the route.
        body: The body of the example.
        given: The class of its arguments, if it is not in the signature of the function.
        gives: The class of its answer, if it is not in the signature.
        missing: Whether something that its arguments name may not be there (404).
        queued: Whether it waits in the queue of changes although it only reads.
        models: Whether it may use models.
        slow: Whether it reads whole documents.
        apart: Whether it takes so much time that it has threads that searches do not need.
        whole: Whether it reads all of the index, so that one runs at a time.
        of_process: Whether it tells of the process that answers.
        in_parts: Whether its function takes another argument, `tell`, that takes parts of the answer before
            all of it is there, for clients that accept lines of JSON.
        everything: Whether it is refused to keys that are limited to some collections.
        query: The arguments that may have its query, which only servers with `--log-queries` log.
        audit: If it changes the index: what it changes, with the names of arguments in braces, for the audit
            log. Changes wait in a queue, and are refused to keys that may only read.
        tool: The tool of MCP, if there is one.
        command: The command that does the same, if there is one.
        after: The route of the operation that it is listed after, if it is not that of the core.
    """

    route: str
    run: Callable[..., Any]
    at: str = ""
    body: Mapping[str, Any] | None = None
    given: type[Request] | None = None
    gives: Any = None
    missing: bool = False
    queued: bool = False
    models: bool = False
    slow: bool = False
    apart: bool = False
    whole: bool = False
    of_process: bool = False
    in_parts: bool = False
    everything: bool = False
    query: tuple[str, ...] = ()
    audit: str | None = None
    tool: Tool | None = None
    command: str | None = None
    after: str = ""

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    @property
    def template(self) -> str:
        """The path as routers take it."""
        return self.route.partition(" ")[2]

    @property
    def path(self) -> str:
        """The path as OpenAPI writes it."""
        return _PARAMETER.sub(r"{\1}", self.template)

    @property
    def in_path(self) -> tuple[str, ...]:
        """The names of the arguments in the path."""
        return tuple(_PARAMETER.findall(self.template))

    @property
    def arguments(self) -> type[Request]:
        """The class of the arguments, which are in the path, and in the body or the query of a GET."""
        return self.given or _hints(self.run).get("body", Nothing)

    @property
    def result(self) -> Any:
        return self.gives or _hints(self.run)["return"]

    @property
    def writes(self) -> bool:
        return self.audit is not None

    @property
    def quick(self) -> bool:
        """True if it only reads, and soon ends."""
        return not (self.writes or self.queued or self.models or self.slow or self.apart or self.whole)

    @property
    def takes_body(self) -> bool:
        return self.method in ("POST", "PUT")

    @property
    def needs_body(self) -> bool:
        """True if the body may not be missing, because some of the arguments are needed."""
        try:
            self.arguments()
        except (TypeError, UsageError):
            return True
        return False


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(function)

"""A tool: its description for clients, and the handler that runs it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from qmd.api.operation import Tool as Description
from qmd.api.reading import Request, Schema, camel, schemas, with_more
from qmd.models.base import Cancelled
from qmd.plugins import Table

#: The JSON of a `CallToolResult`.
Result = dict[str, Any]
Subject = TypeVar("Subject")
#: Runs a call of a tool over a subject, which is an index or an archive.
Handler = Callable[[Subject, Any, Cancelled], Result]

#: Keywords that help no agent. Every word of a schema costs tokens in every session.
_INPUT_OMITS = frozenset("title maxLength pattern minItems maxItems minimum maximum".split())
_OUTPUT_OMITS = frozenset({"title", "default", "description", "enum", "minimum", "maximum", "required"})


class Tool(Struct, Generic[Subject], frozen=True):
    """A tool over a subject.

    Attributes:
        name: Its name.
        about: Its description for clients.
        run: Its handler.
        models: Whether it may use models.
        slow: Whether it reads whole documents.
        missing: The error if an argument is missing.
    """

    name: str
    about: Description
    run: Handler[Subject]
    models: bool = False
    slow: bool = False
    missing: str = "{} is missing"

    def listed(self) -> dict[str, Any]:
        about = self.about
        entry: dict[str, Any] = {
            "name": self.name,
            "title": about.title,
            "description": about.description,
            "inputSchema": input_schema(about.arguments, about.unlisted),
            "annotations": {"readOnlyHint": True},
        }
        if about.result is not None:
            entry["outputSchema"] = output_schema(about.result, about.hidden)
        return entry


class Addition(Struct, frozen=True):
    """Arguments that a feature adds to a tool.

    Attributes:
        tool: The name of the tool.
        arguments: Their types and defaults by name.
        run: Answers calls that give the first of them.
        before: The argument before which they are listed; "" for the end.
        unlisted: Those that are left out of the description.
    """

    tool: str
    arguments: Mapping[str, tuple[Any, Any]]
    run: Handler[Any]
    before: str = ""
    unlisted: tuple[str, ...] = ()

    def to(self, tool: Tool[Subject]) -> Tool[Subject]:
        """Return a tool with the arguments."""
        first, (_, default) = next(iter(self.arguments.items()))

        def run(subject: Subject, arguments: Any, cancelled: Cancelled) -> Result:
            handler = tool.run if getattr(arguments, first) == default else self.run
            return handler(subject, arguments, cancelled)

        arguments = with_more(tool.about.arguments, self.arguments, self.before)
        unlisted = (*tool.about.unlisted, *self.unlisted)
        return replace(tool, about=replace(tool.about, arguments=arguments, unlisted=unlisted), run=run)


#: What features and other packages add to tools, by the tool and the first argument: `get.quote`.
ADDITIONS = Table("qmd.arguments", {}, Addition)


def require_features(tool: str, arguments: Iterable[str]) -> None:
    """Raise `PluginError` if an argument of a tool is one of a feature that is not here."""
    for name in arguments:
        if f"{tool}.{name}" in ADDITIONS.missing:
            ADDITIONS.load(f"{tool}.{name}")


def by_name(*tools: Tool[Subject]) -> dict[str, Tool[Subject]]:
    return {tool.name: tool for tool in tools}


def failure(message: str) -> Result:
    """Return an error that the agent can read and act on."""
    return {"content": [text(message)], "isError": True}


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def as_text(result: Result) -> Result:
    """Return a result with documents as text blocks, for clients that show no other kind."""
    content = [
        text(block["resource"]["text"]) if block["type"] == "resource" else block
        for block in result["content"]
    ]
    return result | {"content": content}


@cache
def input_schema(arguments: type[Request], unlisted: tuple[str, ...] = ()) -> Schema:
    """Return the JSON schema of a tool's arguments. They can be left out, so they are not null."""
    schema = _brief(*_schema_of(arguments), _INPUT_OMITS, {*map(camel, unlisted)})
    return {"type": schema.pop("type"), "properties": schema.pop("properties"), "required": [], **schema}


@cache
def output_schema(result: type[Struct], hidden: tuple[str, ...]) -> Schema:
    """Return the JSON schema of a tool's structured content, with names in camelCase."""
    schema = _brief(*_schema_of(result), _OUTPUT_OMITS, hidden, nullable=True)
    return schema | {"required": list(schema["properties"])}


def _schema_of(kind: type[Struct]) -> tuple[Schema, dict[str, Schema]]:
    (schema,), components = schemas([kind])
    return schema, components


def _brief(
    schema: Schema,
    inner: dict[str, Schema],
    omits: Collection[str],
    hidden: Collection[str] = (),
    *,
    nullable: bool = False,
) -> Schema:
    """Return a schema without some keywords and properties, and with its references resolved.

    Null is an alternative only if `nullable` is set. Then objects that may be missing are not described.
    """
    match schema:
        case {"$ref": str(reference)}:
            return _brief(inner[reference.rsplit("/", 1)[-1]], inner, omits, hidden, nullable=nullable)
        case {"anyOf": [{"$ref": _}, {"type": "null"}]} if nullable:
            return {"type": "object"}
        case {"anyOf": [alternative, {"type": "null"}]} if not nullable:
            return _brief(alternative, inner, omits)
    brief = {keyword: value for keyword, value in schema.items() if keyword not in omits}
    match brief:
        case {"properties": properties}:
            brief.pop("description", None)  # the docstring of the class
            brief["properties"] = {
                camel(name) if nullable else name: _brief(value, inner, omits, hidden, nullable=nullable)
                for name, value in properties.items()
                if name not in hidden
            }
        case {"items": items}:
            brief["items"] = _brief(items, inner, omits, hidden, nullable=nullable)
        case {"const": _} if nullable:
            del brief["const"]
    if not brief.get("default", True):  # 0, false and no items are what agents expect
        del brief["default"]
    return brief

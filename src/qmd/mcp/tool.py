"""A tool: its description for clients, and the handler that runs it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar, cast

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, create_model
from pydantic.alias_generators import to_camel

from qmd.api.arguments import Arguments
from qmd.models.base import Cancelled

Schema = dict[str, Any]
#: The JSON of a `CallToolResult`.
Result = dict[str, Any]
Subject = TypeVar("Subject")
Model = TypeVar("Model", bound=Arguments)
#: Runs a call of a tool over a subject, which is an index or an archive.
Handler = Callable[[Subject, Any, Cancelled], Result]

#: Keywords that help no agent. Every word of a schema costs tokens in every session.
_INPUT_OMITS = frozenset({"title", "maxLength", "pattern", "minItems", "maxItems"})
_OUTPUT_OMITS = frozenset({"title", "default", "description", "enum", "minimum", "maximum", "required"})


class ToolArguments(Arguments):
    """Base class of the arguments of a tool. Their names are in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)

    noun: ClassVar[str] = "argument"


def camel_case(arguments: type[Model]) -> type[Model]:
    """Return a subclass of a model that takes arguments in camelCase, as MCP clients write them."""
    return cast(type[Model], create_model(arguments.__name__, __base__=(arguments, ToolArguments)))


class Tool(Struct, Generic[Subject], frozen=True):
    """A tool over a subject. `output` is the model of its structured content, if it returns any."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Handler[Subject]
    output: type[BaseModel] | None = None
    models: bool = False  # whether it may use models
    slow: bool = False  # whether it reads whole documents

    def listed(self) -> dict[str, Any]:
        entry = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input_schema(self.arguments),
            "annotations": {"readOnlyHint": True},
        }
        return entry if self.output is None else entry | {"outputSchema": output_schema(self.output)}


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
def input_schema(arguments: type[Arguments]) -> Schema:
    full = arguments.model_json_schema()
    schema = _brief(full, full.pop("$defs", {}), _INPUT_OMITS)
    return {"type": schema.pop("type"), "properties": schema.pop("properties"), "required": [], **schema}


@cache
def output_schema(result: type[BaseModel]) -> Schema:
    """Return the JSON schema of a tool's structured content, with names in camelCase."""
    full = result.model_json_schema()
    schema = _in_camel_case(_brief(full, full.pop("$defs", {}), _OUTPUT_OMITS, nullable=True))
    return schema | {"required": list(schema["properties"])}


def _brief(schema: Schema, inner: Schema, omits: Collection[str], *, nullable: bool = False) -> Schema:
    """Return a schema without the keywords `omits`, and with its references to `inner` schemas resolved.

    Null is kept as an alternative only if `nullable` is set: agents leave an argument out instead.
    """
    match schema:
        case {"$ref": str(reference)}:
            return _brief(inner[reference.rsplit("/", 1)[-1]], inner, omits, nullable=nullable)
        case {"anyOf": [alternative, {"type": "null"}], **rest} if not nullable:
            description = {"description": rest["description"]} if "description" in rest else {}
            return _brief({**alternative, **description}, inner, omits)
    brief = {keyword: value for keyword, value in schema.items() if keyword not in omits}
    if brief.get("additionalProperties") is True:
        brief.pop("additionalProperties")  # the default
    match brief:
        case {"properties": properties}:
            brief.pop("description", None)  # the docstring of the class
            brief["properties"] = {
                name: _brief(value, inner, omits, nullable=nullable) for name, value in properties.items()
            }
        case {"items": items}:
            brief["items"] = _brief(items, inner, omits, nullable=nullable)
    return brief


def _in_camel_case(schema: Schema) -> Schema:
    match schema:
        case {"properties": properties}:
            names = {to_camel(name): _in_camel_case(value) for name, value in properties.items()}
            return {"type": "object", "properties": names}
        case {"items": items}:
            return {"type": "array", "items": _in_camel_case(items)}
    return schema

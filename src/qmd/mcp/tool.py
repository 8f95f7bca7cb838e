"""A tool as clients see it, and as it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from qmd.api.arguments import Arguments
from qmd.api.results import Result
from qmd.models.base import Cancelled

Schema = dict[str, Any]
Subject = TypeVar("Subject")

#: What no agent acts on.
_NEEDLESS = ("title", "maxLength", "pattern")


@dataclass(frozen=True, slots=True)
class Tool(Generic[Subject]):
    """One tool. `run` answers a call by asking what is served, an index or an archive.

    `output` is the schema of its structured content; `models` says whether it may use them.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Subject, Any, Cancelled], Result]
    output: Schema | None = None
    models: bool = False

    def listed(self) -> dict[str, Any]:
        """As `tools/list` shows it."""
        shown = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input_schema(self.arguments),
            "annotations": {"readOnlyHint": True},
        }
        return shown if self.output is None else shown | {"outputSchema": self.output}


@cache
def input_schema(arguments: type[Arguments]) -> Schema:
    """The JSON schema of a tool's arguments."""
    made = arguments.model_json_schema()
    schema = _brief(made, made.pop("$defs", {}))
    return {"type": schema.pop("type"), "properties": schema.pop("properties"), "required": [], **schema}


def _brief(schema: Schema, inner: Schema) -> Schema:
    """A schema with its references filled in, and without what an agent has no use for."""
    match schema:
        case {"$ref": str(reference)}:
            return _brief(inner[reference.rsplit("/", 1)[-1]], inner)
        case {"anyOf": [wanted, {"type": "null"}], **rest}:
            return _brief({**wanted, **{name: rest[name] for name in rest if name == "description"}}, inner)
    kept = {name: each for name, each in schema.items() if name not in _NEEDLESS}
    match kept:
        case {"properties": properties}:
            kept.pop("description", None)  # for readers of the code: it names the class
            kept["properties"] = {name: _brief(each, inner) for name, each in properties.items()}
        case {"items": items}:
            kept["items"] = _brief(items, inner)
    return kept

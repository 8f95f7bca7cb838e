"""The description of the API: `/openapi.json` for programs, `/docs` for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from qmd.api.arguments import MAX_NAME, NOT_BLANK
from qmd.text.filters import MAX_DEPTH, MAX_NODES, TEXT_OPERATORS

Schema = dict[str, Any]

#: Limits of values in the description of filters. All values of a filter together have a limit as well.
_MAX_VALUE = 10_000
_MAX_NUMBER = 1e300

#: The page loads nothing.
_POLICY = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.5 ui-monospace, monospace }
pre { padding: .75rem; overflow-x: auto; background: #8881 }
h2 { margin-top: 2.5rem; border-top: 1px solid #8884; padding-top: 1rem } h2 b { font-weight: 600 }
table { border-collapse: collapse } td, th { text-align: left; padding: 0 1rem 0 0; vertical-align: top }
:root { color-scheme: light dark }
"""


def install(app: FastAPI) -> None:
    """Add both pages to an application. Its endpoints must be there when one is asked for."""

    # Not made before, because that would take a sixth of the time that a server needs to start.
    @cache
    def document() -> Schema:
        return describe(app)

    # Starlette calls functions that are not coroutines in threads.
    def openapi(request: Request) -> Response:
        return JSONResponse(document())

    def docs(request: Request) -> Response:
        return HTMLResponse("".join(_page(document())), headers=_POLICY)

    app.add_route("/openapi.json", openapi, include_in_schema=False)
    app.add_route("/docs", docs, include_in_schema=False)


def describe(app: FastAPI) -> Schema:
    """Return the OpenAPI document, without FastAPI's own error 422, which this API never sends."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for schema in schemas.values():
        if "filter" in schema.get("properties", {}):
            schema["properties"]["filter"]["anyOf"][0] = {"$ref": "#/components/schemas/Filter"}
    schemas["Filter"] = filter_schema()
    return document


def filter_schema() -> Schema:
    """Return the schema of a filter, which `text.filters.from_json` reads.

    It cannot say how many conditions a filter may have in all its levels.
    """
    scalar = {
        "anyOf": [
            {"type": "string", "maxLength": _MAX_VALUE},
            {"type": "number", "minimum": -_MAX_NUMBER, "maximum": _MAX_NUMBER},
            {"type": "boolean"},
        ]
    }
    listed = {"type": "array", "items": scalar, "minItems": 1}
    nodes = {"type": "array", "items": {"$ref": "#/components/schemas/Filter"}, "minItems": 1}
    return {
        "title": "Filter",
        "description": f"Conditions on fields, at most {MAX_NODES} in {MAX_DEPTH} levels.",
        "anyOf": [
            _condition(["eq", "ne", "lt", "lte", "gt", "gte"], value=scalar),
            _condition(["in", "nin", "all"], value=listed),
            _condition([*TEXT_OPERATORS], value={"type": "string", "maxLength": _MAX_VALUE}),
            _condition(["exists"], optional={"value": {"type": "boolean", "default": True}}),
            _object({"operator": {"enum": ["and", "or", "not"]}, "operands": nodes}),
        ],
    }


def _condition(operators: list[str], optional: Schema | None = None, **more: Schema) -> Schema:
    field = {"type": "string", "pattern": NOT_BLANK, "maxLength": MAX_NAME}
    return _object({"field": field, "operator": {"enum": operators}, **more}, optional)


def _object(properties: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "properties": properties | (optional or {}),
        "required": [*properties],
        "additionalProperties": False,
    }


def _page(document: Schema) -> Iterator[str]:
    title = f"{document['info']['title']} {document['info']['version']}"
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title>"
    yield f"<style>{_STYLE}</style><h1>{escape(title)}</h1>"
    yield from (f"<p>{_prose(text)}" for text in document["info"]["description"].split("\n\n"))
    yield "<p>The same for programs: <a href=openapi.json>openapi.json</a>"
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield from _operation(method.upper(), path, operation, schemas)


def _operation(method: str, path: str, operation: Schema, schemas: Schema) -> Iterator[str]:
    yield f"<h2><code><b>{method}</b> {escape(path)}</code></h2><p>{_prose(operation['description'])}"
    for place, title in (("path", "In the path"), ("query", "In the query")):
        parameters = {
            parameter["name"]: parameter | parameter["schema"]
            for parameter in operation.get("parameters", ())
            if parameter["in"] == place
        }
        if parameters:
            yield from _table(title, parameters, [*parameters] if place == "path" else ())
    if "requestBody" in operation:
        body = _resolve(operation["requestBody"]["content"]["application/json"]["schema"], schemas)
        yield f"<p>{_prose(body['description'])}"
        if body["properties"]:
            yield from _table("Body", body["properties"], body.get("required", []))
            yield from _inner(body, schemas)
        for example in body.get("examples", ()):
            data = json.dumps(example, ensure_ascii=False)
            yield f"<pre>curl -X {method} http://127.0.0.1:18765{escape(path)} \\\n"
            yield f"  -H 'content-type: application/json' -d '{escape(data)}'</pre>"
    (content,) = operation["responses"]["200"]["content"].values()
    answer = _resolve(content["schema"], schemas)
    if "properties" in answer:
        yield f"<p>{_prose(answer['description'])}"
        yield from _table("Answer", answer["properties"])
        yield from _inner(answer, schemas)
    errors = [
        f"<code>{status}</code> {escape(response['description'])}"
        for status, response in sorted(operation["responses"].items())
        if status != "200"
    ]
    yield f"<p>Errors: {'; '.join(errors)}"


def _inner(schema: Schema, schemas: Schema) -> Iterator[str]:
    """Yield tables of the objects in the fields of an object."""
    for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schema)):
        if "properties" not in schemas[name]:  # a filter, which is described in words
            continue
        yield from _table(name, schemas[name]["properties"])
        yield from _inner(schemas[name], schemas)


def _table(title: str, fields: Schema, required: Sequence[str] = ()) -> Iterator[str]:
    yield f"<table><tr><th>{title}<th><th>"
    for name, field in fields.items():
        default = f"default <code>{escape(json.dumps(field['default']))}</code>" if "default" in field else ""
        note = "required" if name in required else default
        yield f"<tr><td><code>{escape(name)}</code><td>{escape(_type(field))}<td>{note}"
    yield "</table>"


def _type(field: Schema) -> str:
    match field:
        case {"$ref": str(name)}:
            return name.rsplit("/", 1)[-1]
        case {"anyOf": list(choices)}:
            return " or ".join(_type(choice) for choice in choices)
        case {"type": "array", "items": items}:
            return f"array of {_type(items)}"
        case {"type": "object", "additionalProperties": dict(items)}:
            return f"object of {_type(items)}"
        case {"const": value}:
            return json.dumps(value)
        case {"enum": list(values)}:
            return " or ".join(json.dumps(value) for value in values)
    match field.get("minimum"), field.get("maximum"):
        case None, _:
            return str(field["type"])
        case minimum, None:
            return f"{field['type']}, at least {minimum:g}"
        case minimum, maximum:
            return f"{field['type']}, {minimum:g} to {maximum:g}"


def _resolve(schema: Schema, schemas: Schema) -> Schema:
    resolved: Schema = schemas[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema
    return resolved


def _prose(text: str) -> str:
    """Return a text as HTML, with code between backticks."""
    parts = escape(" ".join(text.split())).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))

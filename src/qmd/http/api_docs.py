"""The description of the API: `/openapi.json` for programs, `/docs` for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from inspect import getdoc

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from qmd._version import __version__
from qmd.api.arguments import MAX_NAME, NOT_BLANK
from qmd.api.operation import Operation
from qmd.api.reading import Schema, schemas
from qmd.api.results import Note
from qmd.api.table import TABLE
from qmd.http.status import OPERATIONS, Unhealthy
from qmd.server.errors import ALWAYS, REASONS, Error
from qmd.text.filters import MAX_DEPTH, MAX_NODES, TEXT_OPERATORS

#: Limits of values in the description of filters. All values of a filter together have a limit as well.
_MAX_VALUE = 10_000
_MAX_NUMBER = 1e300
_ABOUT = """\
Local search for folders of Markdown: by words, by meaning, or both.

Every error is `{"detail": "...", "status_code": N}`. Unknown fields and fields of a wrong type are refused.
"""

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


@cache
def describe() -> Schema:
    """Return the OpenAPI document."""
    # Not made before the first request, because that takes a part of the time that a server needs to start.
    operations = (*TABLE, *OPERATIONS)
    classes = {each for row in operations for each in (row.arguments, row.result)} - {str}
    _, components = schemas([*classes, Note, Error, Unhealthy])
    components["QueryBody"]["oneOf"] = [
        {"properties": {"query": {"type": "string"}}, "required": ["query"]},
        {"properties": {"searches": {"type": "array"}}, "required": ["searches"]},
    ]
    for schema in components.values():
        either = schema.get("properties", {}).get("filter", {}).get("anyOf", [{}])
        if either[0].get("type") == "object":  # in the address of a request it is a text
            either[0] = _reference("Filter")
    components["Filter"] = filter_schema()
    paths: Schema = {}
    for row in operations:
        paths.setdefault(row.path, {})[row.method.lower()] = _describe(row, components)
    paths["/health"]["get"]["responses"]["503"] = _response("Service Unavailable", "Unhealthy")
    paths["/metrics"]["get"]["responses"]["501"] = _response(REASONS[501], "Error")
    bodies = {row.arguments for row in operations if row.takes_body}
    for arguments in {row.arguments for row in operations} - bodies:
        del components[arguments.__name__]
    return {
        "openapi": "3.1.0",
        "info": {"title": "qmd", "description": _ABOUT, "version": __version__},
        "paths": paths,
        "components": {"schemas": dict(sorted(components.items()))},
    }


def _describe(row: Operation, components: Schema) -> Schema:
    """Describe an operation. Arguments in its path are taken out of the schema of its body."""
    arguments = components[row.arguments.__name__]
    found: Schema = {
        "summary": row.name.replace("_", " ").title(),
        "description": getdoc(row.run),
        "operationId": f"{re.sub(r'[^a-zA-Z0-9]', '_', row.name + row.path)}_{row.method.lower()}",
    }
    places = dict.fromkeys(row.in_path, "path")
    if not row.takes_body:
        places |= {name: "query" for name in arguments["properties"] if name not in places}
    if places:
        needed = arguments.get("required", [])
        found["parameters"] = [
            {"name": name, "in": place, "required": name in needed, "schema": arguments["properties"][name]}
            for name, place in places.items()
        ]
    if row.takes_body:
        for name in row.in_path:
            del arguments["properties"][name]
            arguments["required"].remove(name)
        arguments["examples"] = [row.body]
        found["requestBody"] = {"required": row.needs_body, **_content(row.arguments.__name__)}
    answer = _response("Successful Response", None if row.result is str else row.result.__name__)
    statuses = {*ALWAYS, *([404] if row.missing else []), *([413] if row.takes_body else [])}
    errors = {str(status): _response(REASONS[status], "Error") for status in sorted(statuses)}
    return found | {"responses": {"200": answer, **errors}}


def _response(description: str, name: str | None) -> Schema:
    return {"description": description, **_content(name)}


def _content(name: str | None) -> Schema:
    """Describe a body: an object by the name of its schema, or text."""
    if name is None:
        return {"content": {"text/plain": {"schema": {"type": "string"}}}}
    return {"content": {"application/json": {"schema": _reference(name)}}}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


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
    nodes = {"type": "array", "items": _reference("Filter"), "minItems": 1}
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


# Starlette calls functions that are not coroutines in threads.
def _openapi(request: Request) -> Response:
    return JSONResponse(describe())


def _docs(request: Request) -> Response:
    return HTMLResponse("".join(_page(describe())), headers=_POLICY)


ROUTES = (Route("/openapi.json", _openapi), Route("/docs", _docs))

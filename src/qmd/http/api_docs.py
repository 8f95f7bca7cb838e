"""The description of the API: `/openapi.json` for programs, `/docs` for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

Schema = dict[str, Any]

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
    """Add both pages to an application. Its endpoints must already be there."""
    document = describe(app)
    page = "".join(_page(document))

    async def openapi(request: Request) -> Response:
        return JSONResponse(document)

    async def docs(request: Request) -> Response:
        return HTMLResponse(page, headers=_POLICY)

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
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
    return document


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
    parameters = {
        parameter["name"]: parameter | parameter["schema"] for parameter in operation.get("parameters", ())
    }
    if parameters:
        yield from _table("In the path", parameters, [*parameters])
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

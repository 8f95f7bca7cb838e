"""Makes the endpoints' part of docs/http.md from the OpenAPI document: `python tools/make_http_docs.py`.

What stands above its mark is written by hand. Tests compare the rest with what this makes, and run the
examples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qmd.http.api_docs import describe
from qmd.http.app import api
from qmd.server.index_host import IndexHost

PAGE = Path(__file__).parent.parent / "docs" / "http.md"
MARK = "<!-- From here on: tools/make_http_docs.py -->\n"
ADDRESS = "http://127.0.0.1:18765"
Schema = dict[str, Any]

#: What to show of each endpoint, in the order of the page: path to be asked, and body. They work one after
#: another in an index whose collection `notes` holds `ops/deploy.md` and has vectors, beside the folder
#: `~/work`.
EXAMPLES: dict[tuple[str, str], tuple[str, Schema | None]] = {
    ("POST", "/search"): ("/search", {"query": "deploy path:ops/", "limit": 5, "facets": ["tag"]}),
    ("POST", "/vsearch"): ("/vsearch", {"query": "how do I go back to the last release"}),
    ("POST", "/query"): ("/query", {"query": "how do I ship a release", "collections": ["notes"]}),
    ("POST", "/get"): ("/get", {"file": "notes/ops/deploy.md", "from_line": 1, "max_lines": 20}),
    ("POST", "/multi_get"): ("/multi_get", {"pattern": "notes/ops/*.md", "line_numbers": True}),
    ("GET", "/documents/{path}/links"): ("/documents/notes/ops/deploy.md/links", None),
    ("GET", "/documents/{path}/outline"): ("/documents/notes/ops/deploy.md/outline", None),
    ("GET", "/fields"): ("/fields?limit=20", None),
    ("GET", "/fields/{name}"): ("/fields/ext?collection=notes", None),
    ("GET", "/status"): ("/status", None),
    ("POST", "/embed"): ("/embed", {"texts": ["how do I ship a release"]}),
    ("POST", "/collections/add"): ("/collections/add", {"name": "work", "path": "~/work"}),
    ("GET", "/collections"): ("/collections", None),
    ("GET", "/collections/{name}"): ("/collections/work", None),
    ("PUT", "/collections/{name}"): ("/collections/work", {"new_name": "job"}),
    ("DELETE", "/collections/{name}"): ("/collections/job", None),
    ("POST", "/index"): ("/index", {}),
    ("POST", "/update"): ("/update", {"pull": False}),
    ("POST", "/contexts/add"): ("/contexts/add", {"path": "qmd://notes/ops", "text": "How we run things"}),
    ("GET", "/contexts"): ("/contexts", None),
    ("DELETE", "/contexts/{path}"): ("/contexts/notes/ops", None),
    ("GET", "/health"): ("/health", None),
    ("GET", "/metrics"): ("/metrics", None),
}


def page() -> str:
    """The whole page, with what is written by hand as it is."""
    written, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{PAGE} has no mark"
    return written + mark + "\n" + "\n".join(endpoints(describe(api(IndexHost(_nothing), {}))))


def endpoints(document: Schema) -> Iterator[str]:
    """A section for each endpoint of the document."""
    known = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert known == set(EXAMPLES), f"to be shown or forgotten: {known ^ set(EXAMPLES)}"
    schemas = document["components"]["schemas"]
    for (method, path), (asked, body) in EXAMPLES.items():
        operation = document["paths"][path][method.lower()]
        yield f"### {method} {path}\n"
        yield " ".join(operation["description"].split()) + "\n"
        yield f"```sh\n{_command(method, asked, body)}\n```\n"
        yield from _body(operation, schemas)
        yield _answer(operation, schemas)
        statuses = ", ".join(sorted(status for status in operation["responses"] if status != "200"))
        yield f"Errors: {statuses}.\n"


def _command(method: str, path: str, body: Schema | None) -> str:
    verb = "" if (method, body is None) in (("GET", True), ("POST", False)) else f" -X {method}"
    if body is None:
        address = f"{ADDRESS}{path}"
        return f"curl{verb} '{address}'" if "?" in address else f"curl{verb} {address}"
    data = json.dumps(body, ensure_ascii=False)
    return f"curl{verb} {ADDRESS}{path} -H 'content-type: application/json' \\\n  -d '{data}'"


def _body(operation: Schema, schemas: Schema) -> Iterator[str]:
    fields = {
        parameter["name"]: parameter["schema"]
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    }
    schema: Schema = {}
    if "requestBody" in operation:
        schema = _named(operation["requestBody"]["content"]["application/json"]["schema"], schemas)
        fields = schema["properties"]
    if not fields:
        return
    yield f"| {'field' if schema else 'parameter'} | what it may be | default |\n|---|---|---|"
    for name, field in fields.items():
        default = f"`{json.dumps(field['default'])}`" if "default" in field else ""
        needed = "needed" if name in schema.get("required", ()) else default
        yield f"| `{name}` | {_kind(field, schemas)} | {needed} |"
    yield ""


def _answer(operation: Schema, schemas: Schema) -> str:
    (kind,) = operation["responses"]["200"]["content"].items()
    schema = _named(kind[1]["schema"], schemas)
    if kind[0] != "application/json" or "properties" not in schema:
        return f"Answers {kind[0]}.\n"
    return f"Answers {_fields(schema, schemas)}.\n"


def _fields(schema: Schema, schemas: Schema) -> str:
    """The fields of an object in a line, those of the objects in it in parentheses."""
    shown = []
    for name, field in schema["properties"].items():
        inner = _inner(field, schemas)
        shown.append(f"`{name}`" + (f" ({_fields(inner, schemas)})" if inner else ""))
    return ", ".join(shown)


def _inner(field: Schema, schemas: Schema) -> Schema | None:
    """The object that a field holds, or each of its items."""
    match field:
        case {"$ref": _}:
            found = _named(field, schemas)
            return found if "properties" in found else None
        case {"items": dict(items)} | {"additionalProperties": dict(items)}:
            return _inner(items, schemas)
        case {"anyOf": [first, *_]}:
            return _inner(first, schemas)
    return None


def _kind(field: Schema, schemas: Schema) -> str:
    """What a field may hold, in words."""
    match field:
        case {"$ref": "#/components/schemas/Filter"}:
            return "[filter](filters.md#filters-as-json)"
        case {"$ref": _}:
            return f"{{{_fields(_named(field, schemas), schemas)}}}"
        case {"anyOf": list(choices)}:
            return " or ".join(_kind(each, schemas) for each in choices)
        case {"type": "array", "items": dict(items)}:
            least, most = field.get("minItems", 0), field.get("maxItems")
            return f"list of {_kind(items, schemas)}" + (f", {least} to {most:,} of them" if most else "")
        case {"enum": list(values)}:
            return " or ".join(f"`{json.dumps(value)}`" for value in values)
    words = str(field["type"])
    if "maxLength" in field:
        words += f" of up to {field['maxLength']:,} characters"
    match field.get("minimum"), field.get("maximum"):
        case None, None:
            return words
        case least, None:
            return f"{words}, at least {least:g}"
        case least, most:
            return f"{words}, {least:g} to {most:,g}"


def _named(schema: Schema, schemas: Schema) -> Schema:
    found: Schema = schemas[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema
    return found


def _nothing() -> Any:
    raise AssertionError("the description asks no index")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")

"""Makes the endpoints' part of docs/http.md from the OpenAPI document: `python tools/make_http_docs.py`.

What stands above its mark is written by hand. Tests compare the rest with what this makes, and run the
examples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qmd.api.table import TABLE
from qmd.http.api_docs import describe
from qmd.http.status import OPERATIONS

PAGE = Path(__file__).parent.parent / "docs" / "http.md"
MARK = "<!-- From here on: tools/make_http_docs.py -->\n"
ADDRESS = "http://127.0.0.1:18765"
Schema = dict[str, Any]
#: So many fields that an earlier endpoint has too, and answers of so many characters, are not repeated.
SHARED, LONG = 5, 150
#: What every endpoint may answer.
COMMON = {"200", "400", "401", "403", "500", "503"}


def page() -> str:
    """The whole page, with what is written by hand as it is."""
    written, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{PAGE} has no mark"
    return written + mark + "\n" + "\n".join(endpoints(describe()))


def endpoints(document: Schema) -> Iterator[str]:
    """A section for each endpoint of the document."""
    schemas = document["components"]["schemas"]
    told: list[tuple[str, list[str], str]] = []
    for row in (*TABLE, *OPERATIONS):
        operation = document["paths"][row.path][row.method.lower()]
        yield f"### {row.method} {row.path}\n"
        yield " ".join(operation["description"].split()) + "\n"
        yield f"```sh\n{_command(row.method, row.at or row.path, row.body)}\n```\n"
        rows, answer = list(_body(operation, schemas)), _answer(operation, schemas)
        # What an earlier endpoint takes or answers too is not written again.
        link = f"[{row.method} {row.path}](#{row.method.lower()}-{row.path.strip('/').replace('/', '')})"
        for earlier, others, _ in told:
            shared = [each for each in rows[1:] if each in others]
            if len(shared) >= SHARED:
                rows = [each for each in rows if each not in shared]
                names = ", ".join(each.split()[1] for each in shared)
                rows = [*(rows if len(rows) > 1 else []), f"\nAs in {earlier}: {names}."]
                break
        if rows:
            yield "\n".join(rows).strip("\n") + "\n"
        same = next((earlier for earlier, _, given in told if given == answer and len(answer) > LONG), None)
        yield f"Answers as {same} does.\n" if same else answer
        told.append((link, rows, answer))
        statuses = ", ".join(sorted(set(operation["responses"]) - COMMON))
        if statuses:
            yield f"Errors, besides those of all: {statuses}.\n"


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
    if "exclusiveMinimum" in field:
        return f"{words}, more than {field['exclusiveMinimum']:g} and up to {field['maximum']:,g}"
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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")

"""The JSON Schemas of `docs/schemas.json`, and a validator for them.

It knows the keywords that they use. Unlike JSON Schema, it refuses fields that they do not name.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "formats.md"
SCHEMAS = json.loads((DOCS / "schemas.json").read_text(encoding="utf-8"))

_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def schema(output: str) -> Any:
    """Return the schema of an output."""
    return SCHEMAS[output]


def faults(value: Any, by: dict[str, Any], at: str = "$") -> list[str]:
    """Return the faults of a value by a schema, one line each."""
    found = []
    if "const" in by and value != by["const"]:
        found.append(f"{at}: {value!r} is not {by['const']!r}")
    if "enum" in by and value not in by["enum"]:
        found.append(f"{at}: {value!r} is none of {by['enum']}")
    if "type" in by and not any(_is(value, each) for each in _listed(by["type"])):
        return [*found, f"{at}: {value!r} is no {by['type']}"]
    if isinstance(value, str) and not re.search(by.get("pattern", ""), value):
        found.append(f"{at}: {value!r} does not match {by['pattern']}")
    if isinstance(value, int | float) and not by.get("minimum", value) <= value <= by.get("maximum", value):
        found.append(f"{at}: {value!r} is out of range")
    if isinstance(value, list):
        for number, each in enumerate(value):
            found += faults(each, by.get("items", {}), f"{at}[{number}]")
    if isinstance(value, dict):
        found += [f"{at}: {name} is missing" for name in by.get("required", ()) if name not in value]
        # The schema allows any fields if it has neither keyword.
        if "properties" in by or "additionalProperties" in by:
            for name, each in value.items():
                found += _faults_of_field(name, each, by, at)
    return found


def _faults_of_field(name: str, value: Any, by: dict[str, Any], at: str) -> list[str]:
    known = by.get("properties", {}).get(name, by.get("additionalProperties"))
    return [f"{at}: {name} is not documented"] if known is None else faults(value, known, f"{at}.{name}")


def _listed(types: str | list[str]) -> list[str]:
    return [types] if isinstance(types, str) else types


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))

"""Compatibility of an interface with an earlier version of it.

A program may send less than a new interface takes, and receive more than it knows. So arguments may be added
if they are optional, fields of answers may be added, and nothing may be removed or change its type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

#: Limits of values that a program sends, and whether a greater number allows less.
_LIMITS = {
    "minimum": True,
    "minLength": True,
    "minItems": True,
    "maximum": False,
    "maxLength": False,
    "maxItems": False,
}


def broken_commands(old: Schema, new: Schema) -> Iterator[str]:
    """Describe the commands that can no longer be used."""
    for name, command in old.items():
        if name not in new:
            yield f"qmd {name}: there is no such command"
            continue
        for option in set(command["options"]) - set(new[name]["options"]):
            yield f"qmd {name}: there is no option {option}"
        options, others = _needed(command)
        options_now, others_now = _needed(new[name])
        for needed in options_now - options:
            yield f"qmd {name}: {needed} is needed"
        if others_now > others:
            yield f"qmd {name}: more arguments are needed"
        if new[name]["arguments"][: len(command["arguments"])] != command["arguments"]:
            yield f"qmd {name}: takes other arguments"


def _needed(command: Schema) -> tuple[set[str], int]:
    """Return the options that a command needs, and the number of arguments, which only its help names."""
    options = {name for name in command["required"] if name.isidentifier() and name.islower()}
    return options, len(command["required"]) - len(options)


def broken_endpoints(old: Schema, new: Schema) -> Iterator[str]:
    """Describe the requests that are no longer accepted, and the answers that have changed."""
    for name, endpoint in old.items():
        if name not in new:
            yield f"{name}: there is no such endpoint"
            continue
        given, now = endpoint["parameters"], new[name]["parameters"]
        for parameter in given:
            if parameter not in now:
                yield f"{name}: there is no parameter {parameter}"
            else:
                yield from broken(
                    given[parameter]["schema"], now[parameter]["schema"], f"{name} {parameter}", given=True
                )
        for parameter, value in now.items():
            if value["required"] and not given.get(parameter, {}).get("required"):
                yield f"{name}: {parameter} is needed"
        yield from broken(endpoint.get("body", {}), new[name].get("body", {}), f"{name} body", given=True)
        for status, answer in endpoint["responses"].items():
            if status not in new[name]["responses"]:
                yield f"{name}: never answers {status}"
            else:
                yield from broken(answer, new[name]["responses"][status], f"{name} {status}", given=False)


def broken_tools(old: Schema, new: Schema) -> Iterator[str]:
    """Describe the tool calls that are no longer accepted, and the results that have changed."""
    for name, tool in old.items():
        if name not in new:
            yield f"{name}: there is no such tool"
            continue
        yield from broken(tool["arguments"], new[name]["arguments"], f"{name} arguments", given=True)
        yield from broken(tool["result"], new[name]["result"], f"{name} result", given=False)


def broken_outputs(old: Schema, new: Schema) -> Iterator[str]:
    """Describe the JSON output of commands that has changed."""
    for heading, schema in old.items():
        if heading not in new:
            yield f"{heading}: has no schema"
        else:
            yield from broken(schema, new[heading], heading, given=False)


def broken(old: Schema, new: Schema, at: str, *, given: bool) -> Iterator[str]:
    """Describe the values that are valid by one schema but not by the other.

    Args:
        old: The schema that a program knows.
        new: The current schema.
        at: The path of the value, for the descriptions.
        given: Whether the program sends the value. Otherwise it receives it.
    """
    less, more = (old, new) if given else (new, old)
    if (kinds := _kinds(more)) and (not _kinds(less) or _kinds(less) - kinds):
        yield f"{at}: was {sorted(_kinds(old))} and is {sorted(_kinds(new))}"
        return
    if "enum" in more and not set(less.get("enum", [None])) <= set(more["enum"]):
        yield f"{at}: was one of {old.get('enum')} and is one of {new.get('enum', 'all')}"
    if given:
        for limit, greater_is_less in _LIMITS.items():
            before, now = old.get(limit), new.get(limit)
            if now is not None and (before is None or (now > before if greater_is_less else now < before)):
                yield f"{at}: {limit} was {before} and is {now}"
    old_required, new_required = set(old.get("required", [])), set(new.get("required", []))
    for name in new_required - old_required if given else old_required - new_required:
        yield f"{at}.{name}: {'is needed' if given else 'may be missing'}"
    for name, value in old.get("properties", {}).items():
        if name not in new.get("properties", {}):
            yield f"{at}.{name}: is gone"
        else:
            yield from broken(value, new["properties"][name], f"{at}.{name}", given=given)
    if isinstance(old.get("items"), dict) and isinstance(new.get("items"), dict):
        yield from broken(old["items"], new["items"], f"{at}[]", given=given)
    for alternative in old.get("anyOf", []):
        same = [each for each in new.get("anyOf", [new]) if _kinds(each) == _kinds(alternative)]
        if len(same) == 1 and same != [new]:
            yield from broken(alternative, same[0], at, given=given)


def _kinds(schema: Schema) -> set[str]:
    """Return the types of the values of a schema; empty if it allows all."""
    if "anyOf" in schema:
        each = [_kinds(alternative) for alternative in schema["anyOf"]]
        return set().union(*each) if all(each) else set()
    if "const" in schema:
        return {{bool: "boolean", str: "string"}.get(type(schema["const"]), "number")}
    types = schema.get("type", "string" if "enum" in schema else [])
    found = {types} if isinstance(types, str) else set(types)
    return found | {"integer"} if "number" in found else found

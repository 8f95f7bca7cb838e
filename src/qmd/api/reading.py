"""Strict reading of requests, with one-line errors that name the argument, and the JSON Schema of values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import cleandoc
from json import dumps
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from msgspec import Struct, ValidationError, convert, defstruct, json
from msgspec.structs import FieldInfo, fields

from qmd.errors import UsageError
from qmd.text.synonyms import meant
from qmd.text.wording import encodable

Schema = dict[str, Any]
#: An error shows at most this many characters of a wrong value, and describes this many wrong arguments.
_MAX_SHOWN_CHARACTERS = 60
_MAX_SHOWN_PROBLEMS = 3
_DIGITS = re.compile("[0-9]{1,6}")
_DECIMAL = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
#: Editors and shells on Windows begin texts with it.
_BOM = "\ufeff"
#: A step of the path in an error of msgspec.
_STEP = re.compile(r"\.(?P<name>\w+)|\[(?P<item>\d+)\]")
#: Arguments for documents, of which a text may name several.
_OF_DOCUMENTS = ("file", "pattern")
_KINDS = {
    "int": "a valid integer",
    "str": "a valid string",
    "float": "a valid number",
    "bool": "a valid boolean",
    "array": "a valid list",
    "object": "an object",
}
_SIGNS = {
    ">=": "greater than or equal to",
    "<=": "less than or equal to",
    ">": "greater than",
    "<": "less than",
}
_LENGTHS = {">=": "at least", "<=": "at most"}


class Request(Struct, forbid_unknown_fields=True, kw_only=True):
    """Base class of the arguments of an operation."""


R = TypeVar("R", bound=Request)


@cache
def fields_of(request: type[Struct]) -> tuple[FieldInfo, ...]:
    return fields(request)


def decode(body: bytes) -> Any:
    """Parse JSON by RFC 8259: UTF-8, without NaN and lone surrogates. Raises `UsageError`."""
    try:
        return json.decode(body)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {error}") from None


def decode_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object as `decode` does."""
    value = decode(body)
    if not isinstance(value, dict):
        raise UsageError("the body must be a JSON object")
    return value


def read(
    request: type[R],
    values: Mapping[str, Any],
    noun: str = "field",
    *,
    texts: bool = False,
    nulls: bool = False,
    packed: bool = False,
    missing: str = "{} is missing",
    **known: Any,
) -> R:
    """Validate the arguments of a call.

    Args:
        request: The class of the arguments.
        values: The arguments by the names that clients write.
        noun: The word for an argument in errors.
        texts: Whether values are texts, also of numbers, as in the address of a request.
        nulls: Whether null counts as not given, also for arguments that are never null.
        packed: Whether other values than texts may also be JSON in a text, as some clients send them.
        missing: The error for an argument that is needed.
        **known: Arguments that are not read, such as those in the path of an address.

    Raises:
        UsageError: If arguments are wrong; the message names up to three of them.
    """
    items = [item for item in fields_of(request) if item.name not in known]
    names = [item.encode_name for item in items]
    if packed:
        types = {item.encode_name: item.type for item in items}
        values = {name: _unpacked(value, types.get(name, Any)) for name, value in values.items()}
    given = {
        name: value for name, value in values.items() if value is not None or not nulls or name not in names
    }
    arguments, problems = known, []
    for item in items:
        name = item.encode_name
        if name not in given:
            problems += [missing.format(name)] if item.required else []
            continue
        value = given[name]
        if texts:
            value = _of_text(value, _types(item.type))
        try:
            arguments[item.name] = _convert(value, item.type)
        except ValidationError as error:
            problems.append(_problem(name, str(error), value, item.type, noun))
    listed = ", ".join(names) or "none"
    problems += [
        f"{_short(name)}: unknown {noun}{_suggestion(name, names)}; known {noun}s: {listed}"
        for name in given
        if name not in names
    ]
    if problems:
        more = len(problems) - _MAX_SHOWN_PROBLEMS
        message = "; ".join(problems[:_MAX_SHOWN_PROBLEMS])
        raise UsageError(f"{message}; and {more} more" if more > 0 else message)
    return request(**arguments)


def _of_text(text: str, types: Sequence[Any]) -> Any:
    """Return a text as a boolean or a number if it is one, and these types have it; otherwise the text."""
    if bool in types:
        return {"true": True, "false": False}.get(text, text)
    if int in types and _DIGITS.fullmatch(text):
        return int(text)
    if float in types and _DECIMAL.fullmatch(text):
        return float(text)
    return text


def _types(kind: Any) -> Sequence[Any]:
    """Return the types of a kind of value, without what describes them."""
    if get_origin(kind) is Annotated:
        return _types(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [each for part in get_args(kind) for each in _types(part)]
    return [kind]


def _unpacked(value: Any, kind: Any) -> Any:
    """Return a value of a kind for JSON in a text, in which clients and models send what is no text.

    A text that is one by its kind stays one. Of a wrong value that which errors are about is returned.
    """
    if isinstance(value, str):
        value = value.removeprefix(_BOM)
        if not _error(value, kind):
            return value
        decoded = _decoded(value)
        # `"three"` is wrong as a text, `"0"` as a number.
        if not isinstance(decoded, list | dict | None) and ", got `" in _error(decoded, kind):
            return value
        value = decoded
    if isinstance(value, list) and _error(value, kind):
        items = [_decoded(item) if isinstance(item, str) else item for item in value]
        return value if _error(items, kind) else items
    return value


def _decoded(text: str) -> Any:
    """Return the value of a text in JSON; the text itself if it is none."""
    try:
        return json.decode(text)
    except (ValueError, RecursionError):
        return text


def _error(value: Any, kind: Any) -> str:
    """Return the error of msgspec for a value; "" if it is of the kind."""
    try:
        _convert(value, kind)
    except ValidationError as error:
        return str(error)
    return ""


def _suggestion(name: str, names: Sequence[str]) -> str:
    right = meant(name, names)
    return f" (did you mean {right}?)" if right else ""


def _convert(value: Any, kind: Any) -> Any:
    try:
        return convert(value, kind)
    except ValidationError:
        # JSON has one type for all numbers.
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return convert(int(value), kind)
        raise


def _problem(name: str, error: str, value: Any, kind: Any, noun: str) -> str:
    """Describe an error of msgspec, such as "Expected `int` >= 1 - at `$[0].count`"."""
    message, _, path = error.partition(" - at `$")
    for step in _STEP.finditer(path):
        value = value[int(step["item"])] if step["item"] else value[step["name"]]
    where = name + path.removesuffix("`")
    match message.split("`"):
        case ["Object missing required field ", field, _]:
            return f"{where}.{field} is missing"
        case ["Object contains unknown field ", field, _]:
            return f"{where}.{_short(field)}: unknown {noun}"
        case ["Expected ", "str", _, *_] if where in _OF_DOCUMENTS and isinstance(value, list):
            joined = dumps(", ".join(filter(lambda each: isinstance(each, str), value)), ensure_ascii=False)
            return f"{where}: input should be a valid string, such as {_short(joined)}, not a list"
        case ["Expected ", expected, rest, *_]:
            text = _expected(expected.removesuffix(" | null"), rest.split(), value)
        case ["Number out of range"]:
            text = "input should be a number of fewer digits"
        case _:
            text = f"input should be {_choices(kind)}"
    long = isinstance(value, list | dict) or (isinstance(value, str) and len(value) > _MAX_SHOWN_CHARACTERS)
    if long or text.endswith(_KINDS["object"]):
        return f"{where}: {text}"
    return f"{where}: {text}, not {_short(dumps(value, ensure_ascii=False))}"


def _expected(kind: str, rest: Sequence[str], value: Any) -> str:
    match rest:
        case ["of", "length", sign, number]:
            noun = "characters" if kind == "str" else "item" if number == "1" else "items"
            bound = f"{_LENGTHS[sign]} {number} {noun}"
            if kind == "str":
                return f"string should have {bound}"
            return f"list should have {bound} after validation, not {len(value)}"
        case [sign, number] if sign in _SIGNS:
            return f"input should be {_SIGNS[sign]} {float(number):g}"
    return f"input should be {_KINDS[kind]}"


def _choices(kind: Any) -> str:
    """Return the values of an enumeration in a type in words: `'lex', 'vec' or 'hyde'`."""
    enumeration = re.search(rb'"enum":(\[[^]]*\])', json.encode(schemas([kind])))
    assert enumeration is not None
    *others, last = [f"'{choice}'" for choice in json.decode(enumeration[1], type=list[str])]
    return f"{', '.join(others)} or {last}" if others else last


def _short(text: str) -> str:
    """Shorten a text for an error message; escape lone surrogates and join lines."""
    short = text if len(text) <= _MAX_SHOWN_CHARACTERS else text[:_MAX_SHOWN_CHARACTERS] + "..."
    return " ".join(encodable(short).split())


def schemas(types: Sequence[Any]) -> tuple[list[Schema], dict[str, Schema]]:
    """Return the JSON Schema of types, and the schemas of the classes that they refer to, by name."""
    found, components = json.schema_components(types, ref_template="#/components/schemas/{name}")
    return [_plain(schema) for schema in found], {name: _plain(each) for name, each in components.items()}


def _plain(schema: Any) -> Any:
    """Return a schema in which null is no default, and the type of enumerations is said."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _plain(value) for name, value in schema.items() if name != "default" or value is not None}
    if isinstance(plain.get("description"), str):
        plain["description"] = cleandoc(plain["description"])
    default = plain.get("default")
    if isinstance(default, float) and default.is_integer():
        plain["default"] = int(default)
    if "choices" in plain:  # msgspec sorts enumerations
        plain["enum"] = plain.pop("choices")
    match plain:
        case {"enum": [value], **rest} if isinstance(value, str):
            return {"type": "string", "const": value, **rest}
        case {"enum": list(), **rest} if "type" not in rest:
            return {"type": "string", **plain}
    return plain


def camel(name: str) -> str:
    """Return a name in camelCase."""
    first, *others = name.split("_")
    return first + "".join(part.title() for part in others)


def in_camel_case(request: type[R], names: Sequence[str] = (), **types: Any) -> type[R]:
    """Return arguments as MCP clients write them, in camelCase, and `tokens` as `maxTokens`.

    Only those in `names` if there are any. `types` are other types, such as with another description.
    """
    known = {item.name: item for item in fields_of(request)}
    fields = [
        (name, types.get(name, item.type), *(() if item.required else (item.default,)))
        for name, item in ((name, known[name]) for name in names or known)
    ]

    return _made(request, fields)


def with_more(request: type[R], more: Mapping[str, tuple[Any, Any]], before: str = "") -> type[R]:
    """Return arguments in camelCase with more, types and defaults by name, before one or at the end."""
    fields: list[tuple[Any, ...]] = []
    for item in fields_of(request):
        if item.name == before:
            fields += [(name, *each) for name, each in more.items()]
        fields.append((item.name, item.type, *(() if item.required else (item.default,))))
    if not before:
        fields += [(name, *each) for name, each in more.items()]
    return _made(request, fields)


def _made(request: type[R], fields: Sequence[Any]) -> type[R]:
    def renamed(name: str) -> str:
        return "maxTokens" if name == "tokens" else camel(name)

    made = defstruct(request.__name__, fields, bases=request.__bases__, rename=renamed, kw_only=True)
    return cast(type[R], made)

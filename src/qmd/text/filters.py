"""Parse filters to predicates. There are three spellings: in a query, as options, and as JSON.

In a query, filters are written `tag:work`, `after:2024` or `[status:draft]`, with `-` before to negate. An
option has the form `status=draft`. JSON is `{"field": …, "operator": …, "value": …}`, or
`{"operator": "and", "operands": […]}`.

Texts have brackets too, so a condition in brackets is text in a query if no document has its field, or if it
is only a name and the query has words as well: `[draft] of the plan`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, get_args

from msgspec import Struct
from msgspec.json import encode

from qmd.errors import UsageError
from qmd.text.date_filters import no_date, on, since, until
from qmd.text.predicates import (
    PATTERNS,
    And,
    Comparison,
    Not,
    Operator,
    Or,
    Predicate,
    Written,
    both,
    check_operands,
    comparisons,
    field_name,
)
from qmd.text.regex import lazy
from qmd.text.values import LANGUAGE, Value, fold
from qmd.types.lists import ValueCount
from qmd.types.states import STATE_NAMES

#: Says which states there are.
NO_STATE = f"state must be one of {', '.join(STATE_NAMES)}, or several with commas between them"
_GLOB = lazy(r"[*?]")
MAX_DEPTH = 16
MAX_NODES = 256
#: The maximum length of a filter as JSON, in characters.
MAX_JSON = 100_000
#: Characters of a wrong value that an error message shows.
_MAX_SHOWN = 60

QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\x00": " "})

#: A filter between spaces, or a quoted text, which contains no filters.
_PIECE = lazy(
    r'(?<!\S)(?P<minus>-?)(?:(?P<key>[A-Za-z]+):(?P<value>"[^"]*"|[^\s"]+)'
    r'|\[(?P<condition>(?:"[^"]*"|[^\[\]"])+)\])(?!\S)'
    r'|"[^"]*"'
)
_CONDITION = lazy(
    r"\s*+(?P<field>[^\W\d][\w.\-]*+(?:[ ][\w.\-]++)*+)\s*+(?:(?P<sign><=|>=|!=|[=:<>~])(?P<value>.*))?",
    re.DOTALL,
)
_ITEM = lazy(r'\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^,"]*))\s*(?:,|\Z)')
_SIGNS: Mapping[str, Operator] = {
    "=": "eq",
    ":": "eq",
    "!=": "eq",
    "<": "lt",
    "<=": "lte",
    ">": "gt",
    ">=": "gte",
    "~": "contains",
}
#: Operators that only queries and options have.
_TYPED = ("glob", "word")
#: Operators of JSON that are written with others.
_COMPOSED = ("ne", "in", "nin", "all")
#: Operators of JSON whose operand is a text.
TEXT_OPERATORS = ("prefix", *(name for name in PATTERNS if name not in _TYPED))
OPERATORS = (*(name for name in get_args(Operator) if name not in _TYPED), *_COMPOSED)


def tag_is(value: str) -> Predicate:
    """Return a filter on a tag, which may be written with `#`. It includes the tags below it."""
    return Comparison("tag", "eq", value.removeprefix("#").strip("/"))


def path_is(value: str) -> Predicate:
    """Return a filter on the path in a collection: the beginning of a path, or a glob."""
    path = value.removeprefix("/")
    return Comparison("path", "glob" if _GLOB.search(path) else "prefix", path)


def folder_counts(paths: Iterable[ValueCount]) -> list[ValueCount]:
    """Return the folders of paths as `path:` takes them, with all documents below, most frequent first."""
    counts: Counter[str] = Counter()
    for each in paths:
        path = str(each.value)
        end = path.find("/")
        while end >= 0:
            counts[path[: end + 1]] += each.documents
            end = path.find("/", end + 1)
    return [ValueCount(*each) for each in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]


def author_is(value: str) -> Predicate:
    """Return a filter on the author: a word of a name, or a whole name, in quotes or of several words."""
    name = value.strip('"').strip()
    return Comparison("author", "word" if name == value and len(name.split()) == 1 else "eq", name)


def state_is(value: str) -> Predicate | None:
    """Return a filter on the state: one, or several with commas; None if there is no such state."""
    found = tuple(Comparison("state", "eq", fold(name.strip())) for name in value.split(","))
    if any(each.value not in STATE_NAMES for each in found):
        return None
    return found[0] if len(found) == 1 else Or(found)


def ext_is(value: str) -> Predicate | None:
    """Return a filter on the suffix of the file: one, or several with commas; None if there is none."""
    return _one_of("ext", (each.strip().removeprefix("*").removeprefix(".") for each in value.split(",")))


def lang_is(value: str) -> Predicate | None:
    """Return a filter on the language of the text, ISO 639-1: one, or several with commas; None if none."""
    return _one_of(LANGUAGE, (each.strip().lower() for each in value.split(",")))


def collection_is(value: str) -> Predicate | None:
    """Return a filter on the collection: one, or several with commas; None if there is none."""
    return _one_of("collection", map(str.strip, value.removeprefix("qmd://").rstrip("/").split(",")))


def _one_of(field: str, values: Iterable[str]) -> Predicate | None:
    found = tuple(Comparison(field, "eq", value) for value in values if value)
    return found[0] if len(found) == 1 else Or(found) if found else None


#: Keys in a query, and the filter for a value; None leaves it in the text.
KEYS: Mapping[str, Callable[[str], Predicate | None]] = {
    "tag": tag_is,
    "path": path_is,
    "author": author_is,
    "after": since,
    "before": until,
    "date": on,
    "file": lambda value: Comparison("file", "contains", value),
    "title": lambda value: Comparison("title", "contains", value),
    "ext": ext_is,
    LANGUAGE: lang_is,
    "link": lambda value: Comparison("link", "eq", value),
    "state": state_is,
    "collection": collection_is,
    "in": collection_is,
}


def from_options(options: Mapping[str, Any]) -> Predicate | None:
    """Return the filter of named options, which must all hold; None if none is given.

    Args:
        options: `tag`, `path`, `ext`, `lang`, `author`, `after`, `before` and `where` (see `condition`), each
            a text or several, and `filter`, which is JSON (see `from_json`), typed as in a query, or a
            predicate. Other options are ignored.

    Raises:
        UsageError: If a value is wrong; the message names the option.
    """
    found: list[Predicate] = []
    for name, make in OPTIONS.items():
        given = options.get(name)
        values = [given] if isinstance(given, str) else [*(given or ())]
        if not all(map(str.strip, values)):
            raise UsageError(f"{name} is empty")
        for value in [",".join(values)] if name in _ALTERNATIVES and values else values:
            predicate = make(value)
            if predicate is None:
                raise UsageError(_ALTERNATIVES[name]) if name in _ALTERNATIVES else no_date(name, value)
            found.append(predicate)
    if options.get("current"):
        found.append(Comparison("state", "eq", "current"))
    given = options.get("filter")
    if given is not None:
        found.append(given if isinstance(given, Predicate) else _from_any(given))
    if sum(len([*comparisons(predicate)]) for predicate in found) > MAX_NODES:
        raise UsageError(f"more than {MAX_NODES} filters")
    for predicate in found:
        check_operands(predicate)
    return both(*found)


class Typed(Struct, frozen=True):
    """A filter as typed in a query. `field` is the name in brackets; `bare` are brackets with only a name."""

    start: int
    end: int
    predicate: Predicate
    field: str | None = None
    bare: bool = False


def scan(text: str) -> tuple[tuple[Typed, ...], tuple[str, str, str] | None]:
    """Return the filters and conditions in brackets of a query, and the first filter with a wrong date.

    A filter in quotes, with an unknown key, without a value or with a wrong date is text. Raises `UsageError`
    if an operator cannot take its operand.
    """
    if ":" not in text and "[" not in text:  # most have none, so that the pattern need not be compiled
        return (), None
    found: list[Typed] = []
    wrong: tuple[str, str, str] | None = None
    # The translation keeps positions, so that they apply to the original text.
    for match in _PIECE.finditer(text.translate(QUOTES)):
        typed = _typed(match)
        if typed is not None:
            found.append(typed)
        elif wrong is None:
            key, value = (match["key"] or "").lower(), (match["value"] or "").strip('"').strip()
            if KEYS.get(key) in (on, since, until) and value:
                wrong = key, value, match[0]
    return tuple(found), wrong


def filtering(text: str, typed: Sequence[Typed]) -> tuple[Typed, ...]:
    """Return the filters among what is `typed` in a text: a bare name in brackets only without words."""
    if any(each.bare for each in typed) and without(text, typed):
        return tuple(each for each in typed if not each.bare)
    return tuple(typed)


def without(text: str, typed: Sequence[Typed]) -> str:
    """Return a query without some of its filters, which are in order."""
    places = [(0, 0), *((each.start, each.end) for each in typed), (len(text), 0)]
    parts = (text[end:start].strip() for (_, end), (start, _) in pairwise(places))
    return " ".join(part for part in parts if part)


def refuse_wrong_date(wrong_date: tuple[str, str, str] | None) -> None:
    """Raise `UsageError` for a filter with a wrong date, as `scan` returns it."""
    if wrong_date is not None:
        key, value, written = wrong_date
        raise no_date(key, value, f"in quotes it is text: '\"{written}\"'")


def _typed(match: re.Match[str]) -> Typed | None:
    make, value = KEYS.get((match["key"] or "").lower()), (match["value"] or "").strip()
    if make is not author_is:  # for which quotes matter
        value = value.strip('"').strip()
    stated = _CONDITION.fullmatch(match["condition"] or "")
    typed = make(value) if make is not None and value.strip('"').strip() else None
    predicate = _condition(stated[0]) if stated else typed
    if predicate is None:
        return None
    check_operands(predicate)
    field, bare = (stated["field"], not stated["sign"]) if stated else (None, False)
    return Typed(*match.span(), Not(predicate) if match["minus"] else predicate, field, bare)


def condition(text: str) -> Predicate:
    """Parse an option such as `status=draft`, `priority>=2`, `status=draft,review` or `status` (exists).

    Raises:
        UsageError: If it has another form.
    """
    predicate = _condition(text)
    if predicate is None:
        raise UsageError(
            f"wrong filter: {text[:_MAX_SHOWN]!r}",
            "write FIELD, or FIELD and a value with one of = != < <= > >= ~ between them: status=draft",
        )
    return predicate


def _condition(text: str) -> Predicate | None:
    match = _CONDITION.fullmatch(text)
    if match is None:
        return None
    field, sign = field_name(match["field"]), match["sign"]
    if sign is None or (sign in "=:!=" and match["value"].strip() == "*"):
        exists = Comparison(field, "exists")
        return Not(exists) if sign == "!=" else exists
    values = [*_items(match["value"])] if sign in "=:!=" else [match["value"].strip().strip('"')]
    values = [value for value in values if value]
    if not values:
        return None
    # `[tag:#work]` as in the short form.
    if field == "tag":
        values = [value.removeprefix("#") for value in values]
    found = tuple(Comparison(field, _SIGNS[sign], Written(value)) for value in values)
    predicate: Predicate = found[0] if len(found) == 1 else Or(found)
    return Not(predicate) if sign == "!=" else predicate


def _items(text: str) -> Iterator[str]:
    """Yield the values of a list with commas, of which some may be in quotes."""
    at = 0
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            yield text[at:].strip()
            return
        yield match["quoted"] if match["quoted"] is not None else match["plain"].strip()
        at = match.end()


#: Options that filter, beside `filter`, and the predicate for a value; None if the value is wrong.
OPTIONS: Mapping[str, Callable[[str], Predicate | None]] = {
    "tag": tag_is,
    "path": path_is,
    "author": author_is,
    "after": since,
    "before": until,
    "where": condition,
    "state": state_is,
    "ext": ext_is,
    LANGUAGE: lang_is,
}
#: Options of which a document has one value, so that several are alternatives; and the error for a wrong one.
_ALTERNATIVES: Mapping[str, str] = {
    "state": NO_STATE,
    "ext": "ext must be a suffix such as md, or several with commas between them",
    LANGUAGE: "lang must be a language such as de, or several with commas between them",
}


def _from_any(value: Any) -> Predicate:
    """Parse a filter in JSON, decoded or as text, or as typed in a query. Raises `UsageError`."""
    if not isinstance(value, str) or value.lstrip()[:1] in ("", "{"):
        return from_json(value)
    if len(value) > MAX_JSON:
        raise _too_long()
    found, wrong_date = scan(value)
    refuse_wrong_date(wrong_date)
    typed = filtering(value, found)
    if len(typed) > MAX_NODES:
        raise UsageError(f"filter: more than {MAX_NODES} conditions")
    rest = without(value, typed)
    # One condition may lack its brackets: `status=draft`.
    stated = _CONDITION.fullmatch(rest)
    condition = _condition(rest) if stated and stated["sign"] else None
    predicate = both(*(each.predicate for each in typed), *([] if condition is None else [condition]))
    if predicate is None or (rest and condition is None):
        raise UsageError(
            f"filter: no filter: {rest[:_MAX_SHOWN]!r}",
            "write filters as in a query, such as tag:work after:2024 [status:draft], or as JSON",
        )
    return predicate


def from_json(value: Any) -> Predicate:
    """Parse a filter in JSON, decoded or as text.

    Raises:
        UsageError: If the filter is invalid; the message names the part.
    """
    if isinstance(value, str):
        import json

        if len(value) > MAX_JSON:
            raise _too_long()
        try:
            value = json.loads(value)
        except RecursionError:
            raise _too_deep() from None
        except ValueError as error:
            raise UsageError(
                f"filter: not valid JSON: {error}",
                'for example {"field": "status", "operator": "eq", "value": "draft"}',
            ) from None
    predicate = _read(value, "filter", 1)
    if _count(predicate) > MAX_NODES:
        raise UsageError(f"filter: more than {MAX_NODES} conditions")
    if sum(len(each.field) + len(str(each.value)) for each in comparisons(predicate)) > MAX_JSON:
        raise _too_long()
    return predicate


def _count(predicate: Predicate) -> int:
    """Return the number of comparisons and of lists of conditions."""
    match predicate:
        case Not(operand):
            return _count(operand)
        case And(operands) | Or(operands):
            return 1 + sum(map(_count, operands))
    return 1


def _too_deep() -> UsageError:
    return UsageError(f"filter: nested deeper than {MAX_DEPTH} levels")


def _too_long() -> UsageError:
    return UsageError(f"filter: longer than {MAX_JSON:,} characters")


def _read(node: Any, where: str, depth: int) -> Predicate:
    """Return the predicate of a node of JSON. `where` names it in errors."""
    if depth > MAX_DEPTH:
        raise _too_deep()
    if not isinstance(node, dict):
        raise UsageError(f"{where}: must be an object, not {_shown(node)}")
    operator = node.get("operator")
    if operator not in ("and", "or", "not"):
        return _comparison(node, operator, where)
    _refuse_unknown(node, ("operator", "operands"), where)
    operands = node.get("operands")
    if not isinstance(operands, list) or not operands:
        raise UsageError(f"{where}.operands: must be a list of conditions")
    read = tuple(_read(item, f"{where}.operands[{at}]", depth + 1) for at, item in enumerate(operands))
    if operator == "not":
        return Not(read[0] if len(read) == 1 else And(read))
    if len(read) == 1:
        return read[0]
    return And(read) if operator == "and" else Or(read)


def _comparison(node: dict[str, Any], operator: Any, where: str) -> Predicate:
    _refuse_unknown(node, ("field", "key", "operator", "value"), where)
    field = node.get("field", node.get("key"))
    if not isinstance(field, str) or not field.strip():
        raise UsageError(f"{where}.field: must be the name of a field, not {_shown(field)}")
    field = field_name(field)
    if operator not in OPERATORS:
        from qmd.text.similar import did_you_mean  # few operators are wrong

        known = (*OPERATORS, "and", "or", "not")
        hint = f"{did_you_mean(str(operator), known)}operators: {', '.join(known)}"
        raise UsageError(f"{where}.operator: unknown: {_shown(operator)}", hint)
    if operator == "exists":
        wanted = node.get("value", True)
        if not isinstance(wanted, bool):
            raise UsageError(f"{where}.value: must be true or false, not {_shown(wanted)}")
        exists = Comparison(field, "exists")
        return exists if wanted else Not(exists)
    if "value" not in node:
        raise UsageError(f"{where}.value is missing")
    value, where = node["value"], f"{where}.value"
    if operator in ("in", "nin", "all"):
        if not isinstance(value, list) or not value:
            raise UsageError(f"{where}: must be a list of values, not {_shown(value)}")
        each = tuple(Comparison(field, "eq", _value(item, f"{where}[{at}]")) for at, item in enumerate(value))
        if operator == "all":
            return both(*each) or And(each)
        any_of: Predicate = each[0] if len(each) == 1 else Or(each)
        return any_of if operator == "in" else Not(any_of)
    operand = _value(value, where)
    if operator == "ne":
        return Not(Comparison(field, "eq", operand))
    if operator in TEXT_OPERATORS and not isinstance(operand, str):
        raise UsageError(f"{where}: must be a text for {operator}, not {_shown(value)}")
    return Comparison(field, operator, operand)


def _value(value: Any, where: str) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < 2**1000:
        return float(value)
    if isinstance(value, str):
        return value
    raise UsageError(f"{where}: must be a text, a number, true or false, not {_shown(value)}")


def _refuse_unknown(node: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in node:
        if key not in known:
            raise UsageError(f"{where}: unknown key {_shown(key)}", f"keys: {', '.join(known)}")


def _shown(value: Any) -> str:
    try:
        text = encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value))
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."

"""Predicates: conditions on the fields of a document.

A predicate is a tree of `Comparison`, `And`, `Or` and `Not`. The spellings of a filter are parsed by
`qmd.text.filters`. Stores compile a predicate; `matches` is the definition of its meaning. Between processes
it is JSON with the classes as tags, which keeps operands as written.

A field has any number of values. A comparison holds if it holds for one of them. Texts are compared without
regard to case and Unicode composition, dates by prefix (`2024-06` is the whole month). A value of another
type than the operand never matches.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.json import encode

from qmd.errors import UsageError
from qmd.text import dates
from qmd.text.globs import compile_globs
from qmd.text.regex import lazy
from qmd.text.values import Value, ValueType, fold, key_of, shown


class Days(Struct, frozen=True):
    """The days that a relative date stands for, from `first` to `last`; see `qmd.text.dates.relative`.

    Equality takes those up to `whole`. That differs from `last` for a length of time: `date:7d` are the last
    seven days, and `[due>7d]` compares with the day seven days ago.
    """

    first: str
    last: str
    whole: str

    def ends(self, operator: str) -> tuple[str, str]:
        """Return the first and the last of the days that an operator compares with."""
        return self.first, self.whole if operator == "eq" else self.last

    def shown(self, operator: str) -> str:
        """Return the day that an operator compares with, or `2026-11-16..2026-11-22`."""
        first, last = self.ends(operator)
        if operator == "eq" and first != last:
            return f"{first}..{last}"
        return last if operator in ("lte", "gt") else first


Fields: TypeAlias = Mapping[str, Sequence[Value]]
#: Fields that a store has of every document, whatever its content, with their types.
OF_FILE: Mapping[str, ValueType] = {
    "collection": "text",
    "path": "text",
    "file": "text",
    "title": "text",
    "date": "date",
    "modified": "date",
    "size": "number",
}
#: Fields that a filter may name in any index. Documents may lack those that are not of the file.
BUILT_IN = (*OF_FILE, "author", "tag", "alias", "link", "state", "ext", "format", "lang")
#: Fields that no store has of all documents: a condition on them becomes one on others, or `Among`.
RESOLVED = frozenset({"link", "state", "changed"})
Operator = Literal["eq", "lt", "lte", "gt", "gte", "prefix", "suffix", "contains", "glob", "word", "exists"]


@lru_cache(maxsize=64)
def _glob(pattern: str) -> Callable[[str], bool]:
    return compile_globs((pattern,))


def _has_word(text: str, word: str) -> bool:
    """Return whether a text has a word, which may consist of several, between others or its ends."""
    return re.search(rf"(?<!\w){re.escape(word)}(?![\w#]|\+\+)", text) is not None


#: The operators that look inside texts: each tells whether a folded text satisfies a folded operand. An
#: exception for an empty text says that the operand is invalid.
PATTERNS: Mapping[str, Callable[[str, str], bool]] = {
    "suffix": lambda text, operand: text.endswith(operand),
    "contains": lambda text, operand: operand in text,
    "glob": lambda text, operand: _glob(operand)(text),
    "word": _has_word,
}

#: A field whose values are paths in a hierarchy: `work` equals `work` and everything below it.
TAG = "tag"
#: Names that stand for another field.
_SYNONYMS = {"tags": "tag", "aliases": "alias", "authors": "author"}
#: Sorts after every character of a date.
_AFTER_DATE = "~"
#: Sorts after every text with the same beginning.
_AFTER_TEXT = "\U0010ffff"


class Written(Struct, frozen=True):
    """An operand as typed in a query. It is read in the type of the value that it is compared with.

    `days` are those of a relative date that was resolved, and `utc` the same in UTC if that differs.
    """

    text: str
    days: Days | None = None
    utc: Days | None = None

    def __str__(self) -> str:
        return self.text


Operand: TypeAlias = Value | Written


class Comparison(Struct, frozen=True, tag=True):
    """A condition on one field. `exists` ignores its operand."""

    field: str
    operator: Operator
    value: Operand = True


class And(Struct, frozen=True, tag=True):
    """Holds if all operands hold."""

    operands: tuple[Predicate, ...]


class Or(Struct, frozen=True, tag=True):
    """Holds if one operand holds."""

    operands: tuple[Predicate, ...]


class Not(Struct, frozen=True, tag=True):
    """Holds if the operand does not hold, for example because the document lacks the field."""

    operand: Predicate


class Among(Struct, frozen=True, tag=True):
    """Holds for the documents with these ids: the rest of a condition on links once they are resolved."""

    documents: tuple[int, ...]
    written: str


Predicate: TypeAlias = Comparison | And | Or | Not | Among


class ValueRange(Struct, frozen=True):
    """The values of one type from `low` to `high`, both included unless they are open; None has no end."""

    type: ValueType
    low: str | float | None = None
    high: str | float | None = None
    low_open: bool = False
    high_open: bool = False

    def __contains__(self, key: str | float) -> bool:
        """Tell whether a key of the span's type is in the span."""
        low, high = self.low, self.high
        # mypy cannot see that keys of one type are of one Python type.
        return (low is None or (key > low if self.low_open else key >= low)) and (  # type: ignore[operator]
            high is None or (key < high if self.high_open else key <= high)  # type: ignore[operator]
        )


def field_name(name: str) -> str:
    """Return the name by which a field is stored. Names are compared without regard to case."""
    folded = fold(name.strip())
    return _SYNONYMS.get(folded, folded)


def spans(comparison: Comparison) -> tuple[ValueRange, ...]:
    """Return the values that satisfy a comparison, unless it looks inside texts; see `is_pattern`."""
    operator, value = comparison.operator, comparison.value
    if operator == "prefix":
        start = fold(str(value))
        return (
            ValueRange("text", start, start + _AFTER_TEXT),
            ValueRange("date", start, start + _AFTER_TEXT),
        )
    readings = {kind: (key, key) for kind, key in _readings(value)}
    if isinstance(value, Written) and value.days is not None:
        days = value.utc if comparison.field == "modified" else None
        readings["date"] = (days or value.days).ends(operator)
    if operator != "eq" and len(readings) > 1:
        # `[priority>=2]` does not mean texts that sort after "2".
        readings.pop("text")
    found: list[ValueRange] = []
    for kind, (first, last) in readings.items():
        if isinstance(last, str) and kind == "date":
            last += _AFTER_DATE
        match operator:
            case "eq":
                found.append(ValueRange(kind, first, last))
                if comparison.field == TAG and isinstance(first, str):
                    found.append(ValueRange(kind, first + "/", first + "/" + _AFTER_TEXT))
            case "lt":
                found.append(ValueRange(kind, None, first, high_open=True))
            case "lte":
                found.append(ValueRange(kind, None, last))
            case "gt":
                found.append(ValueRange(kind, last, None, low_open=True))
            case "gte":
                found.append(ValueRange(kind, first, None))
    return tuple(found)


def on_file(comparison: Comparison) -> Comparison | None:
    """Return a comparison of `date` for documents whose date is the time of the file; None if it is the same.

    The time of a file is in UTC, and the days of a relative date begin at another time.
    """
    dated = comparison.field == "date" and isinstance(comparison.value, Written) and comparison.value.utc
    return Comparison("modified", comparison.operator, comparison.value) if dated else None


def _readings(value: Operand) -> Iterator[tuple[ValueType, str | float]]:
    """Yield the types that an operand can have, with the key in that type."""
    if not isinstance(value, str | Written):
        yield key_of(value)
        return
    text = str(value)
    yield "text", fold(text)
    date = dates.prefix(text)
    if date is not None:
        yield "date", date
    if isinstance(value, Written):
        number = _number(text)
        if number is not None:
            yield "number", number
        if text.lower() in ("true", "false"):
            yield "boolean", float(text.lower() == "true")


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def is_pattern(comparison: Comparison) -> bool:
    """Tell whether a comparison looks inside texts, so that `spans` cannot express it."""
    return comparison.operator in PATTERNS


def text_matches(comparison: Comparison, text: str) -> bool:
    """Tell whether a folded text satisfies a comparison for which `is_pattern` holds."""
    return PATTERNS[comparison.operator](text, fold(str(comparison.value)))


def check_operands(predicate: Predicate) -> None:
    """Raise `UsageError` if an operator cannot take its operand."""
    for comparison in filter(is_pattern, comparisons(predicate)):
        try:
            text_matches(comparison, "")
        except UsageError:
            raise
        except Exception as error:
            shown = shown_value(comparison.value)
            raise UsageError(
                f"invalid value for {comparison.operator} of {comparison.field}: {shown}: {error}"
            ) from error


def holds(comparison: Comparison, value: Value) -> bool:
    """Tell whether one stored value satisfies a comparison."""
    if comparison.operator == "exists":
        return True
    kind, key = key_of(value)
    if is_pattern(comparison):
        return isinstance(key, str) and text_matches(comparison, key)
    return any(span.type == kind and key in span for span in spans(comparison))


def matches(predicate: Predicate, fields: Fields) -> bool:
    """Tell whether a document with these fields satisfies a predicate. `id` is the number of the document."""
    match predicate:
        case And(operands):
            return all(matches(operand, fields) for operand in operands)
        case Or(operands):
            return any(matches(operand, fields) for operand in operands)
        case Not(operand):
            return not matches(operand, fields)
        case Comparison():
            if fields.get("date") == fields.get("modified"):
                predicate = on_file(predicate) or predicate
            return any(holds(predicate, value) for value in fields.get(predicate.field, ()))
        case Among(documents):
            return any(identity in documents for identity in fields.get("id", ()))


def both(*predicates: Predicate | None) -> Predicate | None:
    """Return a predicate that holds if all of these hold; None if there are none."""
    given: list[Predicate] = []
    for predicate in predicates:
        if isinstance(predicate, And):
            given.extend(predicate.operands)
        elif predicate is not None:
            given.append(predicate)
    if not given:
        return None
    return given[0] if len(given) == 1 else And(tuple(given))


def parts(predicate: Predicate) -> tuple[Predicate, ...]:
    """Return the conditions that must all hold."""
    return predicate.operands if isinstance(predicate, And) else (predicate,)


def comparisons(predicate: Predicate) -> Iterator[Comparison]:
    """Yield the comparisons of a predicate in order."""
    match predicate:
        case Comparison():
            yield predicate
        case Not(operand):
            yield from comparisons(operand)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from comparisons(operand)


def replaced(predicate: Predicate, replace: Callable[[Comparison], Predicate]) -> Predicate:
    """Return a predicate with each comparison replaced by the result of `replace`."""
    match predicate:
        case Comparison():
            return replace(predicate)
        case Not(operand):
            return Not(replaced(operand, replace))
        case And(operands):
            return And(tuple(replaced(operand, replace) for operand in operands))
        case Or(operands):
            return Or(tuple(replaced(operand, replace) for operand in operands))
        case Among():
            return predicate


_SIGNS = {"eq": ":", "lt": "<", "lte": "<=", "gt": ">", "gte": ">=", "contains": "~"}
#: Comparisons that are typed as `field:value`.
_SHORT = frozenset(
    {("path", "prefix"), ("path", "glob"), ("file", "contains"), ("title", "contains"), ("author", "word")}
    | {(field, "eq") for field in ("tag", "ext", "link", "state")}
)
_NEEDS_QUOTES = lazy(r'[\s",\[\]]')


def describe(predicate: Predicate) -> str:
    """Return a predicate as it is typed in a query; operators without a sign are named."""
    match predicate:
        case And(operands):
            return " ".join(_grouped(operand) for operand in operands)
        case Or(operands):
            return _any_of(operands) or " or ".join(_grouped(operand) for operand in operands)
        case Not(operand):
            return f"-{_grouped(operand)}"
        case Among(_, written):
            return written
        case Comparison(field, "exists"):
            return f"[{field}]"
        case Comparison("date", "gte", value):
            return f"after:{shown_days(predicate) or value}"
        case Comparison("date", "lt", value):
            return f"before:{shown_days(predicate) or value}"
        case Comparison("author", "eq", str() as name):
            return f"author:{encode(name).decode()}"
        case Comparison(field, operator, value) if (field, operator) in _SHORT:
            return f"{field}:{shown_value(value)}"
        case Comparison(field, operator, value):
            sign = _SIGNS.get(operator, f" {operator} ")
            return f"[{field}{sign}{shown_days(predicate) or shown_value(value)}]"


def shown_days(comparison: Comparison) -> str:
    """Return the days of a relative date that a comparison takes; "" if it has none, or may mean a text."""
    days = comparison.value.days if isinstance(comparison.value, Written) else None
    may_be_text = comparison.operator == "eq" and OF_FILE.get(comparison.field) != "date"
    return "" if days is None or may_be_text else days.shown(comparison.operator)


def _grouped(predicate: Predicate) -> str:
    text = describe(predicate)
    grouped = isinstance(predicate, And) or (isinstance(predicate, Or) and not text.startswith("["))
    return f"({text})" if grouped else text


def _any_of(operands: Sequence[Predicate]) -> str | None:
    """Return `[status:draft,review]` for alternatives of one field; None for other alternatives."""
    equal = [item for item in operands if isinstance(item, Comparison) and item.operator == "eq"]
    if len(equal) < len(operands) or len({item.field for item in equal}) != 1:
        return None
    return f"[{equal[0].field}:{','.join(shown_value(item.value) for item in equal)}]"


def shown_value(value: Operand) -> str:
    """Return a value as a filter writes it."""
    if not isinstance(value, str | Written):
        return shown(value)
    text = str(value)
    return encode(text).decode() if _NEEDS_QUOTES.search(text) else text

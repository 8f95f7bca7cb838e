"""The arguments of the operations, and one-line errors that name the wrong argument."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from msgspec.structs import replace
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from qmd.engine.requests import (
    DEFAULT_CANDIDATES,
    DEFAULT_LIMIT,
    DEFAULT_MAX_BYTES,
    FILTERS,
    MAX_CONTEXT_LINES,
    MAX_PASSAGES,
    MAX_QUERY,
    MAX_SEARCHES,
    SearchRequest,
)
from qmd.errors import UsageError
from qmd.text.filters import TEXT_OPERATORS, from_options
from qmd.types import SearchType, TypedSearch

MAX_LIMIT = 1000
#: Entries of a list of fields, values or links, unless a request says otherwise.
DEFAULT_ENTRIES = 100
_DIGITS = re.compile("[0-9]{1,6}")
#: Maximum length of a name, and maximum number of names in a list.
MAX_NAME = 10_000
MAX_PATTERN = 20_000
#: An error shows at most this many characters of a wrong value.
_MAX_SHOWN_CHARACTERS = 60
#: An error describes at most this many wrong arguments.
_MAX_SHOWN_PROBLEMS = 3


def _integral(value: object) -> object:
    """Convert a float without a fraction to an integer, because JSON has one type for all numbers."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _from_digits(value: object) -> object:
    """Convert a text of digits to an integer."""
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


#: Matches a text that is not blank to Python; `\\S` means other characters in other languages.
NOT_BLANK = r"[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_YEAR = r"(000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})"
_LEAP_YEAR = r"(\d\d(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
#: Matches valid years, months and days, without a time of day.
_DATE = (
    rf"^({_YEAR}(-(0[1-9]|1[0-2])(-(0[1-9]|1\d|2[0-8]))?|-(0[13-9]|1[0-2])-(29|30)|-(0[13578]|1[02])-31)?"
    rf"|{_LEAP_YEAR}-02-29)$"
)

Count = Annotated[int, Field(ge=1), BeforeValidator(_integral)]
FirstLine = Annotated[Count, Field(description="The first line.")]
Lines = Annotated[Count, Field(description="The most lines.")]
Bytes = Annotated[Count, Field(description="The most bytes of a document.")]
LineNumbers = Annotated[bool, Field(description="Number the lines.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT, description="The most results."), BeforeValidator(_integral)]
Passages = Annotated[int, Field(ge=1, le=MAX_PASSAGES), BeforeValidator(_integral)]
ContextLines = Annotated[int, Field(ge=0, le=MAX_CONTEXT_LINES), BeforeValidator(_integral)]
Candidates = Annotated[Limit, Field(description="How many results are reranked.")]
Score = Annotated[float, Field(ge=0, le=1, description="The least score.")]
#: The pattern is only in the schema: `request` refuses a blank query with a better message.
Query = Annotated[
    str,
    Field(max_length=MAX_QUERY, description="What to find.", json_schema_extra={"pattern": NOT_BLANK}),
]
Intent = Annotated[
    str, Field(max_length=MAX_QUERY, description="What you want to know: changes what ranks first.")
]
Name = Annotated[str, Field(max_length=MAX_NAME)]
Reference = Annotated[
    Name,
    Field(
        description="A path or #docid from the results, the end of a path, path:line:count or path#heading."
    ),
]
Pattern = Annotated[
    str,
    Field(
        max_length=MAX_PATTERN,
        description="A glob over paths (journals/2025-05*.md), or a comma-separated list of what get takes.",
        json_schema_extra={"pattern": NOT_BLANK},
    ),
]
CollectionName = Annotated[
    str, Field(max_length=MAX_NAME, description="Search only this collection; status lists them.")
]
Author = Annotated[
    str, Field(max_length=MAX_NAME, description="By name.", json_schema_extra={"pattern": NOT_BLANK})
]
Filter = Annotated[
    dict[str, Any],
    Field(
        description="{field, operator, value} or {operator: and|or|not, operands}. Operators: "
        f"eq ne in nin lt lte gt gte exists all {' '.join(TEXT_OPERATORS)}."
    ),
]
#: Not the JSON Schema format `date`, because a year or a month is also accepted.
_DateText = Annotated[str, Field(max_length=MAX_NAME, json_schema_extra={"pattern": _DATE})]
After = Annotated[_DateText, Field(description="2024 or 2024-06-30.")]
Before = Annotated[_DateText, Field(description="As after.")]
Searches = Annotated[
    list["TypedSearchArguments"],
    Field(
        min_length=1,
        max_length=MAX_SEARCHES,
        description="In place of query: lex finds words, vec a question, hyde a passage as the answer might "
        "read; the first counts most.",
    ),
]
Collections = Annotated[list[Name], Field(max_length=MAX_LIMIT, description="Search these.")]
Rerank = Annotated[bool, Field(description="Better order, slower.")]


class Arguments(BaseModel):
    """Base class of the arguments of an operation. None stands for an argument that was not given."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    #: The word for an argument in error messages.
    noun: ClassVar[str] = "field"

    @classmethod
    def read(cls, values: Mapping[str, Any] | None) -> Self:
        """Validate the arguments of a call. A null argument counts as not given.

        Raises:
            UsageError: If arguments are wrong; the message names them.
        """
        names = cls._names()
        given = {
            name: value for name, value in (values or {}).items() if value is not None or name not in names
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise cls.usage_error(error.errors(include_url=False)) from None

    @classmethod
    def usage_error(cls, errors: Sequence[Any]) -> UsageError:
        """Return one error with a readable message for the errors that pydantic reports."""
        problems = [cls._describe(error) for error in errors]
        more = len(problems) - _MAX_SHOWN_PROBLEMS
        message = "; ".join(problems[:_MAX_SHOWN_PROBLEMS])
        return UsageError(f"{message}; and {more} more" if more > 0 else message)

    @classmethod
    def _names(cls) -> list[str]:
        """The names of the arguments as clients write them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def _describe(cls, error: Any) -> str:
        name = _path(error["loc"]) or f"{cls.noun}s"
        match error["type"]:
            case "missing":
                return f"{name} is missing"
            case "extra_forbidden" if len(error["loc"]) > 1:
                return f"{name}: unknown {cls.noun}"
            case "extra_forbidden":
                names = ", ".join(cls._names()) or "none"
                return f"{name}: unknown {cls.noun}; known {cls.noun}s: {names}"
            case "model_type" | "dict_type":
                return f"{name}: input should be an object"
            case "value_error":
                return str(error["ctx"]["error"])
        message = error["msg"][0].lower() + error["msg"][1:]
        value = error["input"]
        if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > _MAX_SHOWN_CHARACTERS):
            return f"{name}: {message}"
        return f"{name}: {message}, not {_printable(json.dumps(value, ensure_ascii=False))}"


class AnySearchArguments(Arguments):
    """Base class of the arguments of a search. They have the names of the fields of `SearchRequest`."""

    def request(self) -> SearchRequest:
        """Return the request for the engine. Raises `UsageError` if the query is blank."""
        values = dict(self)
        collection, searches = values.pop("collection"), values.pop("searches", None) or ()
        if values["query"] is not None and not values["query"].strip():
            raise UsageError("the query is empty")
        values["query"] = values["query"] or ""
        named = () if collection is None else (collection,)
        values["collections"] = (*named, *values.get("collections", ()))
        values["searches"] = tuple(TypedSearch(item.type, item.query) for item in searches)
        values["facets"] = tuple(values.get("facets", ()))
        where = from_options({name: values.pop(name, None) for name in FILTERS})
        return SearchRequest(**values, where=where)


class SearchArguments(AnySearchArguments):
    """Arguments of `search`."""

    query: Query
    limit: Limit = DEFAULT_LIMIT
    min_score: Score = 0
    collection: CollectionName | None = None
    author: Author | None = None
    after: After | None = None
    before: Before | None = None
    filter: Filter | None = None


class VectorSearchArguments(SearchArguments):
    """Arguments of `vsearch`. A least score that was not given is of the raw scale."""

    min_score: Score = 0.3

    def request(self) -> SearchRequest:
        request = super().request()
        # No raw score is lower than the default: 1 / (1 + distance) is at least 1/3.
        return request if "min_score" in self.model_fields_set else replace(request, min_score=0.0)


class TypedSearchArguments(Arguments):
    """One of the `searches` of `query`."""

    type: SearchType
    query: Query


class QueryArguments(AnySearchArguments):
    """Arguments of `query`."""

    query: Query | None = None
    searches: Searches | None = None
    limit: Limit = DEFAULT_LIMIT
    min_score: Score = 0
    collection: CollectionName | None = None
    author: Author | None = None
    after: After | None = None
    before: Before | None = None
    filter: Filter | None = None
    collections: Collections = []
    intent: Intent | None = None
    candidate_limit: Candidates = DEFAULT_CANDIDATES
    rerank: Rerank = True

    @model_validator(mode="after")
    def _check_query_or_searches(self) -> Self:
        if (self.query is None) == (self.searches is None):
            raise ValueError("give exactly one of query and searches")
        return self


class GetArguments(Arguments):
    """Arguments of `get`."""

    file: Reference
    from_line: FirstLine | None = None
    max_lines: Lines | None = None
    line_numbers: LineNumbers = False


class MultiGetArguments(Arguments):
    """Arguments of `multi_get`."""

    pattern: Pattern
    max_lines: Lines | None = None
    max_bytes: Bytes = DEFAULT_MAX_BYTES
    line_numbers: LineNumbers = False


class StatusArguments(Arguments):
    """Arguments of `status`."""


class ListArguments(Arguments):
    """Parameters of a list in the address of a request, so numbers come as texts."""

    noun: ClassVar[str] = "parameter"

    limit: Annotated[
        int, Field(ge=1, le=MAX_LIMIT, description="The most entries."), BeforeValidator(_from_digits)
    ] = DEFAULT_ENTRIES


class FieldsArguments(ListArguments):
    """Parameters of a list of fields or values."""

    collection: Annotated[CollectionName, Field(description="Count only in this collection.")] | None = None


def _path(location: tuple[str | int, ...]) -> str:
    """Return the path of a value inside the arguments, such as `searches[0].type`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" for part in location]
    return "".join(parts).removeprefix(".")


def _printable(text: str) -> str:
    """Shorten a text for an error message; escape lone surrogates and join lines."""
    short = text if len(text) <= _MAX_SHOWN_CHARACTERS else text[:_MAX_SHOWN_CHARACTERS] + "..."
    return " ".join(short.encode("utf-8", "backslashreplace").decode().split())

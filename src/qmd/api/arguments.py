"""The arguments of the tools: a model each, strict, with errors of one line that name the argument (M6)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from qmd.engine.requests import (
    DEFAULT_CANDIDATES,
    DEFAULT_LIMIT,
    DEFAULT_MAX_BYTES,
    MAX_QUERY,
    MAX_SEARCHES,
    VECTOR_MIN_SCORE,
    SearchRequest,
)
from qmd.errors import UsageError
from qmd.types import SearchType, TypedSearch

MAX_LIMIT = 1000
#: Characters of a name, and of a list of names.
MAX_NAME = 10_000
MAX_PATTERN = 20_000
#: Of a wrong value, and how many wrong arguments, an error shows at most.
_SHOWN = 60
_TOLD = 3


def _whole(value: object) -> object:
    """JSON has one kind of number: 2.0 is 2."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


#: Matches a text that is not blank to Python; `\\S` means other characters in other languages.
NOT_BLANK = r"[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_YEAR = r"(000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})"
_LEAP_YEAR = r"(\d\d(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
#: Matches years, months and days that exist, without a time of day.
_DATE = (
    rf"^({_YEAR}(-(0[1-9]|1[0-2])(-(0[1-9]|1\d|2[0-8]))?|-(0[13-9]|1[0-2])-(29|30)|-(0[13578]|1[02])-31)?"
    rf"|{_LEAP_YEAR}-02-29)$"
)

Count = Annotated[int, Field(ge=1), BeforeValidator(_whole)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(_whole)]
Candidates = Annotated[Limit, Field(description="How many results are reranked.")]
Score = Annotated[float, Field(ge=0, le=1, description="Leave out results that score less.")]
#: The engine says of a blank one what is wrong; the schema only that it is.
Query = Annotated[str, Field(max_length=MAX_QUERY, json_schema_extra={"pattern": NOT_BLANK})]
Intent = Annotated[
    str, Field(max_length=MAX_QUERY, description="What you want to know: changes what ranks first.")
]
Name = Annotated[str, Field(max_length=MAX_NAME)]
CollectionName = Annotated[
    str, Field(max_length=MAX_NAME, description="Search only this collection; status lists them.")
]
Author = Annotated[str, Field(max_length=MAX_NAME, json_schema_extra={"pattern": NOT_BLANK})]
#: A year or a month is enough, so in JSON Schema it is no `date`.
Date = Annotated[str, Field(max_length=MAX_NAME, json_schema_extra={"pattern": _DATE})]


class Arguments(BaseModel):
    """What all tools' arguments have in common. None stands for an argument that was not given."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, alias_generator=to_camel
    )

    #: What one of them is called in errors.
    noun: ClassVar[str] = "argument"

    @classmethod
    def read(cls, values: Mapping[str, Any] | None) -> Self:
        """Read the arguments of a call; null stands for an argument that was left out.

        Raises `UsageError` that names each one that is wrong.
        """
        known = {field.alias for field in cls.model_fields.values()}
        given = {
            name: value for name, value in (values or {}).items() if value is not None or name not in known
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise cls.refusal(error.errors(include_url=False)) from None

    @classmethod
    def refusal(cls, errors: Sequence[Any]) -> UsageError:
        """pydantic's errors in our words."""
        return _refusal([cls._fault(fault) for fault in errors])

    @classmethod
    def _fault(cls, fault: Any) -> str:
        name = _place(fault["loc"]) or f"{cls.noun}s"
        match fault["type"]:
            case "missing":
                return f"{name} is missing"
            case "extra_forbidden" if len(fault["loc"]) > 1:
                return f"{name}: no such {cls.noun}"
            case "extra_forbidden":
                known = ", ".join(str(field.alias) for field in cls.model_fields.values())
                return f"{name}: no such {cls.noun}; there {f'are {known}' if known else 'is none'}"
            case "model_type":
                return f"{name}: input should be an object"
            case "value_error":
                return str(fault["ctx"]["error"])
        message = fault["msg"][0].lower() + fault["msg"][1:]
        value = fault["input"]
        if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > _SHOWN):
            return f"{name}: {message}"
        return f"{name}: {message}, not {_printable(json.dumps(value, ensure_ascii=False))}"


class SearchArguments(Arguments):
    """`search`."""

    query: Query
    limit: Limit = DEFAULT_LIMIT
    min_score: Score = 0
    collection: CollectionName | None = None
    author: Author | None = None
    after: Date | None = None
    before: Date | None = None

    def request(self) -> SearchRequest:
        """What the engine is asked."""
        return SearchRequest(
            self.query,
            self.limit,
            self.min_score,
            _some(self.collection),
            author=self.author,
            after=self.after,
            before=self.before,
        )


class VectorSearchArguments(SearchArguments):
    """`vsearch`."""

    min_score: Score = VECTOR_MIN_SCORE


class TypedSearchArguments(Arguments):
    """One of the `searches` of `query`."""

    type: SearchType
    query: Query


class QueryArguments(Arguments):
    """`query`."""

    query: Query | None = None
    searches: Annotated[list[TypedSearchArguments], Field(min_length=1, max_length=MAX_SEARCHES)] | None = (
        None
    )
    limit: Limit = DEFAULT_LIMIT
    min_score: Score = 0
    collection: CollectionName | None = None
    author: Author | None = None
    after: Date | None = None
    before: Date | None = None
    collections: list[Name] = Field(default=[], max_length=MAX_LIMIT)
    intent: Intent | None = None
    candidate_limit: Candidates = DEFAULT_CANDIDATES
    rerank: bool = True

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.query is None) == (self.searches is None):
            raise ValueError("exactly one of query and searches is wanted")
        return self

    def request(self) -> SearchRequest:
        """What the engine is asked."""
        return SearchRequest(
            self.query or "",
            self.limit,
            self.min_score,
            _some(self.collection) + tuple(self.collections),
            tuple(TypedSearch(each.type, each.query) for each in self.searches or ()),
            self.intent,
            self.candidate_limit,
            self.rerank,
            author=self.author,
            after=self.after,
            before=self.before,
        )


class GetArguments(Arguments):
    """`get`."""

    file: Name
    from_line: Count | None = None
    max_lines: Count | None = None
    line_numbers: bool = False


class MultiGetArguments(Arguments):
    """`multi_get`."""

    pattern: Annotated[str, Field(max_length=MAX_PATTERN, json_schema_extra={"pattern": NOT_BLANK})]
    max_lines: Count | None = None
    max_bytes: Count = DEFAULT_MAX_BYTES
    line_numbers: bool = False


class StatusArguments(Arguments):
    """`status`."""


def _refusal(faults: Sequence[str]) -> UsageError:
    more = len(faults) - _TOLD
    return UsageError("; ".join(faults[:_TOLD]) + (f"; and {more} more" if more > 0 else ""))


def _some(collection: str | None) -> tuple[str, ...]:
    return () if collection is None else (collection,)


def _place(location: tuple[str | int, ...]) -> str:
    """`searches[0].type`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" for part in location]
    return "".join(parts).removeprefix(".")


def _printable(text: str) -> str:
    """As much of a text as an error shows, without what cannot be sent or would break the line."""
    short = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return " ".join(short.encode("utf-8", "backslashreplace").decode().split())

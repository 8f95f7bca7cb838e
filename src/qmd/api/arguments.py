"""The arguments of the operations. Those of searches are made from `SEARCH_OPTIONS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, Literal, cast, get_args, get_origin

from msgspec import Meta, defstruct

from qmd.api.reading import Request, fields_of
from qmd.engine.embedding.batches import MAX_TEXTS
from qmd.engine.requests import DEFAULT_MAX_BYTES, SearchRequest, of_document
from qmd.errors import UsageError
from qmd.ranking.calibration import RELATED
from qmd.search_options import CONDITIONS, MAX_QUERY, SEARCH_OPTIONS, Option, SearchKind, names_of
from qmd.text.filters import from_options
from qmd.types import SearchType, TypedSearch

MAX_LIMIT = 1000
#: Entries of a list of fields, values or links, unless a request says otherwise.
DEFAULT_ENTRIES = 100
#: Commits of a history, unless a request says otherwise.
DEFAULT_COMMITS = 20
#: Maximum length of a name, and maximum number of names in a list.
MAX_NAME = 10_000
MAX_PATTERN = 20_000
#: The most seconds of a search over HTTP.
MAX_TIMEOUT = 600

#: Matches a text that is not blank to Python; `\\S` means other characters in other languages.
NOT_BLANK = r"[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


def schema(**keywords: Any) -> Meta:
    """Return keywords that are only in the schema, because the engine checks them with better messages."""
    return Meta(extra_json_schema=keywords)


def limits(name: str) -> Meta:
    """Return the limits of an option of searches, and its meaning."""
    option = SEARCH_OPTIONS[name]
    least, most = option.value.least, option.value.most
    bounds: dict[str, Any] = (
        {"ge": least, "gt": option.value.above, "le": most}
        if option.value.is_number
        else {"min_length": least, "max_length": most}
    )
    return Meta(description=option.about, **bounds)


Count = Annotated[int, Meta(ge=1)]
Name = Annotated[str, Meta(max_length=MAX_NAME)]
Text = Annotated[Name, schema(pattern=NOT_BLANK)]
Query = Annotated[str, limits("query"), schema(pattern=NOT_BLANK)]
MaxLines = Annotated[Count, Meta(description="Most lines.")]
Tokens = Annotated[int, limits("tokens")]
Offset = Annotated[int, limits("offset")]
LineNumbers = Annotated[bool, Meta(description="Number the lines.")]
DocumentPath = Annotated[str, Meta(description="A reference as for `/get`, without lines and sections.")]


class TypedSearchArguments(Request):
    """One of the `searches` of `query`."""

    type: Annotated[SearchType, schema(choices=[*get_args(SearchType)])]
    query: Annotated[str, Meta(max_length=MAX_QUERY), schema(pattern=NOT_BLANK)]


class SearchArguments(Request):
    """Base class of the arguments of a search: the options of `SearchRequest`, with filters for `where`."""

    def __post_init__(self) -> None:
        values = self.values()
        if "searches" in values and (values["query"] is None) == (values["searches"] is None):
            raise UsageError("give exactly one of query and searches")

    def values(self) -> dict[str, Any]:
        """Return the arguments by name, without those that are none of a search."""
        known = {"collection", *SEARCH_OPTIONS}
        return {item.name: getattr(self, item.name) for item in fields_of(type(self)) if item.name in known}

    def request(self) -> SearchRequest:
        """Return the request for the engine. Raises `UsageError` if the query is blank."""
        values = self.values()
        if values["query"] is not None and not values["query"].strip():
            raise UsageError("the query is empty")
        collection, searches = values.pop("collection"), values.pop("searches", None) or ()
        where = from_options({name: values.pop(name, None) for name in CONDITIONS})
        values["query"] = values["query"] or ""
        named = () if collection is None else (collection,)
        values["collections"] = (*named, *values.get("collections", ()))
        values["searches"] = tuple(TypedSearch(item.type, item.query) for item in searches)
        return SearchRequest(**values, where=where)


_COLLECTION = Annotated[Name, Meta(description="Only this collection.")]


def _condition(option: Option, *, in_address: bool) -> Any:
    """Return the type of a condition. The address of a request has each once, as a text."""
    kind: Any = Text if option.value.default is None else list[Text]
    if option.name == "filter":
        kind = dict[str, Any]
    elif option.value.reader == "flag":
        kind = bool
    if in_address and option.in_address:
        return Annotated[Text, Meta(description=option.in_address)]
    return Annotated[kind, Meta(description=option.about)]


#: Options that clients write otherwise than the engine, or with narrower limits.
_WRITTEN: dict[str, Any] = {
    "query": Query,
    "searches": list[TypedSearchArguments],
    "limit": Annotated[int, Meta(le=MAX_LIMIT)],
    "collections": Annotated[tuple[Name, ...], Meta(max_length=MAX_LIMIT)],
    "facets": tuple[Name, ...],
    "timeout": Annotated[float, Meta(le=MAX_TIMEOUT)],
}


class SimilarArguments(SearchArguments):
    """Base class of the arguments of a search for similar documents: in the address of a request."""

    def values(self) -> dict[str, Any]:
        values = super().values()
        return {"query": values.pop("path"), **values}

    def request(self) -> SearchRequest:
        return of_document(super().request())


def search_arguments(
    kind: SearchKind,
    name: str,
    about: str,
    *,
    base: type[SearchArguments] = SearchArguments,
    without: Sequence[str] = (),
    more: Mapping[str, tuple[Any, Any]] | None = None,
) -> type[SearchArguments]:
    """Return the arguments of a kind of search, without some options, and with more: types and defaults."""
    types = {item.name: item.type for item in fields_of(SearchRequest)}
    similar = kind == "similar"
    fields: list[Any] = [("query", Query | None, None) if kind == "query" else ("query", Query)]
    if similar:  # its filter by path would have the name of the document
        fields = [("path", Annotated[str, Meta(description="A reference as for `/get`.")])]
        without = ["path", *without]
    for name_, option in SEARCH_OPTIONS.items():
        if name_ == CONDITIONS[0]:
            fields.append(("collection", _COLLECTION | None, None))
        if name_ not in names_of(kind) or name_ in without:
            continue
        if name_ in CONDITIONS:
            fields.append((name_, _condition(option, in_address=similar) | None, None))
            continue
        # Null is no value of an option on the wire: it counts as not given.
        engine, *null = get_args(types[name_]) if NoneType in get_args(types[name_]) else [types[name_]]
        if get_origin(engine) is Literal:  # listed in this order
            engine = Annotated[engine, schema(choices=[*get_args(engine)])]
        taken: Any = Annotated[_WRITTEN.get(name_, engine), limits(name_)]
        default = RELATED if name_ == "min_score" and kind == "vsearch" else option.value.default
        if (null and default is None) or name_ == "searches":
            taken, default = taken | None, None
        fields.append((name_, taken, default))
    fields += [(name, *each) for name, each in (more or {}).items()]
    made = defstruct(name, fields, bases=(base,), kw_only=True, namespace={"__doc__": about})
    return cast(type[SearchArguments], made)


SearchBody = search_arguments("search", "SearchBody", "A search by keywords.")
VectorSearchBody = search_arguments("vsearch", "VectorSearchBody", "A search by meaning.")
QueryBody = search_arguments(
    "query",
    "QueryBody",
    "A hybrid search; `searches` in place of `query` gives the subqueries one by one.",
)

SimilarQuery = search_arguments(
    "similar",
    "SimilarQuery",
    "A document, or the lines or the section of one, and which similar documents to list.",
    base=SimilarArguments,
    without=("collections",),
)


class Reference(Request):
    """A document: its path, the end of it, a `qmd://` address or a docid.

    Each may end in `:from:count` for some lines, or in `#heading` for a section.
    """

    file: Annotated[
        Name,
        Meta(description="A result's path or #docid, a path's end, path:line:count or path#heading."),
    ]
    from_line: Annotated[Count, Meta(description="The first line.")] | None = None
    max_lines: MaxLines | None = None
    line_numbers: LineNumbers = False
    tokens: Tokens | None = None


class GetBody(Reference):
    """A document: its path, the end of it, a `qmd://` address or a docid.

    Each may end in `:from:count` for some lines, or in `#heading` for a section.
    """

    as_of: (
        Annotated[
            Text, Meta(description="Read it as it was at the end of this day, from git: 2024-06-30, 7d.")
        ]
        | None
    ) = None


class MultiGetBody(Request):
    """Documents: a glob over paths, or a comma-separated list of references as for `/get`."""

    pattern: Annotated[
        str,
        Meta(
            max_length=MAX_PATTERN,
            description="A glob (journals/2025-05*.md) or list of what get takes.",
        ),
        schema(pattern=NOT_BLANK),
    ]
    max_lines: MaxLines | None = None
    max_bytes: Annotated[Count, Meta(description="Larger files, alone or together, are only named.")] = (
        DEFAULT_MAX_BYTES
    )
    line_numbers: LineNumbers = False
    tokens: Tokens | None = None


class Nothing(Request):
    """No fields."""


class ListArguments(Request):
    """Parameters of a list in the address of a request."""

    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="The most entries.")] = DEFAULT_ENTRIES
    offset: Offset = 0

    @property
    def end(self) -> int:
        """The number of entries of this page and those before."""
        return self.offset + self.limit


class FieldsArguments(ListArguments):
    """Parameters of a list of fields or values."""

    collection: Annotated[Name, Meta(description="Count only in this collection.")] | None = None


class FieldArguments(FieldsArguments, kw_only=True):
    """The parameters of a list of values, and the field."""

    name: Annotated[str, Meta(description="The name of a field, in upper or lower case.")]


class LinksArguments(ListArguments, kw_only=True):
    """The parameters of a list of links, and the document."""

    path: DocumentPath


class HistoryArguments(Request):
    """The number of commits, and the document."""

    path: DocumentPath
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="The most commits.")] = DEFAULT_COMMITS
    offset: Offset = 0


class OutlineArguments(Request):
    """A document."""

    path: DocumentPath


class Texts(Request):
    """Texts to embed as documents. Longer texts are cut to the length that the model reads."""

    texts: Annotated[list[str], schema(minItems=1, maxItems=MAX_TEXTS)]

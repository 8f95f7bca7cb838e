"""The answers about documents over HTTP and MCP, and the texts that both have in common.

Values of the engine are sent as they are where their fields are those of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_type_hints

from msgspec import UNSET, Meta, Struct, UnsetType, convert, defstruct

from qmd import types
from qmd.api.listings import Commit, whole
from qmd.api.texts import address, heading, hit_line
from qmd.engine.documents.notes import kinds, kinds_of_hits
from qmd.engine.documents.pages import Page
from qmd.engine.requests import SearchRequest
from qmd.text.snippet import numbered
from qmd.text.uris import to_uri
from qmd.text.wording import visible
from qmd.types import StageStatus, ValueCount, notes


class Anchor(Struct, frozen=True):
    """A place in the source file, such as page 12, if its text was extracted from a format with places."""

    kind: str
    value: int


class Passage(Struct, frozen=True):
    """A passage of a document; `score` compares it with the other passages of the same document."""

    line: int
    section: str
    score: float
    text: str

    @classmethod
    def of(cls, passage: types.Snippet) -> Self:
        """Return the passage as it is sent."""
        return cls(passage.line, passage.section, passage.score, _numbered(passage))


class SourcePassage(Struct, frozen=True):
    """The passage of the document asked about that a result is similar to."""

    line: int
    section: str
    text: str

    @classmethod
    def of(cls, passage: types.Snippet) -> Self:
        """Return the passage as it is sent."""
        return cls(passage.line, passage.section, _numbered(passage))


class _Place(Struct, frozen=True, omit_defaults=True):
    """Where a hit is found."""

    docid: str
    file: str
    title: str
    score: Annotated[float, Meta(ge=0, le=1)]
    context: str | None
    line: int
    section: str
    snippet: str
    address: str
    anchor: Anchor | None = None


def _field(kind: type[notes.Note]) -> tuple[str, Any, Any]:
    """Return the name, the type and the default of the field for a kind of note."""
    data = get_type_hints(vars(kind)["data"].fget)["return"] if "data" in vars(kind) else kind
    data = SourcePassage if data is types.Snippet else data
    return kind.key, data if kind.nothing is not None else data | None, kind.nothing


def _data(note: notes.Note) -> Any:
    """Return the value of the field for a note."""
    return SourcePassage.of(note.data) if isinstance(note.data, types.Snippet) else note.data


if TYPE_CHECKING:
    _NotedHit = _Place
else:
    _KINDS = notes.shown(kinds_of_hits(), "hit")
    _FIELDS = [
        *(_field(kind) for kind in _KINDS if not kind.quotes),
        ("passages", tuple[Passage, ...], ()),
        *(_field(kind) for kind in _KINDS if kind.quotes),
    ]
    _NotedHit = defstruct("_NotedHit", _FIELDS, bases=(_Place,), frozen=True, omit_defaults=True)


class Hit(_NotedHit, frozen=True, omit_defaults=True):
    """One document, best first. `explain` has the scores of each step if the request asks for them.

    `address` is what `get` takes to read on from the passage. `anchor` is the place in a source file that has
    places, such as page 12 of a PDF. `state` is there unless the document is current: superseded, by which
    document, expired and so on. `pinned` is true if the user pinned it to the query. `also` names folded
    documents with the same text. `session` is the session of a coding agent whose transcript it is. `body`
    is the whole text.
    """

    explain: dict[str, Any] | UnsetType = UNSET
    body: str | UnsetType = UNSET

    @classmethod
    def of(cls, hit: types.Hit, *, passages: bool = False) -> Self:
        """Return the result for a hit of the engine. The score has two decimals."""
        return cls(
            docid=hit.docid,
            file=hit.file,
            title=hit.title,
            score=hit.percent / 100,
            context=hit.context,
            line=hit.line,
            section=hit.section,
            snippet=_numbered(hit.snippet),
            address=address(hit),
            anchor=_anchor(hit.anchor),
            **{note.key: _data(note) for note in hit.notes},
            **({"passages": tuple(map(Passage.of, hit.passages))} if passages else {}),
            explain=UNSET if hit.explain is None else dict(hit.explain),
            body=UNSET if hit.body is None else hit.body,
        )


class Stage(Struct, frozen=True):
    """A step of the search: whether it ran and, if it did not, the reason."""

    stage: str
    status: StageStatus
    reason: str | UnsetType = UNSET


class SearchResults(Struct, frozen=True):
    """The results of a search.

    `indexed_at` is the time of the index: later changes on disk are not in it. `facets` has the most frequent
    values of the fields that the request asks for. `note` says what was left out to stay within `tokens`.
    If there are several pages, `total` is the number of results on all of them, unless the search did not
    find out, and `next_offset` the `offset` of the next page, unless this is the last.
    """

    results: tuple[Hit, ...]
    stages: tuple[Stage, ...]
    indexed_at: str | None
    content: str
    facets: dict[str, tuple[ValueCount, ...]] | UnsetType = UNSET
    note: str | UnsetType = UNSET
    total: int | UnsetType = UNSET
    next_offset: int | UnsetType = UNSET

    @classmethod
    def of(cls, response: types.SearchResponse, request: SearchRequest, indexed_at: str | None) -> Self:
        """Return the results for a response of the engine, with what the request asks for."""
        pages = response.offset or response.next_offset is not None
        facets = {name: tuple(map(whole, counts)) for name, counts in response.facets.items()}
        return cls(
            results=tuple(Hit.of(hit, passages=request.passages > 1) for hit in response.hits),
            stages=stages_of(response.stages),
            indexed_at=indexed_at,
            content="\n\n".join([heading(response), *map(hit_line, response.hits)]),
            facets=facets if request.facets else UNSET,
            note=response.note or UNSET,
            total=response.total if pages and response.total is not None else UNSET,
            next_offset=UNSET if response.next_offset is None else response.next_offset,
        )


def stages_of(stages: Sequence[types.Stage]) -> tuple[Stage, ...]:
    """Return the stages of a search of the engine."""
    return tuple(
        Stage(stage.stage, stage.status, UNSET if stage.reason is None else stage.reason) for stage in stages
    )


def _in_comment(line: str) -> str:
    """Return a line of data that cannot end the comment around it."""
    return visible(line).replace("-->", "--&gt;")


def _numbered(snippet: types.Snippet) -> str:
    return numbered(snippet.text, snippet.first_line)


def _anchor(anchor: types.Anchor | None) -> Anchor | None:
    return None if anchor is None else Anchor(anchor.kind, anchor.value)


class _Text(Struct, frozen=True, omit_defaults=True):
    """The text of a document."""

    uri: str
    name: str
    title: str
    mimeType: str  # noqa: N815 - as MCP clients expect it; HTTP has the same name
    text: str
    sourceType: str | None = None  # noqa: N815
    anchor: Anchor | None = None


if TYPE_CHECKING:
    _NotedText = _Text
else:
    _FIELDS = [*map(_field, notes.shown(kinds(), "document"))]
    _NotedText = defstruct("_NotedText", _FIELDS, bases=(_Text,), frozen=True, omit_defaults=True)


class Document(_NotedText, frozen=True, omit_defaults=True):
    """A document, with the fields of an MCP resource.

    `sourceType` is the media type of the file if the text was extracted from a format other than Markdown,
    and `anchor` the place in the file where the first line comes from. `state` and `session` are as in a
    search: the text begins with the state if the document is superseded, expired or deprecated, and with a
    note if its file could not be read any more. `commit` is the one that the text is from, if it is that of a
    date.
    """

    commit: Commit | None = None

    @classmethod
    def of(cls, page: Page, *, line_numbers: bool, truncated: str = "", named: bool = False) -> Self:
        """Return the document of a page.

        `truncated` is a note for the end of a text that is cut, with `{}` for the number of missing lines.
        If `named` is set, the text begins with the address and the title: some clients show nothing else.
        """
        text = numbered(page.text.removesuffix("\n"), page.first_line) if line_numbers else page.text
        if page.context:
            text = f"<!-- Context: {page.context} -->\n\n{text}"
        for note in page.notes:
            if note.warns:
                text = f"<!-- {note.key.capitalize()}: {_in_comment(note.line)} -->\n\n{text}"
        if page.unread_since:
            text = f"<!-- Text of before: the file could not be read since {page.unread_since} -->\n\n{text}"
        if named:
            first = f":{page.first_line}" if page.first_line > 1 else ""
            text = f"<!-- {_in_comment(f'{page.document.file}{first} - {page.document.title}')} -->\n\n{text}"
        if truncated and page.more:
            text += "\n\n" + truncated.format(page.more)
        return cls(
            uri=to_uri(page.document.file),
            name=page.document.file,
            title=page.document.title,
            mimeType=page.media_type,
            text=text,
            sourceType=None if page.source_type in ("", "text/markdown") else page.source_type,
            anchor=_anchor(page.anchor),
            **{note.key: _data(note) for note in page.notes},
            commit=convert(page.commit, Commit | None, from_attributes=True),
        )


class Note(Struct, frozen=True):
    """A text in place of a document that was too large."""

    type: Literal["text"]
    text: str


class GetResult(Struct, frozen=True):
    """One document, and the time of the index. `note` says what was left out to stay within `tokens`."""

    document: Document
    indexed_at: str | None
    content: None
    note: str | UnsetType = UNSET


_EITHER = [{"$ref": f"#/components/schemas/{name}"} for name in ("Document", "Note")]


class MultiGetResult(Struct, frozen=True):
    """Documents in order; `errors` has a line for each reference without a document.

    `note` says what was left out to stay within `tokens`.
    """

    #: A union of classes for schemas alone: msgspec would need a tag to read it.
    results: tuple[Annotated[Any, Meta(extra_json_schema={"anyOf": _EITHER})], ...]
    errors: tuple[str, ...]
    indexed_at: str | None
    content: None
    note: str | UnsetType = UNSET

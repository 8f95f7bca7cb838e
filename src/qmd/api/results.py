"""The results of the operations, and the texts that HTTP and MCP have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from qmd.engine.documents.library import Page, Skipped
from qmd.errors import DocumentNotFoundError, QmdError
from qmd.text.predicates import shown_value
from qmd.text.snippet import numbered
from qmd.text.uris import to_uri
from qmd.text.visible import visible
from qmd.text.wording import plural
from qmd.types import LinkKind, StageStatus

if TYPE_CHECKING:
    from qmd import types
    from qmd.engine.documents.fields import FieldValues

#: The most fields, values of each, and tags that the overview of an index reads.
OVERVIEW_FIELDS = 12
OVERVIEW_VALUES = 3
OVERVIEW_TAGS = 15
#: Limits that keep what an overview says of fields and tags below 300 tokens.
_FIELDS_BYTES = 330
_TAGS_BYTES = 140
_VALUE_BYTES = 30
#: Fields that say little, or that an overview has apart.
_NOT_LISTED = ("tag", "ext", "format")


class Anchor(BaseModel):
    """A place in the source file, such as page 12, if its text was extracted from a format with places."""

    kind: str
    value: int

    @classmethod
    def of(cls, anchor: types.Anchor) -> Self:
        """Return the result for a place of the engine."""
        return cls(kind=anchor.kind, value=anchor.value)


class Hit(BaseModel):
    """One document, best first."""

    docid: str
    file: str
    title: str
    score: float = Field(ge=0, le=1)
    context: str | None
    line: int
    section: str
    snippet: str
    # Not or briefly in the schema, which every session of an agent pays for.
    anchor: Annotated[Anchor | None, WithJsonSchema({"type": "object"})] = None
    pinned: SkipJsonSchema[bool] = False
    also: SkipJsonSchema[list[str]] = []

    @classmethod
    def of(cls, hit: types.Hit) -> Self:
        """Return the result for a hit of the engine. The score has two decimals."""
        # Left out unless set, because every word costs an agent tokens.
        notes: dict[str, Any] = {"pinned": True} if hit.pinned else {}
        notes |= {"also": list(hit.also)} if hit.also else {}
        if hit.anchor is not None:
            notes["anchor"] = Anchor.of(hit.anchor)
        return cls(
            docid=hit.docid,
            file=hit.file,
            title=hit.title,
            score=hit.percent / 100,
            context=hit.context,
            line=hit.line,
            section=hit.section,
            snippet=numbered(hit.snippet.text, hit.snippet.first_line),
            **notes,
        )


class Stage(BaseModel):
    """A step of the search: whether it ran and, if it did not, the reason."""

    stage: str
    status: StageStatus
    reason: str = ""

    @classmethod
    def of(cls, stage: types.Stage) -> Self:
        """Return the result for a stage of the engine."""
        reason = {} if stage.reason is None else {"reason": stage.reason}
        return cls(stage=stage.stage, status=stage.status, **reason)


class SearchResults(BaseModel):
    """The results of a search. `indexed_at` is the time of the index: later changes on disk are not in it."""

    results: Sequence[Hit]
    stages: list[Stage]
    indexed_at: str | None

    @classmethod
    def of(cls, response: types.SearchResponse, indexed_at: str | None) -> Self:
        """Return the results for a response of the engine."""
        return cls(
            results=[Hit.of(hit) for hit in response.hits],
            stages=[Stage.of(stage) for stage in response.stages],
            indexed_at=indexed_at,
        )


class Document(BaseModel):
    """A document, with the fields of an MCP resource.

    `sourceType` is the media type of the file if the text was extracted from a format other than Markdown,
    and `anchor` the place in the file where the first line comes from.
    """

    uri: str
    name: str
    title: str
    mimeType: str  # noqa: N815 - as MCP clients expect it; HTTP has the same name
    text: str
    sourceType: str | None = None  # noqa: N815
    anchor: Anchor | None = None

    @classmethod
    def of(cls, page: Page, *, line_numbers: bool, truncated: str = "") -> Self:
        """Return the document of a page.

        `truncated` is a note for the end of a text that is cut, with `{}` for the number of missing lines.
        """
        text = numbered(page.text.removesuffix("\n"), page.first_line) if line_numbers else page.text
        if page.context:
            text = f"<!-- Context: {page.context} -->\n\n{text}"
        if truncated and page.more:
            text += "\n\n" + truncated.format(page.more)
        extracted = page.source_type not in ("", "text/markdown")
        optional: dict[str, Any] = {"sourceType": page.source_type} if extracted else {}
        optional |= {"anchor": Anchor.of(page.anchor)} if page.anchor is not None else {}
        return cls(
            uri=to_uri(page.document.file),
            name=page.document.file,
            title=page.document.title,
            mimeType=page.media_type,
            text=text,
            **optional,
        )


class ValueCount(BaseModel):
    """A value of a field, and the number of documents that have it."""

    value: str | bool | int | float
    documents: int

    @classmethod
    def of(cls, count: types.ValueCount) -> Self:
        """Return the result for a count of the engine. A number without a fraction is an integer."""
        value = count.value
        whole = isinstance(value, float) and value.is_integer()
        return cls(value=int(value) if whole else value, documents=count.documents)


class FieldState(BaseModel):
    """A field: its types, the numbers of documents and of distinct values, and its most frequent values."""

    name: str
    types: list[str]
    documents: int
    distinct: int
    values: list[ValueCount]

    @classmethod
    def of(cls, field: FieldValues) -> Self:
        """Return the result for a field of the engine."""
        summary = field.summary
        return cls(
            name=summary.name,
            types=list(summary.types),
            documents=summary.documents,
            distinct=summary.values,
            values=[ValueCount.of(count) for count in field.values],
        )


class Link(BaseModel):
    """A link of a document: its target as written, its line, and the document there, if there is one."""

    to: str | None
    target: str
    line: int
    kind: LinkKind


class Backlink(BaseModel):
    """A link to a document: the document with the link, its line, and its target as written."""

    file: str
    target: str
    line: int
    kind: LinkKind


class LinkLists(BaseModel):
    """The links of a document and those to it. The numbers say how many are left out of the lists."""

    links: list[Link]
    links_left_out: int
    backlinks: list[Backlink]
    backlinks_left_out: int

    @classmethod
    def of(
        cls,
        outgoing: Sequence[types.ResolvedLink],
        backlinks: Sequence[types.ResolvedLink],
        limit: int,
    ) -> Self:
        """Return the lists with up to `limit` links each."""
        return cls(
            links=[
                Link(to=each.to, target=each.target, line=each.line, kind=each.kind)
                for each in outgoing[:limit]
            ],
            links_left_out=max(0, len(outgoing) - limit),
            backlinks=[
                Backlink(file=each.file, target=each.target, line=each.line, kind=each.kind)
                for each in backlinks[:limit]
            ],
            backlinks_left_out=max(0, len(backlinks) - limit),
        )


class Collection(BaseModel):
    """A collection and the number of its documents."""

    name: str
    path: str
    pattern: str
    documents: int


class CollectionState(Collection):
    """A collection; `last_updated` is the time of its last scan, ISO 8601 in UTC."""

    last_updated: str | None


class IndexState(BaseModel):
    """The state of the index; `needs_embedding` is the number of texts without vectors.

    `watching` is how changes of files are noticed: `events`, `polling`, or `off` if nothing watches.
    `indexed_at` is the time of the index: later changes on disk are not in it.
    """

    total_documents: int
    needs_embedding: int
    has_vector_index: bool
    watching: Literal["events", "polling", "off"]
    indexed_at: str | None
    collections: list[CollectionState]

    def text(self) -> str:
        """Return the state in lines for a reader."""
        lines = [
            "QMD Index Status:",
            f"  Total documents: {self.total_documents}",
            f"  Needs embedding: {self.needs_embedding}",
            f"  Vector index: {'yes' if self.has_vector_index else 'no'}",
            f"  Collections: {len(self.collections)}",
            *(f"    - {visible(item.path)} ({item.documents} docs)" for item in self.collections),
        ]
        return "\n".join(lines)


class IndexOverview(IndexState):
    """The state of the index, its most frequent fields with their values, and its most frequent tags."""

    # Not in the schema, which every session of an agent pays for.
    indexed_at: SkipJsonSchema[str | None]
    fields: list[str]
    tags: list[str]

    @classmethod
    def of(cls, state: IndexState, fields: Sequence[FieldValues], tags: Sequence[types.ValueCount]) -> Self:
        """Return the overview of an index with these fields and tags, most frequent first."""
        named = [_field_line(field) for field in fields if field.summary.name not in _NOT_LISTED]
        return cls(
            **dict(state),
            fields=_bounded(named, _FIELDS_BYTES),
            tags=_bounded([*map(_counted, tags)], _TAGS_BYTES),
        )

    def text(self) -> str:
        """Return the state in lines for a reader."""
        lines = [
            super().text(),
            f"  Watching: {self.watching}; indexed at {self.indexed_at or 'no time yet'}",
        ]
        if self.fields:
            lines += ["  Top fields:", *(f"    - {line}" for line in self.fields)]
        if self.tags:
            lines.append(f"  Top tags: {', '.join(self.tags)}")
        return "\n".join(lines)


def _field_line(field: FieldValues) -> str:
    """Return a field with the number of its documents and some values: `status 3: draft 2, done 1`."""
    values = ", ".join(map(_counted, field.values))
    name = f"{_short(field.summary.name)} {field.summary.documents}"
    return f"{name}: {values}" if values else name


def _counted(count: types.ValueCount) -> str:
    value = count.value if isinstance(count.value, str) else shown_value(count.value)
    return f"{_short(value)} {count.documents}"


def _short(text: str) -> str:
    text = visible(text)
    start = text.encode()[:_VALUE_BYTES].decode(errors="ignore")
    return text if start == text else f"{start}..."


def _bounded(lines: Sequence[str], size: int) -> list[str]:
    """Return the first lines that have at most `size` bytes together."""
    kept: list[str] = []
    for line in lines:
        size -= len(line.encode()) + 6  # with what stands between lines
        if size < 0:
            break
        kept.append(line)
    return kept


def heading(response: types.SearchResponse) -> str:
    """Return the line above the results of a search."""
    if not response.hits:
        return f'No results found for "{response.query}"'
    return f'Found {plural(len(response.hits), "result", separator="")} for "{response.query}"'


def hit_line(hit: types.Hit) -> str:
    """Return a result of a search in one line, with its section unless that is the title."""
    section = f" ({visible(hit.section)})" if hit.section not in ("", hit.title) else ""
    notes = " [pinned]" if hit.pinned else ""
    notes += f" [also {', '.join(map(visible, hit.also))}]" if hit.also else ""
    place = f":{hit.anchor.address}" if hit.anchor else ""
    return f"{hit.docid} {hit.percent}% {visible(hit.file)}{place} - {visible(hit.title)}{section}{notes}"


def skipped_text(item: Skipped, tool: str) -> str:
    """Return the text in place of a document that was too large; `tool` can read it."""
    file = visible(item.document.file)
    hint = f"Use '{tool}' with file=\"{file}\" to retrieve."
    return f"[SKIPPED: {file} - File too large ({item.kilobytes}KB). {hint}]"


def error_text(error: QmdError) -> str:
    """Return an error in one line, or a missing document with a list of similar paths."""
    if not isinstance(error, DocumentNotFoundError):
        return error.in_one_line()
    if not error.suggestions:
        return error.message
    similar = "".join(f"\n  - {visible(path)}" for path in error.suggestions)
    return f"{error.message}\n\nDid you mean one of these?{similar}"

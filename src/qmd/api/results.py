"""The results of the operations, and the texts that HTTP and MCP have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, Field

from qmd.engine.documents.library import Page, Skipped
from qmd.errors import DocumentNotFoundError, QmdError
from qmd.text.snippet import numbered
from qmd.text.uris import to_uri
from qmd.text.visible import visible
from qmd.text.wording import plural
from qmd.types import StageStatus

if TYPE_CHECKING:
    from qmd import types

MARKDOWN = "text/markdown"


class Hit(BaseModel):
    """One document, best first."""

    docid: str
    file: str
    title: str
    score: float = Field(ge=0, le=1)
    context: str | None
    line: int
    snippet: str

    @classmethod
    def of(cls, hit: types.Hit) -> Self:
        """Return the result for a hit of the engine. The score has two decimals."""
        return cls(
            docid=hit.docid,
            file=hit.file,
            title=hit.title,
            score=hit.percent / 100,
            context=hit.context,
            line=hit.line,
            snippet=numbered(hit.snippet.text, hit.snippet.first_line),
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
    """A document, with the fields of an MCP resource."""

    uri: str
    name: str
    title: str
    mimeType: str  # noqa: N815 - as MCP clients expect it; HTTP has the same name
    text: str

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
        return cls(
            uri=to_uri(page.document.file),
            name=page.document.file,
            title=page.document.title,
            mimeType=MARKDOWN,
            text=text,
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
    """The state of the index; `needs_embedding` is the number of texts without vectors."""

    total_documents: int
    needs_embedding: int
    has_vector_index: bool
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


def heading(response: types.SearchResponse) -> str:
    """Return the line above the results of a search."""
    if not response.hits:
        return f'No results found for "{response.query}"'
    return f'Found {plural(len(response.hits), "result", separator="")} for "{response.query}"'


def hit_line(hit: types.Hit) -> str:
    """Return a result of a search in one line."""
    return f"{hit.docid} {hit.percent}% {visible(hit.file)} - {visible(hit.title)}"


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

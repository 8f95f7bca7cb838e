"""The handlers of the tools: each runs an operation and renders its result for MCP."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from qmd.api import operations
from qmd.api.arguments import (
    GetArguments,
    MultiGetArguments,
    QueryArguments,
    SearchArguments,
    StatusArguments,
)
from qmd.api.results import Document, SearchResults, heading, hit_line, skipped_text
from qmd.engine.documents.library import Pages, Skipped
from qmd.engine.index import Index
from qmd.mcp.tool import Result, text
from qmd.models.base import Cancelled
from qmd.text.visible import visible

#: At most this many of the documents that are left out are named.
_MAX_NAMED = 100


def search(index: Index, arguments: SearchArguments, cancelled: Cancelled) -> Result:
    return _search(index, "search", arguments, cancelled)


def vsearch(index: Index, arguments: SearchArguments, cancelled: Cancelled) -> Result:
    return _search(index, "vsearch", arguments, cancelled)


def query(index: Index, arguments: QueryArguments, cancelled: Cancelled) -> Result:
    return _search(index, "query", arguments, cancelled)


def get(index: Index, arguments: GetArguments, cancelled: Cancelled) -> Result:
    return {"content": [_embedded(operations.get(index, arguments))]}


def multi_get(index: Index, arguments: MultiGetArguments, cancelled: Cancelled) -> Result:
    """Return a text with the errors, the documents in order, and a text with the documents left out."""
    pages = operations.multi_get(index, arguments, cancelled, max_total=arguments.max_bytes)
    too_large = [
        f"File too large: {visible(item.document.file)} (skipped)"
        for item in pages.items
        if isinstance(item, Skipped)
    ]
    errors = [*map(visible, pages.errors), *too_large]
    content = [text("Errors:\n" + "\n".join(errors))] if errors else []
    for item in pages.items:
        if isinstance(item, Skipped):
            content.append(text(skipped_text(item, "qmd_get")))
        else:
            document = Document.of(
                item, line_numbers=arguments.line_numbers, truncated="[... truncated {} more lines]"
            )
            content.append(_embedded(document))
    if pages.left_out:
        content.append(text(_left_out(pages)))
    return {"content": content}


def status(index: Index, arguments: StatusArguments, cancelled: Cancelled) -> Result:
    state = operations.status(index)
    return {"content": [text(state.text())], "structuredContent": structured(state)}


def structured(value: BaseModel) -> dict[str, Any]:
    """Return a value as structured content, with names in camelCase and without unset fields."""
    content: dict[str, Any] = _camel_case(value.model_dump(exclude_unset=True))
    return content


def _camel_case(value: Any) -> Any:
    match value:
        case dict():
            return {to_camel(name): _camel_case(item) for name, item in value.items()}
        case list():
            return [_camel_case(item) for item in value]
    return value


def _search(
    index: Index,
    kind: operations.SearchKind,
    arguments: SearchArguments | QueryArguments,
    cancelled: Cancelled,
) -> Result:
    response, indexed_at = operations.search(index, kind, arguments, cancelled)
    summary = heading(response)
    if response.hits:
        summary += ":\n\n" + "\n".join(map(hit_line, response.hits))
    return {
        "content": [text(summary)],
        "structuredContent": structured(SearchResults.of(response, indexed_at)),
    }


def _embedded(document: Document) -> dict[str, Any]:
    return {"type": "resource", "resource": document.model_dump()}


def _left_out(pages: Pages) -> str:
    """Return a text that names the documents left out because the answer would be too large."""
    names = [document.file for document in pages.left_out[:_MAX_NAMED]]
    more = len(pages.left_out) - len(names)
    listed = "\n".join([*names, *([f"and {more:,} more"] if more else [])])
    return (
        f"[LEFT OUT: the answer would be larger than maxBytes. Use 'qmd_get', or raise maxBytes.]\n{listed}"
    )

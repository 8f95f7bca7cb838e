"""The tools as agents see them, and their handlers, which render the results of operations for MCP."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, json, to_builtins

from qmd.api import operations
from qmd.api.arguments import MultiGetBody, Nothing, SearchArguments
from qmd.api.results import Document, LinkLists, SearchResults, heading, hit_line, skipped_text
from qmd.api.table import TABLE, GetArguments, Operation
from qmd.engine.documents.library import Pages, Skipped
from qmd.engine.index import Index
from qmd.engine.requests import SearchKind
from qmd.mcp.tool import Handler, Result, Tool, by_name, camel, text
from qmd.models.base import Cancelled
from qmd.text.wording import visible

#: At most this many of the documents that are left out are named.
_MAX_NAMED = 100
#: At most this many links of a document, and links to it, are listed.
_MAX_LINKS = 20


def _search(kind: SearchKind) -> Handler[Index]:
    def run(index: Index, arguments: SearchArguments, cancelled: Cancelled) -> Result:
        request = arguments.request()
        response, indexed_at = operations.run(index, kind, request, cancelled)
        summary = heading(response)
        if response.hits:
            summary += ":\n\n" + "\n".join(map(hit_line, response.hits))
        results = SearchResults.of(response, request, indexed_at)
        return {"content": [text(summary)], "structuredContent": structured(results)}

    return run


def _get(index: Index, arguments: GetArguments, cancelled: Cancelled) -> Result:
    """Return the document, and its links if the call asks for them."""
    answer = operations.get(index, arguments, cancelled)
    result = {"content": [_embedded(answer.document)], "_meta": {"indexedAt": answer.indexed_at}}
    if arguments.links:
        links = LinkLists.of(*index.link_lists(answer.document.name), _MAX_LINKS)
        result["structuredContent"] = structured(links)
    return result


def _multi_get(index: Index, arguments: MultiGetBody, cancelled: Cancelled) -> Result:
    """Return a text with the errors, the documents in order, and a text with the documents left out."""
    indexed_at = index.indexed_at()
    pages = operations.read_several(index, arguments, cancelled, max_total=arguments.max_bytes)
    too_large = [
        f"File too large: {visible(item.document.file)} (skipped)"
        for item in pages.items
        if isinstance(item, Skipped)
    ]
    errors = [*map(visible, pages.errors), *too_large]
    content = [text("Errors:\n" + "\n".join(errors))] if errors else []
    for item in pages.items:
        if isinstance(item, Skipped):
            content.append(text(skipped_text(item, "get")))
        else:
            document = Document.of(
                item, line_numbers=arguments.line_numbers, truncated="[... truncated {} more lines]"
            )
            content.append(_embedded(document))
    if pages.left_out:
        content.append(text(_left_out(pages)))
    return {"content": content, "_meta": {"indexedAt": indexed_at}}


def _status(index: Index, arguments: Nothing, cancelled: Cancelled) -> Result:
    state = operations.overview(index)
    return {"content": [text(state.text())], "structuredContent": structured(state)}


def structured(value: Struct) -> dict[str, Any]:
    """Return a value as structured content: names in camelCase, without the text beside it."""
    content: dict[str, Any] = _camel_case(to_builtins(value))
    content.pop("content", None)
    return content


def _camel_case(value: Any) -> Any:
    match value:
        case dict():
            return {camel(name): _camel_case(item) for name, item in value.items()}
        case list() | tuple():
            return [_camel_case(item) for item in value]
    return value


def _embedded(document: Document) -> dict[str, Any]:
    return {"type": "resource", "resource": to_builtins(document)}


def _left_out(pages: Pages) -> str:
    """Return a text that names the documents left out because the answer would be too large."""
    names = [document.file for document in pages.left_out[:_MAX_NAMED]]
    more = len(pages.left_out) - len(names)
    listed = "\n".join([*names, *([f"and {more:,} more"] if more else [])])
    return f"[LEFT OUT: the answer would be larger than maxBytes. Use 'get', or raise maxBytes.]\n{listed}"


_HANDLERS: dict[str, Handler[Index]] = {
    "search": _search("search"),
    "vsearch": _search("vsearch"),
    "query": _search("query"),
    "get": _get,
    "multi_get": _multi_get,
    "status": _status,
}


def _run(operation: Operation) -> Handler[Index]:
    """Return the handler of an operation; without one of its own, it answers with the result as JSON."""

    def run(index: Index, arguments: Any, cancelled: Cancelled) -> Result:
        result = operation.run(index, arguments, cancelled)
        return {"content": [text(json.encode(result).decode())], "structuredContent": structured(result)}

    return _HANDLERS.get(operation.name, run)


TOOLS: dict[str, Tool[Index]] = by_name(
    *(Tool(row.name, row.tool, _run(row), row.models, row.slow) for row in TABLE if row.tool is not None)
)

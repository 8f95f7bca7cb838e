"""The tools as agents see them, and their handlers, which render the results of operations for MCP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, json, to_builtins

from qmd.api import operations
from qmd.api.arguments import MultiGetBody, Nothing, SearchArguments
from qmd.api.operation import Operation
from qmd.api.reading import camel
from qmd.api.results import Document, SearchResults
from qmd.api.table import TABLE, GetArguments
from qmd.api.texts import READ_LINES, heading, hit_line, notes, passage, skipped_text
from qmd.engine.documents.fitting import Limit, fit_page, fit_pages, fit_response, most_bytes
from qmd.engine.documents.pages import Page, Pages, Skipped
from qmd.engine.index import Index
from qmd.mcp.clients import Client
from qmd.mcp.tool import ADDITIONS, Handler, Result, Tool, by_name, text
from qmd.models.base import Cancelled
from qmd.search_options import SearchKind
from qmd.text.wording import visible
from qmd.types import Hit, SearchResponse

#: At most this many of the documents that are left out are named.
_MAX_NAMED = 100
#: At most this many links of a document, and links to it, are listed.
_MAX_LINKS = 20
#: The argument for the most tokens of an answer.
_OPTION = "maxTokens"


class Reader(Struct, frozen=True):
    """The index as a client may see it, the client, and its session unless calls name it."""

    index: Index
    client: Client
    session: str | None = None


def _search(kind: SearchKind) -> Handler[Reader]:
    """Return a handler that gives the passages as text and in the structured content.

    Each is complete, because most clients show an agent one of the two.
    """

    def run(reader: Reader, arguments: SearchArguments, cancelled: Cancelled) -> Result:
        request = arguments.request()
        response, indexed_at = operations.run(reader.index, kind, request, cancelled)

        def made(response: SearchResponse) -> Result:
            summary = heading(response)
            if response.hits:
                summary += ":\n\n" + "\n".join(map(hit_line, response.hits))
            told = "\n".join(notes(response.stages))
            more = [_passages(response.hits) if response.hits else "", told, response.note]
            results = SearchResults.of(response, request, indexed_at)
            content = [text(each) for each in (summary, *more) if each]
            return {"content": content, "structuredContent": structured(results)}

        return fit_response(response, Limit(request.tokens, _OPTION), made, reader.client.seen)

    return run


def _passages(hits: Sequence[Hit]) -> str:
    """Return the passage of each hit below the reference to read on."""
    return "\n\n".join([f"To read on, give get an address ({READ_LINES} lines):", *map(passage, hits)])


def _get(reader: Reader, arguments: GetArguments, cancelled: Cancelled) -> Result:
    """Return the document, and its links if the call asks for them.

    There is no structured content, because some clients show it in place of the document.
    """
    index = reader.index
    indexed_at = index.indexed_at()
    page = index.get(arguments.file, from_line=arguments.from_line, max_lines=arguments.max_lines)
    links = _links(index, page) if arguments.links else []

    def made(page: Page) -> Result:
        document = Document.of(page, line_numbers=arguments.line_numbers)
        more = [page.note] * bool(page.note) + links
        return {"content": [_embedded(document), *map(text, more)], "_meta": {"indexedAt": indexed_at}}

    return fit_page(page, Limit(arguments.tokens, _OPTION), made, reader.client.seen)


def _links(index: Index, page: Page) -> list[str]:
    """Return a text with the links of a document and a text with those to it, if there are any."""
    outgoing, backlinks = index.link_lists(page.document.file)
    lists = {
        "Links:": [
            f"line {link.line}: {visible(link.target)} -> {visible(link.to or 'nothing')}"
            for link in outgoing
        ],
        "Backlinks:": [f"{visible(link.file)}:{link.line}: {visible(link.target)}" for link in backlinks],
    }
    return ["\n".join([name, *_first(lines, _MAX_LINKS)]) for name, lines in lists.items() if lines]


def _first(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines, and one that counts the others."""
    more = len(lines) - most
    return [*lines[:most], *([f"and {more:,} more"] if more > 0 else [])]


def _multi_get(reader: Reader, arguments: MultiGetBody, cancelled: Cancelled) -> Result:
    """Return a text with the errors, the documents in order, and a text with the documents left out."""
    indexed_at = reader.index.indexed_at()
    most = arguments.max_bytes if arguments.tokens is None else most_bytes(arguments.tokens)
    pages = operations.read_several(reader.index, arguments, cancelled, max_total=most)
    several = len(pages.items) + len(pages.left_out) > 1

    def made(pages: Pages) -> Result:
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
                    item,
                    line_numbers=arguments.line_numbers,
                    truncated="[... truncated {} more lines]",
                    named=several,
                )
                content.append(_embedded(document))
        if pages.note or pages.left_out:
            content.append(text(pages.note or _left_out(pages)))
        return {"content": content, "_meta": {"indexedAt": indexed_at}}

    return fit_pages(pages, Limit(arguments.tokens, _OPTION), made, reader.client.seen)


def _status(reader: Reader, arguments: Nothing, cancelled: Cancelled) -> Result:
    state, dates = operations.overview(reader.index)
    return {"content": [text(state.lines(dates))], "structuredContent": structured(state)}


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
    listed = "\n".join(_first([document.file for document in pages.left_out], _MAX_NAMED))
    return f"[LEFT OUT: the answer would be larger than maxBytes. Use 'get', or raise maxBytes.]\n{listed}"


_HANDLERS: dict[str, Handler[Reader]] = {
    "search": _search("search"),
    "vsearch": _search("vsearch"),
    "query": _search("query"),
    "get": _get,
    "multi_get": _multi_get,
    "status": _status,
}


def _run(operation: Operation) -> Handler[Reader]:
    """Return the handler of an operation; without one of its own, it answers with the result as JSON."""

    def run(reader: Reader, arguments: Any, cancelled: Cancelled) -> Result:
        result = operation.run(reader.index, arguments, cancelled)
        return {"content": [text(json.encode(result).decode())], "structuredContent": structured(result)}

    return _HANDLERS.get(operation.name, run)


TOOLS: dict[str, Tool[Reader]] = by_name(
    *(Tool(row.name, row.tool, _run(row), row.models, row.slow) for row in TABLE if row.tool is not None)
)
for _addition in ADDITIONS.parts():
    TOOLS[_addition.tool] = _addition.to(TOOLS[_addition.tool])

"""What the tools answer: texts and structured content, to the letter (M12, M13, M23, M31, M40)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.engine.documents.library import Page, Pages, Skipped
from qmd.errors import DocumentNotFoundError, QmdError
from qmd.text.snippet import numbered
from qmd.text.uris import to_uri
from qmd.text.visible import visible

if TYPE_CHECKING:
    from qmd.engine.upkeep.status import Status
    from qmd.types import Hit, SearchResponse, Stage

#: A `CallToolResult` as it goes on the wire.
Result = dict[str, Any]

MARKDOWN = "text/markdown"
#: Of documents that are left out, so many are named.
_NAMED = 100


def failure(message: str) -> Result:
    """An error that the agent can read and act on."""
    return {"content": [text(message)], "isError": True}


def error_text(error: QmdError) -> str:
    """An error in one line; a document that was not found has similar ones below (M25)."""
    if not isinstance(error, DocumentNotFoundError):
        return error.in_one_line()
    if not error.suggestions:
        return error.message
    similar = "".join(f"\n  - {visible(path)}" for path in error.suggestions)
    return f"{error.message}\n\nDid you mean one of these?{similar}"


def found(response: SearchResponse, indexed_at: str | None) -> Result:
    """Hits: a line each, and in full as structured content."""
    return {
        "content": [text(summary(response))],
        "structuredContent": {
            "results": [hit(each) for each in response.hits],
            "stages": [stage(each) for each in response.stages],
            "indexedAt": indexed_at,
        },
    }


def summary(response: SearchResponse) -> str:
    """`Found 2 results for "q":`, a blank line, and a line a result."""
    if not response.hits:
        return heading(response)
    return f"{heading(response)}:\n\n" + "\n".join(line(hit) for hit in response.hits)


def heading(response: SearchResponse) -> str:
    """How many results there are."""
    count = len(response.hits)
    if not count:
        return f'No results found for "{response.query}"'
    return f'Found {count} result{"" if count == 1 else "s"} for "{response.query}"'


def line(found: Hit) -> str:
    """One result in a line."""
    return f"{found.docid} {found.percent}% {visible(found.file)} - {visible(found.title)}"


def hit(found: Hit) -> dict[str, Any]:
    """One result (M12)."""
    return {
        "docid": found.docid,
        "file": found.file,
        "title": found.title,
        "score": found.percent / 100,
        "context": found.context,
        "line": found.line,
        "snippet": numbered(found.snippet.text, found.snippet.first_line),
    }


def stage(ended: Stage) -> dict[str, str]:
    """What became of a step (M8)."""
    told = {"stage": ended.stage, "status": ended.status}
    return told if ended.reason is None else told | {"reason": ended.reason}


def document(page: Page, *, line_numbers: bool) -> Result:
    """One document."""
    return {"content": [_embedded(page, page_text(page, line_numbers=line_numbers))]}


def documents(pages: Pages, *, line_numbers: bool) -> Result:
    """Many documents: first what could not be had, then each in order, those too large in name only."""
    too_large = [
        f"File too large: {visible(item.document.file)} (skipped)"
        for item in pages.items
        if isinstance(item, Skipped)
    ]
    errors = [*map(visible, pages.errors), *too_large]
    content = [text("Errors:\n" + "\n".join(errors))] if errors else []
    for item in pages.items:
        if isinstance(item, Skipped):
            content.append(text(skipped(item, "qmd_get")))
        else:
            shown = page_text(item, line_numbers=line_numbers)
            cut = f"\n\n[... truncated {item.more} more lines]" if item.more else ""
            content.append(_embedded(item, shown + cut))
    if pages.left_out:
        content.append(text(_left_out(pages)))
    return {"content": content}


def _left_out(pages: Pages) -> str:
    """The names of the documents that did not fit; of very many, the first."""
    names = [document.file for document in pages.left_out[:_NAMED]]
    more = len(pages.left_out) - len(names)
    listed = "\n".join([*names, *([f"and {more:,} more"] if more else [])])
    return (
        f"[LEFT OUT: the answer would be larger than maxBytes. Use 'qmd_get', or raise maxBytes.]\n{listed}"
    )


def page_text(page: Page, *, line_numbers: bool) -> str:
    """A document's text below what is known of its folder."""
    shown = numbered(page.text.removesuffix("\n"), page.first_line) if line_numbers else page.text
    return f"<!-- Context: {page.context} -->\n\n{shown}" if page.context else shown


def resource(page: Page, shown: str) -> dict[str, Any]:
    """A document as an MCP resource."""
    document = page.document
    return {
        "uri": to_uri(document.file),
        "name": document.file,
        "title": document.title,
        "mimeType": MARKDOWN,
        "text": shown,
    }


def status(found: Status) -> Result:
    """What there is."""
    return {
        "content": [text(status_text(found))],
        "structuredContent": {
            "totalDocuments": found.total_documents,
            "needsEmbedding": found.needs_embedding,
            "hasVectorIndex": found.has_vector_index,
            "collections": [
                {
                    "name": each.name,
                    "path": each.path,
                    "pattern": each.pattern,
                    "documents": each.documents,
                    "lastUpdated": each.last_updated,
                }
                for each in found.collections
            ],
        },
    }


def status_text(found: Status) -> str:
    """What there is, in lines (M40)."""
    lines = [
        "QMD Index Status:",
        f"  Total documents: {found.total_documents}",
        f"  Needs embedding: {found.needs_embedding}",
        f"  Vector index: {'yes' if found.has_vector_index else 'no'}",
        f"  Collections: {len(found.collections)}",
        *(f"    - {visible(each.path)} ({each.documents} docs)" for each in found.collections),
    ]
    return "\n".join(lines)


def text(content: str) -> dict[str, Any]:
    """Text content."""
    return {"type": "text", "text": content}


def as_text(result: Result) -> Result:
    """A result with documents as text, for clients that show nothing else (M23a)."""
    content = [
        text(each["resource"]["text"]) if each["type"] == "resource" else each for each in result["content"]
    ]
    return result | {"content": content}


def _embedded(page: Page, shown: str) -> dict[str, Any]:
    return {"type": "resource", "resource": resource(page, shown)}


def skipped(item: Skipped, tool: str) -> str:
    """What stands in the place of a document that was not read; `tool` would."""
    file = visible(item.document.file)
    how = f"Use '{tool}' with file=\"{file}\" to retrieve."
    return f"[SKIPPED: {file} - File too large ({item.kilobytes}KB). {how}]"

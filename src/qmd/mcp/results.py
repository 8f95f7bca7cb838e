"""What the tools answer: texts and structured content, to the letter (M12, M13, M23, M31, M40)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.engine.documents import Page, Pages, Skipped
from qmd.errors import DocumentNotFoundError, QmdError
from qmd.text.snippet import numbered
from qmd.text.uris import to_uri

if TYPE_CHECKING:
    from qmd.engine.status import Status
    from qmd.types import Hit, SearchResponse

#: A `CallToolResult` as it goes on the wire.
Result = dict[str, Any]

MARKDOWN = "text/markdown"


def failure(message: str) -> Result:
    """An error that the agent can read and act on."""
    return {"content": [text(message)], "isError": True}


def error_text(error: QmdError) -> str:
    """An error in one line; a document that was not found has similar ones below (M25)."""
    if not isinstance(error, DocumentNotFoundError):
        return error.in_one_line()
    if not error.suggestions:
        return error.message
    similar = "".join(f"\n  - {path}" for path in error.suggestions)
    return f"{error.message}\n\nDid you mean one of these?{similar}"


def found(response: SearchResponse, indexed_at: str | None) -> Result:
    """Hits: a line each, and in full as structured content."""
    return {
        "content": [text(summary(response))],
        "structuredContent": {
            "results": [_hit(hit) for hit in response.hits],
            "stages": [
                {"stage": each.stage, "status": each.status}
                | ({} if each.reason is None else {"reason": each.reason})
                for each in response.stages
            ],
            "indexedAt": indexed_at,
        },
    }


def summary(response: SearchResponse) -> str:
    """`Found 2 results for "q":`, a blank line, and a line a result."""
    hits = response.hits
    if not hits:
        return f'No results found for "{response.query}"'
    lines = [f"{hit.docid} {hit.percent}% {hit.file} - {hit.title}" for hit in hits]
    return f'Found {len(hits)} result{"" if len(hits) == 1 else "s"} for "{response.query}":\n\n' + "\n".join(
        lines
    )


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "docid": hit.docid,
        "file": hit.file,
        "title": hit.title,
        "score": hit.percent / 100,
        "context": hit.context,
        "line": hit.line,
        "snippet": numbered(hit.snippet.text, hit.snippet.first_line),
    }


def document(page: Page, *, line_numbers: bool) -> Result:
    """One document."""
    return {"content": [_embedded(page, page_text(page, line_numbers=line_numbers))]}


def documents(pages: Pages, *, line_numbers: bool) -> Result:
    """Many documents: first what could not be had, then each in order, those too large in name only."""
    too_large = [
        f"File too large: {item.document.file} (skipped)" for item in pages.items if isinstance(item, Skipped)
    ]
    errors = [*pages.errors, *too_large]
    content = [text("Errors:\n" + "\n".join(errors))] if errors else []
    for item in pages.items:
        if isinstance(item, Skipped):
            content.append(text(_skipped(item)))
        else:
            shown = page_text(item, line_numbers=line_numbers)
            cut = f"\n\n[... truncated {item.more} more lines]" if item.more else ""
            content.append(_embedded(item, shown + cut))
    return {"content": content}


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
    lines = [
        "QMD Index Status:",
        f"  Total documents: {found.total_documents}",
        f"  Needs embedding: {found.needs_embedding}",
        f"  Vector index: {'yes' if found.has_vector_index else 'no'}",
        f"  Collections: {len(found.collections)}",
        *(f"    - {each.path} ({each.documents} docs)" for each in found.collections),
    ]
    return {
        "content": [text("\n".join(lines))],
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


def _skipped(item: Skipped) -> str:
    file = item.document.file
    how = f"Use 'qmd_get' with file=\"{file}\" to retrieve."
    return f"[SKIPPED: {file} - File too large ({item.kilobytes}KB). {how}]"

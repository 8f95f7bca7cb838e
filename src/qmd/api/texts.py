"""The texts of answers over HTTP and MCP, which people and agents read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from qmd import types
from qmd.engine.documents.pages import Skipped
from qmd.errors import DocumentNotFoundError, QmdError
from qmd.text.snippet import numbered
from qmd.text.wording import escaped, inert, plural, visible
from qmd.types.notes import shown

#: The lines that an agent should ask for to read around a hit.
READ_LINES = 20


def heading(response: types.SearchResponse) -> str:
    """Return the line above the results of a search."""
    if not response.found:
        return f'No results found for "{response.query}"'
    return f'Found {plural(response.found, "result", separator="")} for "{response.query}"'


def hit_line(hit: types.Hit) -> str:
    """Return a result of a search in one line, with its section unless that is the title."""
    section = f" ({visible(hit.section)})" if hit.section not in ("", hit.title) else ""
    notes = "".join(f" [{visible(note.said)}]" for note in shown(hit.notes, "list"))
    place = f":{hit.anchor.address}" if hit.anchor else ""
    return f"{hit.docid} {hit.percent}% {visible(hit.file)}{place} - {visible(hit.title)}{section}{notes}"


def address(hit: types.Hit) -> str:
    """Return the reference of a hit's passage and of the text after it, for `get`: `notes/a.md:12:20`."""
    return f"{hit.file}:{hit.snippet.first_line}:{READ_LINES}"


def passage(hit: types.Hit) -> str:
    """Return the address of a hit and its context in a line, and below it the passage with line numbers."""
    context = f" - {visible(hit.context)}" if hit.context else ""
    snippet = hit.snippet
    return f"{visible(address(hit))}{context}\n{escaped(numbered(snippet.text, snippet.first_line))}"


def notes(stages: Iterable[types.Stage]) -> Iterator[str]:
    """Yield a line for each step of a search that the reader should know of, such as one that did not run."""
    for stage in stages:
        if stage.notable:
            yield f"Note: {stage.stage}: {inert(visible(stage.reason or stage.status))}"


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

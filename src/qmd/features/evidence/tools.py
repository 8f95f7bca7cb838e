"""Packs and quotations as answers of the tools `query` and `get`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, to_builtins
from msgspec.structs import replace

from qmd.api.results import Document, stages_of
from qmd.errors import TokensError
from qmd.features.evidence import markdown
from qmd.features.evidence.operations import OF_PACKS, pack_request
from qmd.features.evidence.types import CitationCheck, Pack, PackedPassage
from qmd.mcp.tool import Addition, Result, text
from qmd.models.base import Cancelled

if TYPE_CHECKING:
    from qmd.mcp.tools import Reader


def _packed(reader: Reader, arguments: Any, cancelled: Cancelled) -> Result:
    """Return the pack that the arguments ask for, within their tokens as the client shows it."""
    index, client = reader.index, reader.client
    indexed_at = index.indexed_at()
    request = pack_request(arguments)
    if request.session is None:
        request = replace(request, session=reader.session)
    try:
        made = index.run_pack(
            request, render=lambda pack: client.seen(_result(pack, indexed_at)), cancelled=cancelled
        )
    except TokensError as error:
        told = error.message.replace("tokens", "maxTokens", 1)
        raise TokensError(told, error.hint, least=error.least) from error
    return _result(made, indexed_at)


def _result(pack: Pack, indexed_at: str | None) -> Result:
    """Return the passages as structured content and as text, because most clients show one of the two."""
    remarks = [*markdown.remarks(pack, "maxTokens")]
    content = {
        "results": [*map(_passage, pack.passages)],
        "stages": to_builtins(stages_of(pack.stages)),
        "indexedAt": indexed_at,
        **({"note": "\n".join(remarks)} if remarks else {}),
    }
    shown = "\n".join([*map(markdown.passage, pack.passages), *remarks])
    return {"content": [text(shown or "No passages found.")], "structuredContent": content}


def _passage(passage: PackedPassage) -> dict[str, Any]:
    named = {"address": passage.address, "file": passage.file, "line": passage.first_line}
    if passage.again:
        return {**named, "snippet": markdown.again(passage)}
    also = {"also": passage.also} if passage.also else {}
    date: dict[str, Any] = {"date": passage.date} if passage.date else {}
    date |= {note.key: to_builtins(note) for note in passage.notes if not note.apart}
    score = round(passage.score, 2)
    return {**named, "section": passage.section, **date, "score": score, **also, "snippet": passage.text}


def _quoted(reader: Reader, arguments: Any, cancelled: Cancelled) -> Result:
    """Return if a quotation stands in a document, its place, and the lines there."""
    index = reader.index
    indexed_at = index.indexed_at()
    first, count = arguments.from_line, arguments.max_lines
    lines = "" if first is None else f":{first}" if count is None else f":{first}:{count}"
    check = index.quote_check(arguments.file + lines, arguments.quote)
    content = [text(_quotation_text(check))]
    if check.file is not None and check.first_line is not None and check.last_line is not None:
        page = index.get(f"{check.file}:{check.first_line}-{check.last_line}")
        document = Document.of(page, line_numbers=arguments.line_numbers)
        content.append({"type": "resource", "resource": to_builtins(document)})
    return {"content": content, "_meta": {"indexedAt": indexed_at}}


def _quotation_text(check: CitationCheck) -> str:
    """Return in a line if a quotation stands in a document, and its place."""
    place = check.address if check.standing == "holds" else ""
    details = check.difference or ", ".join(check.candidates) or place
    return f"{check.message}: {details}" if details else check.message


PACK = Addition(
    "query",
    {
        "pack": (Annotated[bool, Meta(description="Whole passages within maxTokens, not results.")], False),
        "again": OF_PACKS["again"],
        "session": OF_PACKS["session"],
    },
    _packed,
    unlisted=("session",),  # over stdio the process is the session
)
QUOTE = Addition(
    "get",
    {"quote": (Annotated[str, Meta(description="Words: does it say them, and where?")] | None, None)},
    _quoted,
    before="links",
)

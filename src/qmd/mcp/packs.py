"""Packs as answers of the tool `query`."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from qmd.api.arguments import PackArguments
from qmd.api.results import stages_of
from qmd.engine.index import Index
from qmd.engine.packing import markdown
from qmd.mcp.clients import Client
from qmd.mcp.tool import Result, text
from qmd.models.base import Cancelled
from qmd.types import Pack, PackedPassage


def answer(index: Index, client: Client, arguments: PackArguments, cancelled: Cancelled) -> Result:
    """Return the pack that the arguments ask for, within their tokens as the client shows it."""
    indexed_at = index.indexed_at()
    made = index.run_pack(
        arguments.pack_request(),
        render=lambda pack: client.seen(_result(pack, indexed_at)),
        cancelled=cancelled,
    )
    return _result(made, indexed_at)


def _result(pack: Pack, indexed_at: str | None) -> Result:
    """Return the passages as structured content and as text, because most clients show one of the two."""
    remarks = [*markdown.remarks(pack)]
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

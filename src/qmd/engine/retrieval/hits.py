"""From ranked documents to what a user sees: texts, contexts, snippets, lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qmd.config.contexts import context_for
from qmd.store.base import Store
from qmd.text.highlight import Highlighter
from qmd.text.snippet import snippet
from qmd.types import Chunk, Config, Hit


@dataclass(frozen=True, slots=True)
class Found:
    """A document to be shown: its score, the chunk that matched where one is known, and its explanation."""

    document: int
    score: float
    chunk: Chunk | None = None
    explain: Mapping[str, Any] | None = None


def cut(found: Sequence[Found], limit: int | None, min_score: float) -> list[Found]:
    """The first `limit` of those that score at least `min_score`."""
    kept = [item for item in found if item.score >= min_score] if min_score > 0 else list(found)
    return kept if limit is None else kept[:limit]


def hits(
    store: Store, config: Config, marker: Highlighter, found: Sequence[Found], *, full: bool
) -> tuple[Hit, ...]:
    """Fill in documents. One that went away since it was found is left out."""
    ids = [item.document for item in found]
    documents, texts = store.documents(ids), store.texts(ids)
    shown: list[Hit] = []
    for item in found:
        document, text = documents.get(item.document), texts.get(item.document)
        if document is None or text is None:
            continue
        passage = snippet(text, marker, within=_passage(text, item.chunk))
        shown.append(
            Hit(
                docid=document.docid,
                file=document.file,
                collection=document.collection,
                path=document.path,
                title=document.title,
                score=item.score,
                context=context_for(config, document.collection, document.path),
                line=passage.line,
                snippet=passage,
                hash=document.hash,
                body=text if full else None,
                explain=item.explain,
            )
        )
    return tuple(shown)


def _passage(text: str, chunk: Chunk | None) -> tuple[int, int] | None:
    """Where to look for the snippet: the chunk that matched by vector; without one, everywhere."""
    return None if chunk is None else (min(chunk.start, len(text)), min(chunk.end, len(text)))

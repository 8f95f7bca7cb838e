"""Turn ranked documents into hits with texts, contexts and snippets."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.config.contexts import context_for
from qmd.engine.requests import SearchRequest
from qmd.store.base import Store
from qmd.text.highlight import Highlighter
from qmd.text.outline import section_path
from qmd.text.snippet import snippet
from qmd.types import Config, Hit, Ranked


def make_hits(
    store: Store, config: Config, highlighter: Highlighter, ranked: Sequence[Ranked], request: SearchRequest
) -> tuple[Hit, ...]:
    """Return the hits of ranked documents in order, without documents that were removed meanwhile."""
    ids = [item.document for item in ranked]
    documents, texts = store.documents.by_id(ids), store.documents.texts(ids)
    hits: list[Hit] = []
    for item in ranked:
        document, text = documents.get(item.document), texts.get(item.document)
        if document is None or text is None:
            continue
        chunk = item.chunk
        span = None if chunk is None else (min(chunk.start, len(text)), min(chunk.end, len(text)))
        passage = snippet(text, highlighter, within=span)
        hits.append(
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
                section=section_path(text, passage.line),
                body=text if request.full else None,
                explain=item.explain if request.explain else None,
                pinned=item.pinned,
                also=item.also,
            )
        )
    return tuple(hits)

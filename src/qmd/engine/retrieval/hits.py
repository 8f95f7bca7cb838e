"""Turn ranked documents into hits with texts, contexts and snippets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from qmd.config.contexts import context_for
from qmd.engine.documents.notes import broken_kinds, notes_of
from qmd.engine.retrieval.passages import choose_passages
from qmd.engine.retrieval.search import Search
from qmd.store.values import LEFT_OUT
from qmd.text.anchors import anchor_at
from qmd.text.highlight import Highlighter
from qmd.text.layout import Placed
from qmd.types import Hit, Ranked, Snippet
from qmd.types.notes import Copies, Note, Pin, Source


def make_hits(
    search: Search, highlighter: Highlighter, ranked: Sequence[Ranked], source: str = ""
) -> tuple[Hit, ...]:
    """Return the hits of ranked documents in order, without documents that were removed meanwhile.

    `source` is the text of the document that they are similar to.
    """
    store, request = search.store, search.request
    ids = [item.document for item in ranked]
    documents, texts = store.documents.by_id(ids), store.documents.texts(ids)
    placed = store.documents.placed(ids, highlighter.placeable)
    anchors = store.fields.anchors(ids)
    notes = notes_of(store, search.config, [*documents.values()])
    for error in broken_kinds():
        search.skip("notes", error.in_one_line())
    hits: list[Hit] = []
    for item in ranked:
        document, text = documents.get(item.document), texts.get(item.document)
        if document is None or text is None:
            continue
        passages = _passages(search, highlighter, item, text, placed.get(item.document))
        best = passages[0]
        if request.in_order:
            passages = tuple(sorted(passages, key=lambda passage: passage.first_line))
        hits.append(
            Hit(
                docid=document.docid,
                file=document.file,
                collection=document.collection,
                path=document.path,
                title=document.title,
                score=item.score,
                context=context_for(search.config, document.collection, document.path),
                line=best.line,
                snippet=best,
                hash=document.hash,
                section=best.section,
                passages=passages,
                anchor=anchor_at(anchors.get(document.id, ()), best.line),
                date=document.date,
                body=(text or best.text) if request.full else None,
                fences=_fences(placed.get(item.document), text) if request.full else (),
                traces=item.traces if request.explain else (),
                notes=(*notes[document.id], *_notes(search, highlighter, item, source)),
            )
        )
    return tuple(hits)


def _fences(placed: Placed | None, text: str) -> tuple[tuple[int, int], ...]:
    known = placed is not None and placed.structure.fits(text)
    return tuple(placed.structure.verbatim_spans()) if placed is not None and known else ()


def _notes(search: Search, highlighter: Highlighter, item: Ranked, source: str) -> Iterator[Note]:
    """Yield what the search has to say of a document."""
    if item.pinned:
        yield Pin()
    if item.also:
        yield Copies(item.also)
    if item.near is not None:
        yield Source(_passages(search, highlighter, replace(item, chunk=item.near), source)[0])


def _passages(
    search: Search, highlighter: Highlighter, item: Ranked, text: str, placed: Placed | None = None
) -> tuple[Snippet, ...]:
    """Return the best passages of a text; without a text, the line of the best chunk."""
    if not text:
        line = item.chunk.first_line if item.chunk is not None else 1
        return (Snippet(f"({LEFT_OUT})", line, line),)
    lines = search.request.context_lines
    count = search.request.passages
    return choose_passages(text, highlighter, item, count, context_lines=lines, placed=placed)

"""`Index.grep`: the lines of documents that match a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from qmd.config.contexts import context_for
from qmd.engine.access.rules import READ, Rule
from qmd.engine.parts import Part
from qmd.engine.requests import SearchRequest
from qmd.engine.retrieval.filters import explain_no_hits, scope_of
from qmd.engine.workspace import Workspace
from qmd.errors import UsageError
from qmd.features.grep.matching import Line, Matcher
from qmd.search_options import ALL
from qmd.store.values import Scope
from qmd.text.anchors import anchor_at
from qmd.text.date_filters import with_days
from qmd.text.predicates import Predicate
from qmd.types import Document, Hit, SearchResponse, Snippet
from qmd.types.cancelling import Cancelled, stop_if_cancelled

#: The lines of an answer, and the seconds that a pattern may take, unless the caller says otherwise.
LINES, SECONDS = 200, 10.0
#: Documents whose texts are read, and characters that are searched, at a time.
_BATCH, _CHARACTERS = 100, 1_000_000
#: The most characters of a line around its match.
_WIDTH = 400


class GrepMethods(Part):
    """The method of `Index` that looks for patterns."""

    _rules: Mapping[str, Rule] = {"grep": READ}

    def grep(
        self,
        pattern: str,
        *,
        collections: Sequence[str] = (),
        where: Predicate | None = None,
        fixed: bool = False,
        ignore_case: bool = False,
        limit: int | None = LINES,
        timeout: float = SECONDS,
        cancelled: Cancelled | None = None,
    ) -> SearchResponse:
        """List the lines of documents that match a pattern, a hit each, in the order of paths.

        The texts are those in the index, also of PDF and Office files: nothing is read from disk.

        Args:
            pattern: A regular expression of Python's, which is looked for inside of lines.
            collections: Names of collections; those that are searched by default, if none is named.
            where: Look only at documents whose fields satisfy this.
            fixed: Whether the pattern is a text, not an expression.
            ignore_case: Whether upper and lower case are the same.
            limit: The most lines; None for all.
            timeout: The seconds that the pattern may take.
            cancelled: Returns true as soon as nobody needs the answer.

        Raises:
            CollectionNotFoundError: There is no such collection.
            UsageError: The pattern is empty or wrong.
            TimedOutError: It takes too long.
        """
        if not pattern:
            raise UsageError("the pattern is empty")
        workspace = self._workspace
        store, config = workspace.store, workspace.config
        request = SearchRequest(collections=tuple(collections), where=where and with_days(where))
        scope = scope_of(store, config, request)
        left = ALL if limit is None else limit
        hits: list[Hit] = []
        more = False
        matcher = Matcher(pattern, fixed=fixed, ignore_case=ignore_case, seconds=timeout, most=left + 1)
        with matcher:
            for document, lines in _found(workspace, scope, matcher, cancelled):
                taken = lines[: left - len(hits)]
                hits += _hits(workspace, document, taken)
                more = len(taken) < len(lines)
                if more:
                    break
        stages = () if hits else explain_no_hits(store, config, scope, where)
        return SearchResponse(pattern, tuple(hits), stages, more=more)


def _found(
    workspace: Workspace, scope: Scope, matcher: Matcher, cancelled: Cancelled | None
) -> Iterator[tuple[Document, list[Line]]]:
    """Yield the documents of a scope that have lines, with these."""
    for batch in _batches(_documents(workspace, scope), workspace):
        stop_if_cancelled(cancelled)
        for (document, _), lines in zip(
            batch, matcher.find([text for _, text in batch], cancelled), strict=True
        ):
            if lines:
                yield document, lines


def _documents(workspace: Workspace, scope: Scope) -> list[Document]:
    store = workspace.store
    if scope.where is None:
        return [document for name in scope.collections for document in store.documents.listing(name)]
    found = store.documents.by_id(store.fields.newest(scope, ALL))
    return sorted(found.values(), key=lambda document: document.file)


def _batches(documents: Sequence[Document], workspace: Workspace) -> Iterator[list[tuple[Document, str]]]:
    """Yield documents with their texts, so many as are searched at a time."""
    batch: list[tuple[Document, str]] = []
    size = 0
    for at in range(0, len(documents), _BATCH):
        read = documents[at : at + _BATCH]
        texts = workspace.store.documents.texts([document.id for document in read])
        for document in read:
            if text := texts.get(document.id):
                batch.append((document, text))
                size += len(text)
            if size >= _CHARACTERS:
                yield batch
                batch, size = [], 0
    yield batch


def _hits(workspace: Workspace, document: Document, lines: Sequence[Line]) -> Iterator[Hit]:
    anchors = workspace.store.fields.anchors([document.id]).get(document.id, ())
    context = context_for(workspace.config, document.collection, document.path)
    for line in lines:
        yield Hit(
            docid=document.docid,
            file=document.file,
            collection=document.collection,
            path=document.path,
            title=document.title,
            score=1.0,
            context=context,
            line=line.number,
            snippet=Snippet(_cut(line), line.number, line.number, score=1.0),
            hash=document.hash,
            anchor=anchor_at(anchors, line.number),
            date=document.date,
        )


def _cut(line: Line) -> str:
    """Return a line, or of a long one the part around its match."""
    if len(line.text) <= _WIDTH:
        return line.text
    start = max(0, min(line.start - _WIDTH // 4, len(line.text) - _WIDTH))
    return "…" * (start > 0) + line.text[start : start + _WIDTH] + "…" * (start + _WIDTH < len(line.text))

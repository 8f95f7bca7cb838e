"""The functions of the operations: each calls the index and returns an answer. `qmd.api.table` lists them.

Each takes the index, its arguments, and a function that returns true after the client has left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, convert, json, structs

from qmd.api import arguments as asked, changes, listings, results, states, texts
from qmd.engine.deadline import Deadline as Deadline
from qmd.engine.documents.fitting import Limit, fit_page, fit_pages, fit_response, most_bytes
from qmd.engine.documents.pages import Page as Page, Skipped
from qmd.engine.index import Index
from qmd.engine.indexing.scan import stop_if
from qmd.engine.requests import SearchRequest
from qmd.errors import ModelError, UsageError
from qmd.models.base import Cancelled, CancelledError
from qmd.search_options import SearchKind
from qmd.text.predicates import TAG
from qmd.text.uris import SCHEME, is_uri
from qmd.text.wording import plural
from qmd.types import DEFAULT_PATTERN

if TYPE_CHECKING:
    from qmd.engine.documents.pages import Pages
    from qmd.engine.indexing.scan import ScanReport as ScanReport
    from qmd.engine.models.usage import ModelUse as ModelUse
    from qmd.engine.upkeep.status import CollectionStatus, Status
    from qmd.types import SearchResponse


def run(
    index: Index, kind: SearchKind, request: SearchRequest, cancelled: Cancelled
) -> tuple[SearchResponse, str | None]:
    """Run a search. Return the response and the time of the index, None if it was never scanned."""
    # Before the search, which does not show changes that are indexed meanwhile.
    indexed_at = index.indexed_at(request.collections)
    return index.run(kind, request, cancelled=cancelled), indexed_at


def search(index: Index, body: asked.SearchArguments, cancelled: Cancelled) -> results.SearchResults:
    """Search by keywords (BM25); fast."""
    return _search(index, "search", body, cancelled)


def vsearch(index: Index, body: asked.SearchArguments, cancelled: Cancelled) -> results.SearchResults:
    """Search by meaning; needs vectors."""
    return _search(index, "vsearch", body, cancelled)


def query(index: Index, body: asked.SearchArguments, cancelled: Cancelled) -> results.SearchResults:
    """Search by keywords and meaning, and rerank; the best results. `stages` says which steps did not run."""
    return _search(index, "query", body, cancelled)


def similar(index: Index, body: asked.SimilarArguments, cancelled: Cancelled) -> results.SearchResults:
    """List the documents that are similar to one, by the vectors that exist, or by its words."""
    return _search(index, "similar", body, cancelled)


def _search(
    index: Index, kind: SearchKind, body: asked.SearchArguments, cancelled: Cancelled
) -> results.SearchResults:
    request = body.request()
    response, indexed_at = run(index, kind, request, cancelled)
    return fit_response(
        response,
        Limit(request.tokens, "tokens"),
        lambda response: results.SearchResults.of(response, request, indexed_at),
        as_json,
    )


def get(index: Index, body: asked.Reference, cancelled: Cancelled) -> results.GetResult:
    """Read a document, or some of its lines."""
    indexed_at = index.indexed_at()
    as_of = getattr(body, "as_of", None)
    page = index.get(body.file, from_line=body.from_line, max_lines=body.max_lines, as_of=as_of)

    def made(page: Page) -> results.GetResult:
        document = results.Document.of(page, line_numbers=body.line_numbers)
        return results.GetResult(document, indexed_at, content=None, note=page.note or UNSET)

    return fit_page(page, Limit(body.tokens, "tokens"), made, as_json)


def multi_get(index: Index, body: asked.MultiGetBody, cancelled: Cancelled) -> results.MultiGetResult:
    """Read several documents. Documents larger than `max_bytes` are named, not read."""

    def item(page: Page | Skipped) -> results.Document | results.Note:
        if isinstance(page, Skipped):
            return results.Note("text", texts.skipped_text(page, "qmd get"))
        truncated = "[...truncated {} more lines]"
        return results.Document.of(page, line_numbers=body.line_numbers, truncated=truncated)

    def made(pages: Pages) -> results.MultiGetResult:
        items, errors = tuple(map(item, pages.items)), tuple(pages.errors)
        return results.MultiGetResult(items, errors, indexed_at, content=None, note=pages.note or UNSET)

    indexed_at = index.indexed_at()
    pages = read_several(index, body, cancelled, max_total=most_bytes(body.tokens))
    return fit_pages(pages, Limit(body.tokens, "tokens"), made, as_json)


def as_json(answer: Struct) -> str:
    """Return an answer as it is sent."""
    return json.encode(answer).decode()


def read_several(
    index: Index, body: asked.MultiGetBody, cancelled: Cancelled, *, max_total: int | None = None
) -> Pages:
    """Return the documents that match a pattern or are in a list, up to `max_total` bytes together."""
    return index.multi_get(
        body.pattern,
        max_lines=body.max_lines,
        max_bytes=body.max_bytes,
        cancelled=cancelled,
        max_total=max_total,
    )


def links(index: Index, body: asked.LinksArguments, cancelled: Cancelled) -> listings.LinkLists:
    """List the links of a document, and the links of other documents to it."""
    return listings.LinkLists.of(*index.link_lists(body.path), body)


def outline(index: Index, body: asked.OutlineArguments, cancelled: Cancelled) -> listings.Outline:
    """List the sections of a document."""
    document, sections = index.outline(body.path)
    return listings.Outline(document.file, tuple(sections))


def history(index: Index, body: asked.HistoryArguments, cancelled: Cancelled) -> listings.History:
    """List the last commits of a document's file, newest first, if it is in a clone of git."""
    found = index.history(body.path, limit=body.offset + body.limit)[body.offset :]
    return listings.History(convert(found, tuple[listings.Commit, ...], from_attributes=True))


def fields(index: Index, body: asked.FieldsArguments, cancelled: Cancelled) -> listings.FieldList:
    """List the fields of documents, each with its most frequent values."""
    found = index.fields(_named(body), detailed=body.end)
    listed = tuple(listings.FieldState.of(field) for field in found[body.offset : body.end])
    return listings.FieldList(listed, left_out=max(0, len(found) - body.end))


def field(index: Index, body: asked.FieldArguments, cancelled: Cancelled) -> listings.FieldState:
    """List the values of a field, most frequent first. `distinct` is the number of all its values."""
    return listings.FieldState.of(index.field_values(body.name, _named(body), limit=body.end), body.offset)


def _named(body: asked.FieldsArguments) -> tuple[str, ...]:
    return () if body.collection is None else (body.collection,)


def status(index: Index, body: asked.Nothing, cancelled: Cancelled) -> states.State:
    """Return the state of the index."""
    found = index.status()
    state = _state(index, found)
    return states.State(
        **structs.asdict(state),
        content=state.text(),
        dates=dict(found.dates),
        languages=dict(found.languages),
    )


def state_of(index: Index) -> states.IndexState:
    """Return the state of the index."""
    return _state(index, index.status())


def _state(index: Index, status: Status) -> states.IndexState:
    indexed_at = index.indexed_at()
    return states.IndexState(
        total_documents=status.total_documents,
        needs_embedding=status.needs_embedding,
        has_vector_index=status.has_vector_index,
        watching=status.watching,
        indexed_at=indexed_at,
        collections=convert(status.collections, tuple[states.CollectionState, ...], from_attributes=True),
    )


def overview(index: Index) -> tuple[states.IndexOverview, Mapping[str, int]]:
    """Return the state of the index with its most frequent fields and tags, and `State.dates`."""
    found = index.fields(values=states.OVERVIEW_VALUES, detailed=states.OVERVIEW_FIELDS)
    tagged = any(each.summary.name == TAG for each in found)
    tags = index.field_values(TAG, limit=states.OVERVIEW_TAGS).values if tagged else ()
    status = index.status()
    made = states.IndexOverview.of(_state(index, status), found[: states.OVERVIEW_FIELDS], tags)
    return made, status.dates


def embed(index: Index, body: asked.Texts, cancelled: Cancelled) -> states.Embeddings:
    """Embed texts with the index's model. Nothing is written."""
    try:
        vectors = index.embed_texts(body.texts, cancelled=cancelled)
    except CancelledError:
        raise
    except ModelError as error:
        raise ModelError("Model not loaded") from error
    return states.Embeddings(vectors.tolist())


def add_collection(index: Index, body: changes.NewCollection, cancelled: Cancelled) -> states.Added:
    """Index a folder."""
    default = None if body.formats else DEFAULT_PATTERN
    pattern = default if body.glob_pattern is UNSET else body.glob_pattern
    require_absolute(body.path)
    report = index.add_collection(
        body.path, body.name, pattern=pattern, formats=body.formats, on_progress=stop_if(cancelled)
    )
    added = _status(index, report.collection)
    told = states.Report.of(report)
    return states.Added(
        status="added",
        name=added.name,
        path=added.path,
        documents=added.documents,
        problems=told.problems,
        notices=told.notices,
        content=f"Added collection '{added.name}' with {plural(added.documents, 'document', separator='')}",
    )


def require_absolute(path: str) -> None:
    """Raise `UsageError` if a path is relative, because clients do not know the folder of the server."""
    if not path.startswith(("/", "~")):
        raise UsageError(f"path: {path} is relative", "give an absolute path on the server's machine")


def collections(index: Index, body: asked.Nothing, cancelled: Cancelled) -> states.Collections:
    """List the collections."""
    statuses = index.collection_statuses()
    lines = [f"- {status.name} ({plural(status.documents, 'doc', separator='')})" for status in statuses]
    listed = convert(statuses, tuple[states.Collection, ...], from_attributes=True)
    return states.Collections(listed, content="\n".join([f"Collections: {len(statuses)}", *lines]))


def collection(index: Index, body: changes.ACollection, cancelled: Cancelled) -> states.CollectionDetails:
    """Show a collection."""
    status = _status(index, body.name)
    return states.CollectionDetails(
        name=status.name,
        path=status.path,
        pattern=status.pattern,
        documents=status.documents,
        last_indexed=status.last_updated,
        formats=tuple(index.collection(body.name).formats),
    )


def rename_collection(index: Index, body: changes.NewName, cancelled: Cancelled) -> states.Renamed:
    """Rename a collection."""
    index.rename_collection(body.name, body.new_name)
    return states.Renamed(
        status="renamed",
        old_name=body.name,
        new_name=body.new_name,
        content=f"Renamed '{body.name}' to '{body.new_name}'",
    )


def remove_collection(index: Index, body: changes.ACollection, cancelled: Cancelled) -> states.Removed:
    """Remove a collection from the index. Its files stay on the disk."""
    index.remove_collection(body.name)
    return states.Removed("removed", body.name, content=f"Removed collection '{body.name}'")


def scan(index: Index, body: asked.Nothing, cancelled: Cancelled) -> states.Indexed:
    """Scan all collections for new, changed and deleted files."""
    reports = index.update(commands=False, on_progress=stop_if(cancelled))
    total = sum(each.documents for each in index.collection_statuses())
    return states.Indexed(
        status="indexed",
        collections=len(reports),
        total_documents=total,
        reports=tuple(map(states.Report.of, reports)),
        content=f"Indexed {plural(len(reports), 'collection', separator='')}: "
        f"{plural(total, 'document', separator='')}{_failures(reports)}",
    )


def update(index: Index, body: changes.UpdateBody, cancelled: Cancelled) -> states.Updated:
    """Run the collections' update commands, then scan for new, changed and deleted files."""
    reports = index.update(pull=body.pull, on_progress=stop_if(cancelled))
    return states.Updated(
        status="updated",
        collections=len(reports),
        reports=tuple(map(states.Report.of, reports)),
        content=f"Updated {plural(len(reports), 'collection', separator='')}{_failures(reports)}",
    )


def add_context(index: Index, body: changes.NewContext, cancelled: Cancelled) -> states.ContextAdded:
    """Describe a path. The description is shown with every document below the path."""
    index.add_context(_location(body.path), body.text)
    return states.ContextAdded("added", body.path, content=f"Added context for {body.path}")


def contexts(index: Index, body: asked.Nothing, cancelled: Cancelled) -> states.Contexts:
    """List the contexts."""
    return states.Contexts(tuple(states.Context(path, text) for path, text in index.contexts()))


def remove_context(index: Index, body: changes.AContext, cancelled: Cancelled) -> states.ContextRemoved:
    """Remove a context."""
    index.remove_context(_location(body.path))
    return states.ContextRemoved("removed", body.path)


def _status(index: Index, name: str) -> CollectionStatus:
    collection = index.collection(name)  # raises an error if there is none
    return next(status for status in index.collection_statuses() if status.name == collection.name)


def _failures(reports: Sequence[ScanReport]) -> str:
    """Return a suffix that names the collections whose scan failed."""
    names = [report.collection for report in reports if report.error is not None]
    return f"; {plural(len(names), 'error', separator='')}: {', '.join(names)}" if names else ""


def _location(path: str) -> str:
    """Return a path as the engine takes it. A relative path begins with a collection."""
    if not path:  # to the engine that would mean everything
        raise UsageError("the path is empty", "use / for everything")
    return path if path.startswith(("/", "~")) or is_uri(path) else SCHEME + path

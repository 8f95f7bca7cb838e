"""qmd: local search in folders of Markdown.

    import qmd

    with qmd.open_index("notes.sqlite") as index:
        index.add_collection("~/notes")
        index.embed()
        for hit in index.query("how do I deploy the service").hits:
            print(hit.score, hit.file, hit.title)

Names are imported when they are first used, so `import qmd` is fast.
"""

from __future__ import annotations

from qmd._version import __version__

# Type checkers know this name. Importing it from `typing` would double the time of `qmd --version`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qmd.engine.archive.archive import Archive, AuthorPosts, Match, Matches, PostText
    from qmd.engine.archive.opening import open_archive
    from qmd.engine.archive.posts import Post, Section
    from qmd.engine.doctor import Finding
    from qmd.engine.documents.library import Page, Pages, Skipped
    from qmd.engine.embedding.batches import EmbedProgress, EmbedReport
    from qmd.engine.evaluation.benchmarking import Benchmark
    from qmd.engine.evaluation.modes import Evaluation
    from qmd.engine.explain.explainer import Why
    from qmd.engine.index import Index, open_index
    from qmd.engine.indexing.scan import ScanReport
    from qmd.engine.models.usage import ModelUse
    from qmd.engine.requests import SearchRequest
    from qmd.engine.upkeep.cleanup import CleanupReport
    from qmd.engine.upkeep.status import CollectionStatus, Status
    from qmd.errors import (
        AlreadyRunningError,
        AmbiguousReferenceError,
        BusyError,
        CollectionNotFoundError,
        ConfigError,
        ConflictError,
        DocumentNotFoundError,
        ForbiddenError,
        ForeignIndexError,
        ModelError,
        NotFoundError,
        QmdError,
        QueryError,
        SourceError,
        StoreError,
        TimedOutError,
        UsageError,
        VectorIndexMissingError,
    )
    from qmd.types import (
        Author,
        Chunk,
        Collection,
        Document,
        Hit,
        SearchResponse,
        Snippet,
        Stage,
        TypedSearch,
    )

_EXPORTS = {
    "qmd.engine.archive.archive": ("Archive", "AuthorPosts", "Match", "Matches", "PostText"),
    "qmd.engine.archive.opening": ("open_archive",),
    "qmd.engine.archive.posts": ("Post", "Section"),
    "qmd.engine.documents.library": ("Page", "Pages", "Skipped"),
    "qmd.engine.doctor": ("Finding",),
    "qmd.engine.embedding.batches": ("EmbedProgress", "EmbedReport"),
    "qmd.engine.evaluation.benchmarking": ("Benchmark",),
    "qmd.engine.evaluation.modes": ("Evaluation",),
    "qmd.engine.index": ("Index", "open_index"),
    "qmd.engine.indexing.scan": ("ScanReport",),
    "qmd.engine.models.usage": ("ModelUse",),
    "qmd.engine.requests": ("SearchRequest",),
    "qmd.engine.upkeep.status": ("CollectionStatus", "Status"),
    "qmd.engine.upkeep.cleanup": ("CleanupReport",),
    "qmd.engine.explain.explainer": ("Why",),
    "qmd.errors": (
        "AlreadyRunningError",
        "AmbiguousReferenceError",
        "BusyError",
        "CollectionNotFoundError",
        "ConfigError",
        "ConflictError",
        "DocumentNotFoundError",
        "ForbiddenError",
        "ForeignIndexError",
        "ModelError",
        "NotFoundError",
        "QmdError",
        "QueryError",
        "SourceError",
        "StoreError",
        "TimedOutError",
        "UsageError",
        "VectorIndexMissingError",
    ),
    "qmd.types": (
        "Author",
        "Chunk",
        "Collection",
        "Document",
        "Hit",
        "SearchResponse",
        "Snippet",
        "Stage",
        "TypedSearch",
    ),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'qmd' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])


__all__ = [
    "AlreadyRunningError",
    "AmbiguousReferenceError",
    "Archive",
    "Author",
    "AuthorPosts",
    "Benchmark",
    "BusyError",
    "Chunk",
    "CleanupReport",
    "Collection",
    "CollectionNotFoundError",
    "CollectionStatus",
    "ConfigError",
    "ConflictError",
    "Document",
    "DocumentNotFoundError",
    "EmbedProgress",
    "EmbedReport",
    "Evaluation",
    "Finding",
    "ForbiddenError",
    "ForeignIndexError",
    "Hit",
    "Index",
    "Match",
    "Matches",
    "ModelError",
    "ModelUse",
    "NotFoundError",
    "Page",
    "Pages",
    "Post",
    "PostText",
    "QmdError",
    "QueryError",
    "ScanReport",
    "SearchRequest",
    "SearchResponse",
    "Section",
    "Skipped",
    "Snippet",
    "SourceError",
    "Stage",
    "Status",
    "StoreError",
    "TimedOutError",
    "TypedSearch",
    "UsageError",
    "VectorIndexMissingError",
    "Why",
    "__version__",
    "open_archive",
    "open_index",
]

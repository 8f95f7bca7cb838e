"""qmd: local search for folders of Markdown.

    import qmd

    with qmd.open_index("notes.sqlite") as index:
        index.add_collection("~/notes")
        index.embed()
        for hit in index.query("how do I deploy the service").hits:
            print(hit.score, hit.file, hit.title)

Names are imported when they are first used: `import qmd` alone costs nothing.
"""

from __future__ import annotations

from qmd._version import __version__

# As in `typing`, whose import would double the time of `qmd --version`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qmd.engine.archive.archive import Archive, AuthorPosts, Match, Matches, PostText
    from qmd.engine.archive.place import open_archive
    from qmd.engine.archive.posts import Post, Section
    from qmd.engine.doctor import Finding
    from qmd.engine.documents import Page, Pages, Skipped
    from qmd.engine.embedding import EmbedProgress, EmbedReport
    from qmd.engine.evaluation.benchmarking import Benchmark
    from qmd.engine.evaluation.ways import Evaluation
    from qmd.engine.index import Index, open_index
    from qmd.engine.indexing import ScanReport
    from qmd.engine.models import ModelUse
    from qmd.engine.requests import SearchRequest
    from qmd.engine.status import CollectionStatus, Status
    from qmd.engine.upkeep import CleanupReport
    from qmd.engine.why.inquiry import Why
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

_HOMES = {
    "qmd.engine.archive.archive": ("Archive", "AuthorPosts", "Match", "Matches", "PostText"),
    "qmd.engine.archive.place": ("open_archive",),
    "qmd.engine.archive.posts": ("Post", "Section"),
    "qmd.engine.documents": ("Page", "Pages", "Skipped"),
    "qmd.engine.doctor": ("Finding",),
    "qmd.engine.embedding": ("EmbedProgress", "EmbedReport"),
    "qmd.engine.evaluation.benchmarking": ("Benchmark",),
    "qmd.engine.evaluation.ways": ("Evaluation",),
    "qmd.engine.index": ("Index", "open_index"),
    "qmd.engine.indexing": ("ScanReport",),
    "qmd.engine.models": ("ModelUse",),
    "qmd.engine.requests": ("SearchRequest",),
    "qmd.engine.status": ("CollectionStatus", "Status"),
    "qmd.engine.upkeep": ("CleanupReport",),
    "qmd.engine.why.inquiry": ("Why",),
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
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'qmd' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])


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

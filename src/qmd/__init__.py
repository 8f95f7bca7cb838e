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

from qmd._version import __version__ as __version__

# Type checkers know this name. Importing it from `typing` would double the time of `qmd --version`.
TYPE_CHECKING = False
# The aliases tell type checkers that the names are exported.
# isort: off
if TYPE_CHECKING:
    from typing import Any

    from qmd.engine.documents.pages import Page as Page, Pages as Pages, Skipped as Skipped
    from qmd.engine.embedding.batches import EmbedProgress as EmbedProgress, EmbedReport as EmbedReport
    from qmd.engine.finding import Finding as Finding
    from qmd.engine.index import Index as Index, open_index as open_index
    from qmd.engine.indexing.scan import ScanReport as ScanReport
    from qmd.engine.models.usage import ModelUse as ModelUse
    from qmd.engine.requests import SearchRequest as SearchRequest
    from qmd.engine.upkeep.cleanup import CleanupReport as CleanupReport
    from qmd.engine.upkeep.status import CollectionStatus as CollectionStatus, Status as Status
    from qmd.errors import (
        AlreadyRunningError as AlreadyRunningError,
        AmbiguousReferenceError as AmbiguousReferenceError,
        BusyError as BusyError,
        ClosedError as ClosedError,
        CollectionNotFoundError as CollectionNotFoundError,
        ConfigError as ConfigError,
        ConflictError as ConflictError,
        DocumentNotFoundError as DocumentNotFoundError,
        ForbiddenError as ForbiddenError,
        ForeignIndexError as ForeignIndexError,
        ModelError as ModelError,
        NotEnoughMemoryError as NotEnoughMemoryError,
        NotFoundError as NotFoundError,
        PluginError as PluginError,
        QmdError as QmdError,
        QueryError as QueryError,
        SourceError as SourceError,
        StoreError as StoreError,
        TimedOutError as TimedOutError,
        TokensError as TokensError,
        UsageError as UsageError,
        VectorIndexMissingError as VectorIndexMissingError,
    )
    from qmd.features.archive.archive import (
        Archive as Archive,
        AuthorPosts as AuthorPosts,
        Match as Match,
        Matches as Matches,
        PostText as PostText,
        open_archive as open_archive,
    )
    from qmd.features.archive.posts import Post as Post, Section as Section
    from qmd.features.ask.types import AnswerSentence as AnswerSentence, ProvenAnswer as ProvenAnswer
    from qmd.features.diagnosis.explainer import Why as Why
    from qmd.features.evaluation.benchmarking import Benchmark as Benchmark
    from qmd.features.evaluation.modes import Evaluation as Evaluation
    from qmd.features.evidence.types import CitationCheck as CitationCheck, CitationReport as CitationReport
    from qmd.features.portable.exporting import Portable as Portable
    from qmd.features.portable.opening import open_index_file as open_index_file
    from qmd.types import (
        Author as Author,
        Chunk as Chunk,
        Collection as Collection,
        Commit as Commit,
        Document as Document,
        Hit as Hit,
        SearchResponse as SearchResponse,
        Snippet as Snippet,
        Stage as Stage,
        TypedSearch as TypedSearch,
    )
# isort: on

_EXPORTS = {
    "qmd.engine.documents.pages": "Page Pages Skipped",
    "qmd.engine.embedding.batches": "EmbedProgress EmbedReport",
    "qmd.engine.finding": "Finding",
    "qmd.engine.index": "Index open_index",
    "qmd.engine.indexing.scan": "ScanReport",
    "qmd.engine.models.usage": "ModelUse",
    "qmd.engine.requests": "SearchRequest",
    "qmd.engine.upkeep.cleanup": "CleanupReport",
    "qmd.engine.upkeep.status": "CollectionStatus Status",
    "qmd.errors": """
        AlreadyRunningError AmbiguousReferenceError BusyError ClosedError CollectionNotFoundError
        ConfigError ConflictError DocumentNotFoundError ForbiddenError ForeignIndexError ModelError
        NotEnoughMemoryError NotFoundError PluginError QmdError QueryError SourceError StoreError
        TimedOutError TokensError UsageError VectorIndexMissingError
    """,
    "qmd.types": "Author Chunk Collection Commit Document Hit SearchResponse Snippet Stage TypedSearch",
}
#: Those of features, whose modules are in the table `qmd.exports`.
_OF_FEATURES = """
    AnswerSentence Archive AuthorPosts Benchmark CitationCheck CitationReport Evaluation Match Matches
    Portable Post PostText ProvenAnswer Section Why open_archive open_index_file
""".split()
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names.split()}
__all__ = sorted(["__version__", *_MODULE_OF, *_OF_FEATURES])


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'qmd' has no attribute {name!r}")
    from qmd.plugins import Table, resolve

    value = (
        resolve(f"{_MODULE_OF[name]}:{name}")
        if name in _MODULE_OF
        else Table("qmd.exports", {}, object).load(name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Immutable values that are shared by all layers. Each is loaded when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# isort: off
if TYPE_CHECKING:
    from qmd.types.configuration import (
        DEFAULT_PATTERN as DEFAULT_PATTERN,
        MIN_WEIGHT as MIN_WEIGHT,
        MAX_WEIGHT as MAX_WEIGHT,
        Ranking as Ranking,
        ScoreScale as ScoreScale,
        EmbedMode as EmbedMode,
        Collection as Collection,
        Models as Models,
        UnknownKey as UnknownKey,
        Config as Config,
    )
    from qmd.types.documents import (
        Fingerprint as Fingerprint,
        SourceFile as SourceFile,
        Chunk as Chunk,
        Document as Document,
        Section as Section,
    )
    from qmd.types.content import (
        LinkKind as LinkKind,
        Link as Link,
        Anchor as Anchor,
        Extracted as Extracted,
        SourceText as SourceText,
    )
    from qmd.types.lists import (
        ResolvedLink as ResolvedLink,
        Author as Author,
        FieldSummary as FieldSummary,
        ValueCount as ValueCount,
    )
    from qmd.types.search import (
        StageStatus as StageStatus,
        SearchType as SearchType,
        SortOrder as SortOrder,
        Stage as Stage,
        Window as Window,
        Ranked as Ranked,
        Snippet as Snippet,
        Hit as Hit,
        TypedSearch as TypedSearch,
        SearchResponse as SearchResponse,
    )
# isort: on

_EXPORTS = {
    "configuration": """
        DEFAULT_PATTERN MIN_WEIGHT MAX_WEIGHT Ranking ScoreScale EmbedMode Collection Models UnknownKey Config
    """,
    "documents": "Fingerprint SourceFile Chunk Document Section",
    "content": "LinkKind Link Anchor Extracted Decoding UTF_8 SourceText",
    "lists": "ResolvedLink Author FieldSummary ValueCount",
    "search": "StageStatus SearchType SortOrder Stage Window Ranked Snippet Hit TypedSearch SearchResponse",
}
_MODULE_OF = {name: f"qmd.types.{module}" for module, names in _EXPORTS.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'qmd.types' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value

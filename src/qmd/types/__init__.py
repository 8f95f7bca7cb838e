"""Immutable values that are shared by all layers."""

from __future__ import annotations

from qmd.types.configuration import (
    DEFAULT_PATTERN as DEFAULT_PATTERN,
    MAX_WEIGHT as MAX_WEIGHT,
    MIN_WEIGHT as MIN_WEIGHT,
    Collection as Collection,
    Config as Config,
    EmbedMode as EmbedMode,
    Hook as Hook,
    Mask as Mask,
    Models as Models,
    Ranking as Ranking,
    ScoreScale as ScoreScale,
    Secret as Secret,
    Synonyms as Synonyms,
    UnknownKey as UnknownKey,
)
from qmd.types.content import (
    UTF_8 as UTF_8,
    Anchor as Anchor,
    Decoding as Decoding,
    Extracted as Extracted,
    Indexed as Indexed,
    Link as Link,
    LinkKind as LinkKind,
    Snippet as Snippet,
    SourceText as SourceText,
)
from qmd.types.documents import (
    Chunk as Chunk,
    Commit as Commit,
    Document as Document,
    Fingerprint as Fingerprint,
    Section as Section,
    SourceFile as SourceFile,
    States as States,
)
from qmd.types.lists import (
    Author as Author,
    FieldSummary as FieldSummary,
    ResolvedLink as ResolvedLink,
    ValueCount as ValueCount,
)
from qmd.types.search import (
    Hit as Hit,
    Ranked as Ranked,
    SearchResponse as SearchResponse,
    SearchType as SearchType,
    SortOrder as SortOrder,
    Stage as Stage,
    StageStatus as StageStatus,
    TypedSearch as TypedSearch,
    Window as Window,
)

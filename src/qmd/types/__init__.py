"""Immutable values that are shared by all layers."""

from __future__ import annotations

from qmd.types.configuration import (
    DEFAULT_PATTERN as DEFAULT_PATTERN,
)
from qmd.types.configuration import (
    MAX_WEIGHT as MAX_WEIGHT,
)
from qmd.types.configuration import (
    MIN_WEIGHT as MIN_WEIGHT,
)
from qmd.types.configuration import (
    Collection as Collection,
)
from qmd.types.configuration import (
    Config as Config,
)
from qmd.types.configuration import (
    EmbedMode as EmbedMode,
)
from qmd.types.configuration import (
    Hook as Hook,
)
from qmd.types.configuration import (
    Mask as Mask,
)
from qmd.types.configuration import (
    Models as Models,
)
from qmd.types.configuration import (
    Ranking as Ranking,
)
from qmd.types.configuration import (
    ScoreScale as ScoreScale,
)
from qmd.types.configuration import (
    Secret as Secret,
)
from qmd.types.configuration import (
    UnknownKey as UnknownKey,
)
from qmd.types.content import (
    UTF_8 as UTF_8,
)
from qmd.types.content import (
    Anchor as Anchor,
)
from qmd.types.content import (
    Decoding as Decoding,
)
from qmd.types.content import (
    Extracted as Extracted,
)
from qmd.types.content import (
    Indexed as Indexed,
)
from qmd.types.content import (
    Link as Link,
)
from qmd.types.content import (
    LinkKind as LinkKind,
)
from qmd.types.content import (
    Snippet as Snippet,
)
from qmd.types.content import (
    SourceText as SourceText,
)
from qmd.types.documents import (
    Chunk as Chunk,
)
from qmd.types.documents import (
    Commit as Commit,
)
from qmd.types.documents import (
    Document as Document,
)
from qmd.types.documents import (
    Fingerprint as Fingerprint,
)
from qmd.types.documents import (
    Section as Section,
)
from qmd.types.documents import (
    SourceFile as SourceFile,
)
from qmd.types.documents import (
    States as States,
)
from qmd.types.lists import (
    Author as Author,
)
from qmd.types.lists import (
    FieldSummary as FieldSummary,
)
from qmd.types.lists import (
    ResolvedLink as ResolvedLink,
)
from qmd.types.lists import (
    ValueCount as ValueCount,
)
from qmd.types.search import (
    Hit as Hit,
)
from qmd.types.search import (
    Ranked as Ranked,
)
from qmd.types.search import (
    SearchResponse as SearchResponse,
)
from qmd.types.search import (
    SearchType as SearchType,
)
from qmd.types.search import (
    SortOrder as SortOrder,
)
from qmd.types.search import (
    Stage as Stage,
)
from qmd.types.search import (
    StageStatus as StageStatus,
)
from qmd.types.search import (
    TypedSearch as TypedSearch,
)
from qmd.types.search import (
    Window as Window,
)

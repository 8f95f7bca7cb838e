"""Rules that all stores share: limits, the chunks to store, and rows of links."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import MsgspecError, json
from msgspec.structs import replace

from qmd.errors import ModelError
from qmd.text.link_targets import target_name
from qmd.text.predicates import Fields, ValueRange
from qmd.text.values import OF_SCAN, key_of
from qmd.types import Anchor, Link, LinkKind
from qmd.types.content import MARKDOWN, MARKDOWN_VERSION

if TYPE_CHECKING:
    from qmd.store.values import Embedded

#: The maximum number of cached model answers.
CACHE_ROWS = 20_000
#: The longest lease in seconds. A lease with a later end was made before the clock was set back.
MAX_LEASE_SECONDS = 3_600.0


def new_chunks(item: Embedded, stored: Collection[int]) -> Embedded | None:
    """Return `item` with only the chunks that should be stored, or None if there are none.

    `stored` has the numbers of the text's chunks that already have vectors, up to the chunk after `item`.
    """
    if item.continues and item.chunks[-1].seq + 1 not in stored:
        return None
    new = [at for at, chunk in enumerate(item.chunks) if chunk.seq not in stored]
    if not new or 0 in stored:
        return None
    if len(new) == len(item.chunks):
        return item
    chunks, tokens = [item.chunks[at] for at in new], [item.tokens[at] for at in new]
    return replace(item, chunks=chunks, vectors=item.vectors[new], tokens=tokens)


def other_dimension(name: str, before: int, now: int) -> ModelError:
    """Return the error for a model name that now stands for another model."""
    return ModelError(
        f"the vectors of '{name}' in this index have {before} dimensions, but the model now returns {now}: "
        "it is another model",
        "name the model that was used before, or run 'qmd embed --force'",
    )


#: (line, kind, target) of a link, or of an anchor: a link that leads to a place in the document's own file.
LinkRow: TypeAlias = tuple[int, str, str]
#: The name of a field, and the type and the key of a value.
FieldKey: TypeAlias = tuple[str, str, str | float]
#: A value of a parameter.
Bound: TypeAlias = str | int | float
#: The kind of links that are anchors.
ANCHOR = "anchor"


def link_rows(links: Iterable[Link], anchors: Iterable[Anchor]) -> list[LinkRow]:
    """Return the rows of a document's links and anchors, in order."""
    rows: list[LinkRow] = [(link.line, link.kind, link.target) for link in links]
    return rows + [(anchor.line, ANCHOR, f"{anchor.kind} {anchor.value}") for anchor in anchors]


def name_of(kind: str, target: str) -> str:
    """Return the name by which the document that a link leads to is found; "" if it leads to none."""
    return "" if kind in ("url", ANCHOR) else target_name(target)


def links_of(rows: Iterable[LinkRow]) -> list[Link]:
    """Return the links of rows. Their texts are not stored."""
    return [Link(target, "", line, cast("LinkKind", kind)) for line, kind, target in rows if kind != ANCHOR]


def anchors_of(rows: Iterable[LinkRow]) -> list[Anchor]:
    """Return the anchors of rows."""
    places = [(line, target.rpartition(" ")) for line, kind, target in rows if kind == ANCHOR]
    return [Anchor(line, kind, int(value)) for line, (kind, _, value) in places]


def field_keys(fields: Fields) -> set[FieldKey]:
    """Return the values of fields as they are compared, to find out whether two documents differ in them."""
    return {(name, *key_of(value)) for name, values in fields.items() for value in values}


def is_changed(text: str, path: str, author: str, stored: Collection[FieldKey]) -> bool:
    """Tell whether the stored fields of a document are not those of its text.

    Those of other formats than Markdown are not compared: their text does not contain the fields.
    """
    from qmd.text.extraction import extract, stored_fields

    if any(name == "format" and key != MARKDOWN for name, _, key in stored):
        return False
    fields = stored_fields(extract(text, path).fields, path, author)
    return field_keys(fields) != {each for each in stored if each[0] not in OF_SCAN or each[0] in fields}


def parts_of_record(root: str) -> list[Any]:
    """Return the parts of the record of a scan; see `ScanRecord` in the engine."""
    try:
        parts: list[Any] = json.decode(root)
    except MsgspecError:  # a name in it is not UTF-8
        from json import loads

        parts = loads(root)
    return parts


def is_of_this_version(root: str) -> bool:
    """Tell whether the record of a scan says that Markdown was read as this version reads it."""
    return any(f'"{MARKDOWN} {MARKDOWN_VERSION}{end}' in root for end in '" ')


def bounds(span: ValueRange) -> list[tuple[str, Bound]]:
    """Return the operators and values that a key inside a span is compared with."""
    low, high = (">" if span.low_open else ">="), ("<" if span.high_open else "<=")
    return [(sign, bound) for sign, bound in ((low, span.low), (high, span.high)) if bound is not None]

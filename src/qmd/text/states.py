"""What the fields of a document say of its state: pure, of one document after the other.

Values of another type than a field should have say nothing, and of several dates the most favourable counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from qmd.text import dates, links
from qmd.text.predicates import Comparison, Fields, Value, fold
from qmd.types.states import CURRENT, STATE_NAMES, DocumentState, StateName, StateRole

#: The states that a field `status` can name.
STATUSES: Sequence[StateName] = [name for name in STATE_NAMES if name not in ("current", "upcoming")]
#: Templates of decision records have `status: superseded by ADR-0012`.
_SUPERSEDED_BY = "superseded by "
#: More links of one field are left out.
_MAX_LINKS = 20


class Reference(Struct, frozen=True):
    """A link in a field; `wikilink` tells how it is resolved."""

    target: str
    wikilink: bool = False


class Claims(Struct, frozen=True):
    """What a document says of itself, and of the documents that it replaces."""

    status: StateName = "current"
    supersedes: tuple[Reference, ...] = ()
    superseded_by: tuple[Reference, ...] = ()
    valid_from: str = ""
    valid_until: str = ""

    def state(self, by: str, now: str) -> DocumentState:
        """Return the state of the document.

        Args:
            by: The display path of the document that replaces it; "" if there is none.
            now: The time where the user is, as `2026-03-07T10:00:00`.
        """
        if by or self.superseded_by or self.status == "superseded":
            return DocumentState("superseded", by)
        if self.status == "expired" or (self.valid_until and now[: len(self.valid_until)] > self.valid_until):
            return DocumentState("expired", date=self.valid_until)
        if self.status in ("deprecated", "archived"):
            return DocumentState(self.status)
        if self.is_upcoming(now):
            return DocumentState("upcoming", date=self.valid_from)
        return DocumentState(self.status) if self.status != "current" else CURRENT

    def is_upcoming(self, now: str) -> bool:
        return bool(self.valid_from) and now[: len(self.valid_from)] < self.valid_from

    def replaces(self, now: str) -> tuple[Reference, ...]:
        """Return the documents that it replaces: none as long as it is a draft, or is not valid yet."""
        return () if self.status == "draft" or self.is_upcoming(now) else self.supersedes


def conditions(names: Mapping[str, StateRole]) -> list[Comparison]:
    """Return comparisons one of which holds for each value that says something of a state."""
    found: list[Comparison] = []
    for name, role in names.items():
        if role != "status":
            found.append(Comparison(name, "exists"))
            continue
        found += [Comparison(name, "eq", status) for status in STATUSES]
        found.append(Comparison(name, "prefix", _SUPERSEDED_BY))
    return found


def claims(fields: Fields, names: Mapping[str, StateRole]) -> Claims:
    """Return what the fields of a document say. `names` are the fields that are read, and what they say."""
    by_role: dict[StateRole, list[Value]] = {}
    for name, values in fields.items():
        if name in names:
            by_role.setdefault(names[name], []).extend(values)
    stated = [fold(value) for value in by_role.get("status", ()) if isinstance(value, str)]
    return Claims(
        max((name for name in STATUSES if name in stated), key=STATE_NAMES.index, default="current"),
        _references(by_role.get("supersedes", ())),
        _references([*by_role.get("superseded_by", ()), *_named_in(by_role.get("status", ()))]),
        min(_dates(by_role.get("valid_from", ())), default=""),
        max(_dates(by_role.get("valid_until", ())), default=""),
    )


def _named_in(statuses: Iterable[Value]) -> Iterator[str]:
    for status in statuses:
        if isinstance(status, str) and fold(status).startswith(_SUPERSEDED_BY):
            yield status[len(_SUPERSEDED_BY) :]


def _references(values: Iterable[Value]) -> tuple[Reference, ...]:
    """Return the links in values: links of Markdown, or the whole value as a path or a name."""
    found: dict[Reference, None] = {}
    for value in values:
        if isinstance(value, bool):
            continue
        text = value.strip() if isinstance(value, str) else f"{value:g}"
        inline = links.find(text).links
        for link in inline:
            found.setdefault(Reference(link.target, link.kind in ("wikilink", "embed")))
        if text and not inline:
            found.setdefault(Reference(text))
    return tuple(found)[:_MAX_LINKS]


def _dates(values: Iterable[Value]) -> list[str]:
    texts = (value if isinstance(value, str) else f"{value:g}" for value in values)
    return [date for text in texts if (date := dates.prefix(text))]

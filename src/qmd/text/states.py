"""The state of a document by its fields: pure, of one document after the other.

Values of another type than a field should have say nothing, and of several dates the most favourable counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from qmd.text.predicates import Comparison, Fields
from qmd.text.properties import series_of
from qmd.text.regex import lazy
from qmd.text.values import Value, date_of, fold, shown
from qmd.types import Link
from qmd.types.states import CURRENT, REPLACED_BY, STATE_NAMES, WORDS, DocumentState, StateName, StateRole

#: The states that a field `status` can name, by the words for them.
STATUSES: Mapping[str, StateName] = {
    fold(word): name for name, words in WORDS.items() for word in words.split(", ")
}
#: Values of fields that say yes or no, such as `deprecated: true`.
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
#: More links of one field are left out.
_MAX_LINKS = 20
#: References to documents by their numbers in a series.
_NUMBERS = lazy(r"\d{1,6}(?:, ?\d{1,6})*")


class StateReference(Struct, frozen=True):
    """A link in a field; `wikilink` tells how it is resolved."""

    target: str
    wikilink: bool = False


class Claims(Struct, frozen=True):
    """The statement of a document on itself, and on the documents that it replaces."""

    status: StateName = "current"
    supersedes: tuple[StateReference, ...] = ()
    superseded_by: tuple[StateReference, ...] = ()
    valid_from: str = ""
    valid_until: str = ""
    unclear: tuple[str, ...] = ()  #: The fields with values that say nothing, as `expires: soon`

    def state(self, by: str, now: str) -> DocumentState:
        """Return the state of the document.

        Args:
            by: The display path of the document that replaces it; "" if there is none.
            now: The local time of the user, as `2026-03-07T10:00:00`.
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

    def replaces(self, now: str) -> tuple[StateReference, ...]:
        """Return the documents that it replaces: none as long as it is a draft, or is not valid yet."""
        return () if self.status == "draft" or self.is_upcoming(now) else self.supersedes


def in_series(said: Claims, path: str) -> Claims:
    """Return a statement whose references to numbers name documents: `8` in `pep-0012.rst` is `PEP 8`."""
    word = series_of(path)
    if not word:
        return said

    def named(references: Iterable[StateReference]) -> Iterator[StateReference]:
        for each in references:
            if _NUMBERS.fullmatch(each.target):
                yield from (
                    StateReference(f"{word} {int(one)}", wikilink=True) for one in each.target.split(",")
                )
            else:
                yield each

    return replace(said, supersedes=(*named(said.supersedes),), superseded_by=(*named(said.superseded_by),))


def conditions(names: Mapping[str, StateRole]) -> list[Comparison]:
    """Return comparisons one of which holds for each value that says something of a state."""
    found: list[Comparison] = []
    for name, role in names.items():
        if role == "not_flag":
            found += [Comparison(name, "eq", value) for value in (False, 0.0, *_NO)]
            continue
        if role != "status":
            found.append(Comparison(name, "exists"))
            continue
        found += [Comparison(name, "eq", status) for status in STATUSES]
        found += [Comparison(name, "prefix", words) for words in REPLACED_BY]
    return found


def claims(fields: Fields, names: Mapping[str, StateRole]) -> Claims:
    """Return the statement of a document's fields. `names` are the fields, with their meaning."""
    by_role: dict[StateRole, list[Value]] = {}
    for name, values in fields.items():
        if name in names:
            by_role.setdefault(names[name], []).extend(values)
    stated = [fold(value) for value in by_role.get("status", ()) if isinstance(value, str)]
    found = {STATUSES[word] for word in stated if word in STATUSES}
    found |= {"superseded" for word in stated if word.startswith(REPLACED_BY)}
    for name, values in fields.items():
        if names.get(name) == "flag" and any(_says(value) for value in values):
            found.add(STATUSES[name])
        if names.get(name) == "not_flag" and any(_says(value) is False for value in values):
            found.add("draft")
    return Claims(
        max(found, key=STATE_NAMES.index, default="current"),
        _references(by_role.get("supersedes", ())),
        _references([*by_role.get("superseded_by", ()), *_named_in(by_role.get("status", ()))]),
        min(_dates(by_role.get("valid_from", ())), default=""),
        max(_dates(by_role.get("valid_until", ())), default=""),
        tuple(
            f"{name}: {shown(value)}"
            for name, values in fields.items()
            for value in values
            if _is_unclear(names.get(name), value)
        ),
    )


def _says(value: Value) -> bool | None:
    """Return whether the value of a field says yes; None if it says neither yes nor no."""
    text = fold(shown(value))
    return True if text in _YES else False if text in _NO else None


def _is_unclear(role: StateRole | None, value: Value) -> bool:
    """Return whether a value says nothing of a state although its field should."""
    match role:
        case "flag":
            return _says(value) is None
        case "valid_from" | "valid_until":
            return isinstance(value, bool) or not date_of(value)
        case "supersedes" | "superseded_by":
            return isinstance(value, bool)
    return False


def _named_in(statuses: Iterable[Value]) -> Iterator[str]:
    for status in statuses:
        written = next((words for words in REPLACED_BY if fold(shown(status)).startswith(words)), "")
        if written:
            yield shown(status)[len(written) :]


def _references(values: Iterable[Value]) -> tuple[StateReference, ...]:
    """Return the links in values: links of Markdown, or the whole value as a path or a name."""
    found: dict[StateReference, None] = {}
    for value in values:
        if isinstance(value, bool):
            continue
        text = shown(value)
        inline = _links(text) if "[" in text else ()
        for link in inline:
            found.setdefault(StateReference(link.target, link.kind in ("wikilink", "embed")))
        if text and not inline:
            found.setdefault(StateReference(text))
    return tuple(found)[:_MAX_LINKS]


def _links(text: str) -> tuple[Link, ...]:
    from qmd.text.markdown.reading import read  # most searches start without it

    return read(text).links


def _dates(values: Iterable[Value]) -> list[str]:
    return [date for value in values if (date := date_of(value))]

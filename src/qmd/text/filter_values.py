"""Filters of one value each, such as a tag or a state."""

from __future__ import annotations

from qmd.text.predicates import Comparison, Or, Predicate
from qmd.text.regex import lazy
from qmd.text.values import fold
from qmd.types.states import STATE_NAMES

#: Says which states there are.
NO_STATE = f"state must be one of {', '.join(STATE_NAMES)}, or several with commas between them"
_GLOB = lazy(r"[*?]")


def tag_is(value: str) -> Predicate:
    """Return a filter on a tag, which may be written with `#`. It includes the tags below it."""
    return Comparison("tag", "eq", value.removeprefix("#").strip("/"))


def path_is(value: str) -> Predicate:
    """Return a filter on the path in a collection: the beginning of a path, or a glob."""
    path = value.removeprefix("/")
    return Comparison("path", "glob" if _GLOB.search(path) else "prefix", path)


def author_is(value: str) -> Predicate:
    """Return a filter on the author: a word of a name, or a whole name, in quotes or of several words."""
    name = value.strip('"').strip()
    return Comparison("author", "word" if name == value and len(name.split()) == 1 else "eq", name)


def state_is(value: str) -> Predicate | None:
    """Return a filter on the state: one, or several with commas; None if there is no such state."""
    found = tuple(Comparison("state", "eq", fold(name.strip())) for name in value.split(","))
    if any(each.value not in STATE_NAMES for each in found):
        return None
    return found[0] if len(found) == 1 else Or(found)

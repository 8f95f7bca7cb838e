"""The rule of a member of `Index` for callers whose permissions are restricted."""

from __future__ import annotations

from msgspec import Struct


class Rule(Struct, frozen=True):
    """The permissions that a member of `Index` requires.

    `changes`: the caller may change the index. `collections` and `place` are parameters: the collections that
    it names, or that the place of a context is in, are visible. `action`: all collections are visible; it
    completes "may not".
    """

    changes: bool = False
    collections: str | None = None
    place: str | None = None
    action: str | None = None


#: Reading needs no check, because the configuration that it goes by lists the visible collections only.
READ = Rule()


def rule_of_setting(field: str) -> Rule:
    """Return the rule of a change of a setting of a collection."""
    from qmd.config.schema import SETTINGS  # with the parser, which a search does not need

    action = SETTINGS[field].action if field in SETTINGS else None  # `configure` refuses others.
    return Rule(changes=True, collections="name", action=action)

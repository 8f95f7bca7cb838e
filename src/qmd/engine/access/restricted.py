"""An index that is restricted by the permissions of a caller."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.access.permissions import Permissions


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


_READ = Rule()
_CHANGE = Rule(changes=True, collections="collections")
_CONTEXT = Rule(changes=True, place="target")
_SETTING = Rule(changes=True, collections="name")

#: The members that a restricted index has. It has no other ones, so a new method of `Index` needs a rule.
#: Reading needs no check, because the configuration that it goes by lists the visible collections only.
RULES = {
    **dict.fromkeys(("authors", "collection", "config", "contexts", "documents", "get", "indexed_at"), _READ),
    "missing_vectors": _READ,
    **dict.fromkeys(("locations", "multi_get", "notes", "query", "run", "search"), _READ),
    **dict.fromkeys(("undescribed", "vsearch"), _READ),
    **dict.fromkeys(("fields", "field_values", "links", "backlinks", "link_lists", "outline"), _READ),
    **dict.fromkeys(("fields_of", "file_on_disk", "recent", "viewable_file"), _READ),
    **dict.fromkeys(("explain_no_documents", "orphans", "tags", "unresolved_links"), _READ),
    # These concern the models and the life of the index, not its documents.
    **dict.fromkeys(("close", "embed_texts", "limited", "model_loaded", "models"), _READ),
    **dict.fromkeys(("model_provider", "pullable", "release_models", "settings", "trust"), _READ),
    **dict.fromkeys(("update", "embed"), _CHANGE),
    **dict.fromkeys(("include_collection", "set_weight", "set_recency"), _SETTING),
    "rescan": Rule(changes=True, collections="collection"),
    "add_context": _CONTEXT,
    "remove_context": _CONTEXT,
    "add_collection": Rule(changes=True, action="add one"),
    # A removed collection could not be added again.
    "remove_collection": Rule(changes=True, collections="name", action="remove one"),
    # The new name would be outside the permissions.
    "rename_collection": Rule(changes=True, collections="old", action="rename one"),
    # A wider pattern could show files that were left out on purpose.
    "set_pattern": Rule(changes=True, collections="name", action="change what is indexed"),
    # An update command runs as the user, who sees everything.
    "set_update_command": Rule(changes=True, collections="name", action="set a command"),
    "cleanup": Rule(changes=True, action="clean up"),
    "export": Rule(changes=True, action="copy the index"),
    "backup": Rule(changes=True, action="copy the index"),
    "copy_store": Rule(changes=True, action="copy stores"),
    "pull": Rule(changes=True, action="fetch models, which everyone's searches use"),
    **dict.fromkeys(("marks", "marks_digest"), Rule(action="list the pins and marks of everyone")),
    **dict.fromkeys(("pin", "unpin", "mark", "unmark"), Rule(changes=True, action="pin or mark documents")),
    "doctor": Rule(action="examine the index"),
    "why": Rule(action="ask about files on disk"),
    "absence": Rule(action="ask about files on disk"),
    "evaluate": Rule(action="read benchmarks from disk"),
}


class RestrictedIndex:
    """Wraps an index, and forwards the members in `RULES` if the permissions allow it.

    The wrapped index must read its configuration through the same permissions. Then collections that are not
    visible do not exist for searches, listings and error messages. See `Index.limited`.
    """

    def __init__(self, index: Any, permissions: Permissions) -> None:
        self._index = index
        self._permissions = permissions

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        rule = RULES.get(name)
        if rule is None:
            raise AttributeError(f"a restricted index has no attribute '{name}'")
        member = getattr(self._index, name)
        return partial(self._call, rule, member) if inspect.ismethod(member) else member

    def status(self) -> Any:
        """Return the status of the visible collections."""
        status = self._index.status()
        if self._permissions.collections is None:
            return status
        # The size, the vectors and the notes concern the whole index.
        watcher = status.watcher and status.watcher.only(self._index.config.collections)
        return replace(status, size=0, vectors=(), notes=(), watcher=watcher)

    def _call(self, rule: Rule, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if rule is not _READ:
            self._check(rule, inspect.signature(method).bind(*args, **options).arguments)
        return method(*args, **options)

    def _check(self, rule: Rule, arguments: dict[str, Any]) -> None:
        """Raise unless a call with these arguments is allowed."""
        if rule.collections is not None:
            names = arguments.get(rule.collections, ())
            for name in (names,) if isinstance(names, str) else names:
                self._index.collection(name)
        if rule.place is not None:
            from qmd.engine.places import context_target

            collection, _ = context_target(self._index.config, arguments[rule.place])
            if collection is None:
                self._permissions.require_all("change what is said of all collections")
        if rule.changes:
            self._permissions.require_write()
        if rule.action is not None:
            self._permissions.require_all(rule.action)

"""An index that is restricted by the permissions of a caller."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from msgspec.structs import replace

from qmd.engine.access.masks import masker_of
from qmd.engine.access.permissions import Permissions
from qmd.engine.access.rules import Rule
from qmd.engine.calls import check_arguments, not_copied
from qmd.engine.places import context_target
from qmd.errors import NotFoundError
from qmd.text.wording import visible

_READ = Rule()
#: All members of a restricted index, by rule. So a new method of `Index` needs a rule.
_MEMBERS = {
    # Reading needs no check, because the configuration that it goes by lists the visible collections only.
    _READ: """
        authors backlinks collection collection_statuses config contexts documents explain_no_documents
        field_values fields fields_of file_on_disk get history indexed_at lacking_vectors link_lists links
        locations missing_vectors multi_get notes orphans outline query recent run search similar
        tags titles_of undescribed unresolved_links viewable_file vsearch
        close embed_texts limited model_loaded model_provider models permissions pullable release_models
        settings trust
    """,
    Rule(changes=True, collections="collections"): "embed update",
    Rule(changes=True, collections="collection"): "rescan",
    Rule(changes=True): "refresh",
    Rule(changes=True, place="target"): "add_context remove_context",
    Rule(changes=True, action="add one"): "add_collection",
    # A removed collection could not be added again.
    Rule(changes=True, collections="name", action="remove one"): "remove_collection",
    # The new name would be outside the permissions.
    Rule(changes=True, collections="old", action="rename one"): "rename_collection",
    Rule(changes=True, collections="name", action="change what is indexed"): "change_collection",
    Rule(changes=True, action="clean up"): "cleanup",
    Rule(changes=True, action="copy the index"): "backup",
    Rule(changes=True, action="fetch models, which everyone's searches use"): "pull",
    Rule(changes=True, action="pin or mark documents"): "mark pin unmark unpin",
    Rule(action="list the pins and marks of everyone"): "marks marks_digest",
    Rule(action="ask about files on disk"): "absence changed_on_disk",
}
RULES = {name: rule for rule, names in _MEMBERS.items() for name in names.split()}
#: The methods that change one setting of a collection, and its field.
SETTERS = {
    "include_collection": "include_by_default",
    "set_agents": "agents",
    "set_gitignore": "gitignore",
    "set_pattern": "pattern",
    "set_recency": "recency",
    "set_update_command": "update",
    "set_weight": "weight",
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

    __reduce__ = not_copied

    def __getattr__(self, name: str) -> Any:
        rule = RULES.get(name) or self._index._rule_of_part(name)
        if name in SETTERS:
            rule = _rule_of_setting(SETTERS[name])
        if rule is None:
            raise AttributeError(f"a restricted index has no attribute '{name}'")
        member = getattr(self._index, name)
        return partial(self._call, rule, member) if inspect.ismethod(member) else member

    def configure(self, name: str, /, **changes: Any) -> None:
        """Change settings of a collection, if each may be changed."""
        for field in changes:
            self._check(_rule_of_setting(field), {"name": name})
        self._index.configure(name, **changes)

    def status(self) -> Any:
        """Return the status of the visible collections."""
        status = self._index.status()
        if self._permissions.collections is None and not self._permissions.agent:
            return status
        # The size, the vectors and the notes concern the whole index.
        watcher = status.watcher and status.watcher.only(self._index.config.collections)
        return replace(status, size=0, vectors=(), notes=(), watcher=watcher)

    def marks(self) -> Any:
        """Return the pins and marks; for agents those of documents that they may see, for briefings."""
        if not self._permissions.agent or self._permissions.collections is not None:
            self._check(RULES["marks"], {})
        marks = self._index.marks()
        if not self._permissions.agent:
            return marks
        mask = masker_of(self._index.config).mask
        return [replace(mark, query=mask(mark.query)) for mark in marks if mark.indexed]

    def file_on_disk(self, reference: str) -> Any:
        """Return the path of a file, whose bytes are not masked. Raises `NotFoundError` for agents."""
        if self._permissions.agent:
            raise NotFoundError(f"There is no file {visible(reference)[:200]}", "agents get texts alone")
        return self._index.file_on_disk(reference)

    def viewable_file(self, *arguments: Any) -> Any:
        """Return the reference of a file for `file_on_disk`; None for agents."""
        return None if self._permissions.agent else self._index.viewable_file(*arguments)

    def _call(self, rule: Rule, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if rule is not _READ:
            check_arguments(method, args, options)
            self._check(rule, inspect.signature(method).bind(*args, **options).arguments)
        return method(*args, **options)

    def _check(self, rule: Rule, arguments: dict[str, Any]) -> None:
        """Raise unless a call with these arguments is allowed."""
        if rule.collections is not None:
            names = arguments.get(rule.collections, ())
            for name in (names,) if isinstance(names, str) else names:
                self._index.collection(name)
        if rule.place is not None:
            collection, _ = context_target(self._index.config, arguments[rule.place])
            if collection is None:
                self._permissions.require_all("change what is said of all collections")
        if rule.changes:
            self._permissions.require_write()
        if rule.action is not None:
            self._permissions.require_all(rule.action)


def _rule_of_setting(field: str) -> Rule:
    from qmd.config.schema import SETTINGS  # with the parser, which a search does not need

    action = SETTINGS[field].action if field in SETTINGS else None  # The index refuses others.
    return Rule(changes=True, collections="name", action=action)

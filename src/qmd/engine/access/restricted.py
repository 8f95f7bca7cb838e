"""An index that is restricted by the permissions of a caller."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from msgspec.structs import replace

from qmd.engine.access.masks import masker_of
from qmd.engine.access.permissions import Permissions
from qmd.engine.access.rules import READ, Rule, rule_of_setting
from qmd.engine.calls import check_arguments, not_copied
from qmd.engine.places import context_target
from qmd.errors import NotFoundError
from qmd.text.wording import visible

#: The members of `Index` that are not methods of its parts, whose rules stand with them.
MEMBERS = frozenset(
    """
        close config limited locations model_provider notes permissions query run search settings similar
        trust vsearch
    """.split()
)


class RestrictedIndex:
    """Wraps an index, and forwards members that have a rule if the permissions allow it.

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
        rule = READ if name in MEMBERS else self._index._rule_of_part(name)
        if rule is None:
            raise AttributeError(f"a restricted index has no attribute '{name}'")
        member = getattr(self._index, name)
        return partial(self._call, rule, member) if inspect.ismethod(member) else member

    def configure(self, name: str, /, **changes: Any) -> None:
        """Change settings of a collection, if each may be changed."""
        for field in changes:
            self._check(rule_of_setting(field), {"name": name})
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
            self._permissions.require_all("list the pins and marks of everyone")
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
        if rule is not READ:
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

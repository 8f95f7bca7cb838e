"""The parts of `Index`: classes of its methods, each imported when one of its methods is first used.

Features and other packages add parts by the group `qmd.parts`, by the names of their methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from qmd.engine.calls import call
from qmd.engine.workspace import Workspace
from qmd.plugins import Table

if TYPE_CHECKING:
    from qmd.engine.access.rules import Rule
    from qmd.engine.requests import SearchRequest
    from qmd.types import SearchResponse
    from qmd.types.cancelling import Cancelled

    class Searches(Protocol):
        """The methods of the index that a part outside the core uses, beside the workspace."""

        def run(
            self, kind: str, request: SearchRequest, *, cancelled: Cancelled | None = None
        ) -> SearchResponse: ...


class Part:
    """Methods that are those of `Index` as well. They use its workspace, and no other state.

    No two parts have a member of the same name, including names that begin with `_`.

    Attributes:
        _rules: The permissions that the methods of a part outside the core ask of a restricted caller.
            A restricted index lacks methods without a rule.
        _calls: What a call of a method is inside of; for an index that counts the calls that run.
    """

    _rules: Mapping[str, Rule] = {}
    _calls: AbstractContextManager[None] = nullcontext()

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @staticmethod
    def _rule_of_part(name: str) -> Rule | None:
        """Return the rule of a method outside the core; None if there is no such method."""
        part = None if name.startswith("_") else PARTS.load(name)
        return None if part is None else part._rules.get(name)

    def __getattr__(self, name: str) -> Any:
        """Look a method up in the parts outside the core."""
        part = None if name.startswith("_") else PARTS.load(name)
        if part is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        _add_members(type(self), part)
        return getattr(self, name)


#: The classes of methods that features and other packages add, by the names of the methods.
PARTS = Table("qmd.parts", {}, type)


def imported_on_use(parts: Mapping[str, str]) -> type[Part]:
    """Return a class with methods of other classes, given as `module.Class` and the names of its methods."""
    methods = {name: _Method(path) for path, names in parts.items() for name in names.split()}
    return type("Parts", (Part,), methods)


class _Method:
    """Stands for a method of the class at `path`. When it is looked up, that class gives all its methods."""

    def __init__(self, path: str) -> None:
        self._module, _, self._class = path.rpartition(".")

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: type) -> Any:
        part = getattr(import_module(self._module), self._class)
        _add_members(self._owner, part)
        return vars(self._owner)[self._name].__get__(instance, owner)


def _add_members(owner: type, part: type) -> None:
    for name, member in vars(part).items():
        if not name.startswith("__") and name != "_rules":
            setattr(owner, name, member if name[0] == "_" else call(member))

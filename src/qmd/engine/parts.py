"""The parts of `Index`: classes of its methods, each imported when one of its methods is first used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from qmd.engine.workspace import Workspace


class Part:
    """Methods that are those of `Index` as well. They use its workspace, and no other state.

    No two parts have a member of the same name, including names that begin with `_`.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace


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
        part = vars(getattr(import_module(self._module), self._class))
        for name, member in part.items():
            if not name.startswith("__"):
                setattr(self._owner, name, member)
        return part[self._name].__get__(instance, owner)

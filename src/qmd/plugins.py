"""Tables of the parts that features and other packages add: formats, stores, models, commands and methods.

A table names the built-in parts: of the core, and of `qmd.features`. Packages register theirs as entry points
in the group of the table, and are asked only for names that the table lacks, so that they cost no time
otherwise. If a package has a part with the name of a built-in one, the built-in part is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any

from qmd import features
from qmd.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The tables by group, as far as their modules are imported.
TABLES: dict[str, Table] = {}


class Table:
    """Parts by name.

    Args:
        group: The group of entry points.
        builtin: The parts of the core by name, as `module` or `module:attribute`.
        kind: The class or runtime-checkable protocol of the parts, or `module:attribute`, resolved on use.
    """

    def __init__(self, group: str, builtin: Mapping[str, str], kind: Any) -> None:
        self.group = group
        self.builtin = dict(builtin)
        #: The parts of features that are not here, with the feature.
        self.missing: dict[str, str] = {}
        for feature, name, target in features.rows(group):
            if features.is_here(feature):
                self.builtin[name] = target
            else:
                self.missing[name] = feature
        self._kind = kind
        TABLES[group] = self

    @property
    def kind(self) -> Any:
        """The class or protocol of the parts."""
        return resolve(self._kind) if isinstance(self._kind, str) else self._kind

    def load(self, name: str) -> Any | None:
        """Return the part with this name; None if there is none.

        Raises:
            PluginError: If the package that has the part cannot be loaded, or the feature is not installed.
        """
        if name in self.missing:
            raise PluginError(
                f"'{name}' belongs to the feature '{self.missing[name]}', which this installation lacks",
                "install qmd-python again",
            )
        target = self.builtin.get(name)
        if target is not None:
            return resolve(target)
        entry = self.entry(name)
        return None if entry is None else load(entry, self.kind)

    def entry(self, name: str) -> EntryPoint | None:
        """Return the entry point of the part with this name; None if it is built in or there is none."""
        if name in self.builtin:
            return None
        return next((entry for entry in entries(self.group) if entry.name == name), None)

    def parts(self) -> Iterator[Any]:
        """Yield all parts. Raises as `load`."""
        return (part for name in self.names() if (part := self.load(name)) is not None)

    def names(self) -> list[str]:
        """Return the names of all parts."""
        return list(dict.fromkeys([*self.builtin, *(entry.name for entry in entries(self.group))]))


def resolve(target: str) -> Any:
    """Return the object that `module` or `module:attribute` names."""
    module, _, attributes = target.partition(":")
    return reduce(getattr, filter(None, attributes.split(".")), import_module(module))


@cache
def entries(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of the installed packages, by name and package; the first of a name is used."""
    if not _mentioned(group):
        return ()
    from importlib.metadata import entry_points

    try:
        return tuple(sorted(entry_points(group=group), key=lambda entry: (entry.name, package_of(entry))))
    except Exception as error:
        raise PluginError(f"cannot list the installed packages: {error}", "run 'pip check'") from error


def _mentioned(group: str) -> bool:
    """Return whether an installed package may have entry points in a group.

    Few have, and `importlib.metadata` takes longer to import than an update without a change.
    """
    name = group.encode()
    for folder in dict.fromkeys(sys.path):
        if os.path.isfile(folder):
            return True  # an archive: not looked into
        try:
            with os.scandir(folder or ".") as items:
                found = [each.path for each in items if each.name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for package in found:
            with suppress(OSError), open(os.path.join(package, "entry_points.txt"), "rb") as file:
                if name in file.read():
                    return True
    return False


def package_of(entry: EntryPoint) -> str:
    """Return the name and version of the package that has an entry point."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


def load(entry: EntryPoint, kind: Any) -> Any:
    """Return the part of an entry point. Raises `PluginError` if that fails or it is of the wrong kind."""
    part = _load(entry, kind)
    if isinstance(part, PluginError):
        raise part.with_traceback(None)
    return part


@cache
def _load(entry: EntryPoint, kind: Any) -> Any:
    """Return the part or the error, so that a module that cannot be imported is tried once."""
    try:
        part = entry.load()
        if isinstance(part, kind):
            return part
        failure: BaseException | None = None
        reason = f"{entry.value} lacks what docs/plugins.md asks for"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of another package
        failure, reason = error, f"{type(error).__name__}: {error}"
    problem = PluginError(
        f"the package '{package_of(entry)}' is broken ({entry.group}: {entry.name}): {reason}",
        "upgrade or uninstall it",
    )
    problem.__cause__ = failure
    return problem

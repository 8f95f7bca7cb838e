"""What the page shows of the index itself, and the changes that it offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qmd.engine.index import Index
from qmd.errors import ForbiddenError, UsageError
from qmd.types import DEFAULT_PATTERN
from qmd.web.jobs import Job

if TYPE_CHECKING:
    from qmd.engine.models.usage import ModelUse
    from qmd.engine.upkeep.status import Status
    from qmd.server.keys import Key, Keys

#: The values of a form by name; of a name that is repeated, all of them.
Form = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the page offers to the holder of a key. What is not permitted is not shown."""

    write: bool
    everything: bool

    @classmethod
    def of(cls, key: Key | None, index: Index) -> Permissions:
        """Return the permissions of a key; without keys everything that can be done with the index."""
        write = not index.locations.portable
        if key is None:
            return cls(write, True)
        return cls(write and not key.read_only, key.collections is None)

    @property
    def manage(self) -> bool:
        return self.write and self.everything


@dataclass(frozen=True, slots=True)
class View:
    """The state of an index."""

    status: Status
    contexts: tuple[tuple[str, str], ...]
    models: tuple[ModelUse, ...]
    keys: tuple[Key, ...]


def view(index: Index, permissions: Permissions, keys: Keys | None) -> View:
    """Return the state of the index as a caller may see it."""
    return View(
        index.status(),
        tuple(index.contexts()),
        index.models(),
        keys.all() if keys is not None and permissions.manage else (),
    )


def change(index: Index, action: str, form: Form) -> None:
    """Make a change that takes no time. Raises `UsageError` for an unknown one, and as the index."""
    make = _CHANGES.get(action)
    if make is None:
        raise UsageError(f"unknown change: {action[:40]}")
    make(index, form)


def one(form: Form, name: str, *, required: bool = True) -> str:
    """Return the value of a field of a form. Raises `UsageError` if it is required and missing."""
    value = form.get(name, [""])[0].strip()
    if required and not value:
        raise UsageError(f"{name} is missing")
    return value


def scan(index: Index, job: Job, collections: tuple[str, ...] = ()) -> None:
    """Scan collections, without their update commands."""
    reports = index.update(
        collections,
        commands=False,
        on_progress=lambda collection, done, total: job.progress(done, total, collection),
    )
    job.results = {
        "added": sum(report.added for report in reports),
        "updated": sum(report.updated for report in reports),
        "removed": sum(report.removed for report in reports),
    }
    problems = [f"{report.collection}: {report.error.in_one_line()}" for report in reports if report.error]
    problems += [f"{path}: {reason}" for report in reports for path, reason in report.problems[:5]]
    job.message = "; ".join(problems[:5])


def embed(index: Index, job: Job) -> None:
    """Make the missing vectors."""
    report = index.embed(on_progress=lambda progress: job.progress(progress.texts_done, progress.texts_total))
    job.results = {"embedded": report.texts}


def add(index: Index, job: Job, path: str, name: str, pattern: str) -> None:
    """Add a collection and scan it."""
    report = index.add_collection(
        path,
        name or None,
        pattern=pattern or DEFAULT_PATTERN,
        on_progress=lambda collection, done, total: job.progress(done, total, collection),
    )
    job.results = {"added": report.added, "updated": report.updated, "removed": report.removed}
    job.message = "; ".join(f"{path}: {reason}" for path, reason in report.problems[:5])


def check_path(path: str) -> str:
    """Return the folder of a new collection. Raises `UsageError` if it is relative."""
    if not path.startswith(("/", "~")):
        raise UsageError(f"path: {path} is relative", "give an absolute path on this machine")
    return path


def require(permitted: bool, action: str) -> None:
    """Raise `ForbiddenError` unless an action is permitted."""
    if not permitted:
        raise ForbiddenError(f"this key may not {action}")


_CHANGES: Mapping[str, Callable[[Index, Form], object]] = {
    "rename": lambda index, form: index.rename_collection(one(form, "name"), one(form, "new_name")),
    "remove": lambda index, form: index.remove_collection(one(form, "name")),
    "pattern": lambda index, form: index.set_pattern(one(form, "name"), one(form, "pattern")),
    "describe": lambda index, form: index.add_context(one(form, "place"), one(form, "text")),
    "undescribe": lambda index, form: index.remove_context(one(form, "place")),
}

"""The state of the index on the page, and the changes that the page offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from qmd.api import operations
from qmd.engine.index import Index
from qmd.errors import AlreadyRunningError, ForbiddenError, UsageError
from qmd.features.page.forms import Form, one
from qmd.features.page.jobs import Job
from qmd.types import DEFAULT_PATTERN

if TYPE_CHECKING:
    from qmd.api.operations import ScanReport
    from qmd.server.keys import Key, Keys


class Permissions(Struct, frozen=True):
    """The changes that the page offers to the holder of a key. Only permitted ones are shown."""

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


def view(index: Index, permissions: Permissions, keys: Keys | None) -> dict[str, Any]:
    """Return the state of the index as a caller may see it, for the template."""
    return {
        "state": operations.state_of(index),
        "contexts": index.contexts(),
        "models": index.models(),
        "keys": keys.all() if keys is not None and permissions.manage else (),
    }


def change(index: Index, action: str, form: Form) -> None:
    """Make a change that takes no time. Raises `UsageError` for an unknown one, and as the index."""
    make = _CHANGES.get(action)
    if make is None:
        raise UsageError(f"unknown change: {action[:40]}")
    make(index, form)


def scan(index: Index, job: Job, collections: tuple[str, ...] = ()) -> None:
    """Scan collections, without their update commands."""
    reports = index.update(
        collections,
        commands=False,
        on_progress=lambda collection, done, total: job.progress(done, total, collection),
    )
    _record(job, reports)


def _record(job: Job, reports: Sequence[ScanReport]) -> None:
    """Keep the numbers and problems of scans for the page."""
    job.results = {
        name: sum(getattr(report, name) for report in reports) for name in ("added", "updated", "removed")
    }
    problems = [f"{report.collection}: {report.error.in_one_line()}" for report in reports if report.error]
    problems += [f"{path}: {reason}" for report in reports for path, reason in report.problems[:5]]
    problems += [f"{report.collection}: {line}" for report in reports for line in report.waits()]
    job.message = "; ".join(problems[:5])


def embed(index: Index, job: Job) -> None:
    """Make the missing vectors, or have them made by the process that does so already."""
    try:
        report = index.embed(
            on_progress=lambda progress: job.progress(progress.texts_done, progress.texts_total),
            cancelled=lambda: job.stopping,
        )
    except AlreadyRunningError as error:
        job.message = error.in_one_line()
    else:
        job.results = {"embedded": report.texts}


def add(index: Index, job: Job, path: str, name: str, pattern: str) -> None:
    """Add a collection and scan it."""
    report = operations.add_folder(
        index,
        path,
        name or None,
        pattern or DEFAULT_PATTERN,
        lambda collection, done, total: job.progress(done, total, collection),
    )
    _record(job, [report])


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

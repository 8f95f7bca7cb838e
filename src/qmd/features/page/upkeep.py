"""The state of the index on the page, and the changes that the page offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.api import operations
from qmd.api.shown import installed_formats
from qmd.engine.index import Index
from qmd.errors import AlreadyRunningError, UsageError
from qmd.features.page.forms import Form, one
from qmd.features.page.jobs import Job
from qmd.types import DEFAULT_PATTERN, Collection

if TYPE_CHECKING:
    from qmd.api.operations import ScanReport
    from qmd.server.keys import Keys


#: Why texts have no vectors yet, by the state of the process that watches.
_MAKING = {
    "running": "Vectors are being made by {command}",
    "waiting": "Vectors are made by {command} as soon as it is idle",
    "idle": "Vectors are made by {command} as soon as it is idle",
    "off": "No process makes them: use the button, or run 'qmd embed'",
}


def view(index: Index, keys: Keys | None) -> dict[str, Any]:
    """Return the state of the index as a caller may see it, for the template."""
    return {
        "state": operations.state_of(index),
        "contexts": index.contexts(),
        "models": index.models(),
        "waiting": _waiting(index),
        "formats": ["all", *installed_formats()],
        "settings": _settings(index),
        "keys": keys.all() if keys is not None and index.permissions.manage else (),
    }


def _settings(index: Index) -> Mapping[str, Collection]:
    """Return the collections that the caller may change, by name."""
    if not index.permissions.manage:
        return {}
    return {each.name: index.collection(each.name) for each in index.collection_statuses()}


def _waiting(index: Index) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Return why texts have no vectors, and other notes on the state of the index, with their values."""
    status = index.status()
    found: list[tuple[str, Mapping[str, str]]] = []
    # Who sees only some collections is not told of vectors.
    if status.needs_embedding and (state := status.watcher.embedding if status.watcher else "off"):
        reason = _MAKING.get(state, "They are waiting, because {reason}")
        found = [(reason, {"reason": state, "command": status.watcher.command if status.watcher else ""})]
    return (*found, *((note, {}) for note in status.notes))


def change(index: Index, action: str, form: Form) -> None:
    """Make a change that takes no time. Raises `UsageError` for an unknown one, and as the index."""
    make = CHANGES.get(action)
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


def add(index: Index, job: Job, path: str, form: Form) -> None:
    """Add a collection and scan it."""
    name, formats = one(form, "name", required=False), _chosen(form)
    pattern = one(form, "pattern", required=False) or (None if formats else DEFAULT_PATTERN)
    report = index.add_collection(
        path,
        name or None,
        pattern=pattern,
        formats=formats,
        ignore=_lines(form, "ignore"),
        on_progress=lambda collection, done, total: job.progress(done, total, collection),
    )
    _record(job, [report])


def edit(index: Index, job: Job, form: Form) -> None:
    """Change what a collection has, and scan it."""
    name, formats = one(form, "name"), _chosen(form)
    report = index.change_collection(
        name,
        new_name=one(form, "new_name"),
        pattern=one(form, "pattern", required=False) or ("" if formats else DEFAULT_PATTERN),
        formats=formats,
        ignore=_lines(form, "ignore"),
        gitignore="gitignore" in form,
        on_progress=lambda collection, done, total: job.progress(done, total, collection),
    )
    _record(job, [report])


def _chosen(form: Form) -> list[str]:
    return [each for each in form.get("format", []) if each]


def _lines(form: Form, name: str) -> list[str]:
    """Return the lines of a field that are not empty."""
    return [line.strip() for line in one(form, name, required=False).splitlines() if line.strip()]


CHANGES: Mapping[str, Callable[[Index, Form], object]] = {
    "remove": lambda index, form: index.remove_collection(one(form, "name")),
    "describe": lambda index, form: index.add_context(one(form, "place"), one(form, "text")),
    "undescribe": lambda index, form: index.remove_context(one(form, "place")),
}

"""Bring collections up to date with their folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from qmd.engine.indexing import scan
from qmd.engine.requests import collections_of
from qmd.engine.workspace import Workspace
from qmd.errors import CollectionNotFoundError, ConfigError, QmdError, SourceError
from qmd.models.base import Cancelled
from qmd.processes import run
from qmd.sources import git
from qmd.types import Collection

#: Brings the files of a collection up to date; returns a notice for the report.
_Step = Callable[[Collection], str | None]


def update(
    workspace: Workspace,
    names: Sequence[str],
    *,
    pull: bool,
    commands: bool,
    allow_empty: bool,
    on_progress: scan.OnProgress | None,
    on_report: Callable[[scan.ScanReport], None] | None,
) -> list[scan.ScanReport]:
    """Scan the collections of these names, all if there are none; see `Index.update`.

    An error in one collection is reported and does not stop the others.
    """
    config, store, owner = workspace.config, workspace.store, workspace.locations.config
    collections_of(config, names)
    refuse_to_empty(workspace, allow_empty)
    workspace.sync(drop=allow_empty)
    unpulled = workspace.configuration.trust.unpulled() if pull else {}
    reports = []
    for collection in config.collections.values():
        if names and collection.name not in names:
            continue
        steps: list[_Step] = [_run_update_command] if commands else []
        notices = [unpulled[collection.name]] if collection.name in unpulled else []
        if pull and not notices:
            steps.append(git.pull)
        step_error = _run(steps, collection, notices)
        try:
            report = scan.scan(store, collection, on_progress, owner=owner, allow_empty=allow_empty)
        except (SourceError, CollectionNotFoundError) as error:
            # CollectionNotFoundError: another process has removed or renamed the collection meanwhile.
            report = scan.ScanReport(collection.name, error=error)
        report.error = report.error or step_error
        report.notices = [*notices, *report.notices]
        reports.append(report)
        if on_report is not None:
            on_report(report)
    if not names and not any(report.error for report in reports):
        # A text may have moved from one collection to another, so unused texts are known only now.
        store.documents.prune()
    store.documents.refresh_statistics()
    return reports


def rescan(
    workspace: Workspace,
    name: str,
    within: Sequence[str],
    *,
    record: bool,
    on_change: scan.OnChange | None = None,
    cancelled: Cancelled | None = None,
) -> scan.ScanReport:
    """Compare files of one collection with the index; see `Index.rescan`."""
    config, store, owner = workspace.config, workspace.store, workspace.locations.config
    collections_of(config, [name])
    refuse_to_empty(workspace)
    workspace.sync()
    try:
        report = scan.scan(
            store,
            config.collections[name],
            None if cancelled is None else scan.stop_if(cancelled),
            owner=owner,
            within=within,
            record=record,
            on_change=on_change,
        )
    except (SourceError, CollectionNotFoundError) as error:
        return scan.ScanReport(name, error=error)
    if report.added or report.removed:
        store.documents.refresh_statistics()
    return report


def _run(steps: Sequence[_Step], collection: Collection, notices: list[str]) -> QmdError | None:
    """Run steps and add their notices, until one fails; return its error."""
    for step in steps:
        try:
            notice = step(collection)
        except QmdError as error:
            return error
        if notice:
            notices.append(notice)
    return None


def _run_update_command(collection: Collection) -> str | None:
    """Run a collection's `update` command, if it has one, in its folder; return its last line of output."""
    if not collection.update:
        return None
    process = run(collection.update, folder=collection.path)
    output = (process.stdout + process.stderr).strip().splitlines()
    if process.returncode != 0:
        raise SourceError(
            f"collection '{collection.name}': its update command failed with code {process.returncode}"
            + (f": {output[-1]}" if output else ""),
            f"the command is: {collection.update}",
        )
    return output[-1] if output else ""


def refuse_to_empty(workspace: Workspace, allow_empty: bool = False) -> None:
    """Raise `ConfigError` if the configuration names no collections, but the index holds documents.

    A configuration file that is missing or empty more likely is a mistake than a wish to remove everything.
    """
    if workspace.configuration.read().collections:
        return
    path, store = workspace.locations.config, workspace.store
    names = [name for name, stats in store.collections.stats().items() if stats.documents]
    if not names:
        return
    with workspace.permissions.hide_names("the configuration is missing"):
        if not os.path.exists(path):
            raise ConfigError(
                f"{path} is missing, and the index holds documents of: {', '.join(names)}",
                f"restore the file, or delete {store.location} to start with an empty index",
            )
        if not allow_empty:
            raise ConfigError(
                f"{path} names no collections, and the index holds documents of: {', '.join(names)}",
                "correct it; to remove them from the index, run 'qmd update --allow-empty'",
            )

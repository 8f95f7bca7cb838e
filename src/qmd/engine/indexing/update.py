"""Bring collections up to date with their folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from qmd.engine.indexing import scan
from qmd.engine.requests import collections_of
from qmd.engine.workspace import Workspace
from qmd.errors import ConfigError


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
    """Scan the collections of these names, all if there are none; see `Index.update`."""
    config, store = workspace.config, workspace.store
    collections_of(config, names)
    refuse_to_empty(workspace, allow_empty)
    workspace.sync(drop=allow_empty)
    reports = []
    for report in scan.scan_all(
        store,
        [item for item in config.collections.values() if not names or item.name in names],
        pulling=pull,
        unpulled=workspace.configuration.trust.unpulled() if pull else None,
        commands=commands,
        owner=workspace.locations.config,
        allow_empty=allow_empty,
        on_progress=on_progress,
    ):
        reports.append(report)
        if on_report is not None:
            on_report(report)
    if not names and not any(report.error for report in reports):
        # A text may have moved from one collection to another, so unused texts are known only now.
        store.documents.prune()
    store.documents.refresh_statistics()
    return reports


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

"""Bring collections up to date with their folders."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from qmd.config.locations import Locations
from qmd.engine.access.rules import READ, Rule
from qmd.engine.embedding.unasked import lacking_vectors
from qmd.engine.indexing import scan
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.engine.workspace import Workspace, opened_in_child
from qmd.errors import CollectionNotFoundError, ConfigError, QmdError, SourceError, StoreError
from qmd.processes import call, run
from qmd.sources import clone
from qmd.types import Collection
from qmd.types.cancelling import Cancelled, stop_if_cancelled

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: The priority of a scan in the background: lower than that of searches, higher than that of embedding.
_NICE = 10
#: Seconds between two questions whether such a scan is cancelled.
_CHECK_SECONDS = 0.2
#: Brings the files of a collection up to date; returns a notice for the report.
_Step = Callable[[Collection], str | None]


class UpdateMethods(Part, rule=READ):
    """Bring collections up to date with their folders."""

    _rules: Mapping[str, Rule] = {
        "rescan": Rule(changes=True, collections="collection"),
        "update": Rule(changes=True, collections="collections"),
    }

    def update(
        self,
        collections: Sequence[str] = (),
        *,
        pull: bool = False,
        commands: bool = True,
        allow_empty: bool = False,
        failed: bool = False,
        on_progress: scan.OnProgress | None = None,
        on_report: Callable[[scan.ScanReport], None] | None = None,
    ) -> list[scan.ScanReport]:
        """Bring collections (all, if none is named) up to date with their folders.

        If a folder is missing, its report has an `error`, and its documents stay. What a project asks for
        without approval is left out; see `trust`.

        Args:
            collections: Names of collections.
            pull: First run `git pull --ff-only` in folders that are git work trees.
            commands: First run the update commands of the collections.
            allow_empty: Also remove documents if that may be a mistake: all documents of a folder that is
                empty or was replaced by another one, and collections that the configuration no longer names
                if it names none, or if the index belongs to another configuration. Otherwise the former is an
                `error` in the report, and the latter raises `ConfigError`.
            failed: Also read unchanged files again that could not be read.
            on_progress: Called with collection, files done and files in total.
            on_report: Called with each report as soon as it is complete.
        """
        workspace = self._workspace
        config, store, owner = workspace.config, workspace.store, workspace.locations.config
        agent = workspace.permissions.agent
        collections_of(config, collections)
        refuse_to_empty(workspace, allow_empty)
        workspace.sync(drop=allow_empty)
        unpulled = workspace.configuration.trust.unpulled(told=not agent) if pull else {}
        reports = []
        for collection in config.collections.values():
            if collections and collection.name not in collections:
                continue
            steps: list[_Step] = [_run_update_command] if commands else []
            notices = [unpulled[collection.name]] if collection.name in unpulled else []
            if pull and not notices:
                steps.append(clone.pull)
            step_error, began = None, time.monotonic()
            try:
                for step in steps:
                    notices += filter(None, [step(collection)])
            except QmdError as error:
                step_error = error
            try:
                report = scan.scan(
                    store,
                    collection,
                    on_progress,
                    owner=owner,
                    allow_empty=allow_empty,
                    anew=failed,
                    processes=workspace.settings.threads,
                )
            except (SourceError, CollectionNotFoundError) as error:
                # CollectionNotFoundError: another process has removed or renamed the collection meanwhile.
                report = scan.ScanReport(collection.name, error=error)
            report.error = report.error or step_error
            report.seconds = time.monotonic() - began
            report.notices = [*notices, *report.notices]
            if agent:
                mask = workspace.masker.mask
                report.problems = [(mask(path), mask(reason)) for path, reason in report.problems]
                report.notices = [*map(mask, report.notices)]
            reports.append(report)
            if on_report is not None:
                on_report(report)
        if not collections and not any(report.error for report in reports):
            # A text may have moved from one collection to another, so unused texts are known only now.
            store.documents.prune()
        store.documents.refresh_statistics()
        return reports

    def lacking_vectors(self, collections: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the collections, of these or of all, with texts without vectors. It loads no model.

        Collections are left out whose vectors are made on request only: by `embed` in index.yml, or because
        their texts would be sent to another machine.
        """
        workspace = self._workspace
        config = workspace.config
        collections_of(config, collections)
        return lacking_vectors(
            workspace.store, config, workspace.models, tuple(collections or config.collections)
        )

    def rescan(
        self,
        collection: str,
        within: Sequence[str] = (),
        *,
        record: bool = False,
        background: bool = False,
        on_change: scan.OnChange | None = None,
        cancelled: Cancelled | None = None,
    ) -> scan.ScanReport:
        """Compare files of one collection with the index, as `update` does, and run no commands.

        Args:
            collection: The name of the collection.
            within: Paths of files and folders relative to the collection; all files if there are none.
            record: Also record the time of a scan that finds no change, which is a write.
            background: Scan in a process of low priority, and do not call `on_change`.
            on_change: Called with collection, path and the kind of change after a change has been stored.
            cancelled: Called between files; if it returns true, `CancelledError` is raised, and
                finished batches stay.

        Raises `CollectionNotFoundError`. If the folder is missing, the report has an `error`.
        """
        if background:
            return _rescan_in_child(self._workspace, collection, within, record, cancelled)
        workspace = self._workspace
        config, store, owner = workspace.config, workspace.store, workspace.locations.config
        collections_of(config, [collection])
        refuse_to_empty(workspace)
        workspace.sync()
        try:
            report = scan.scan(
                store,
                config.collections[collection],
                scan.stop_if(cancelled),
                owner=owner,
                within=within,
                record=record,
                on_change=on_change,
                processes=workspace.settings.threads,
            )
        except (SourceError, CollectionNotFoundError) as error:
            return scan.ScanReport(collection, error=error)
        if report.added or report.removed:
            store.documents.refresh_statistics()
        return report


def _rescan_in_child(
    workspace: Workspace, collection: str, within: Sequence[str], record: bool, cancelled: Cancelled | None
) -> scan.ScanReport:
    """Scan a collection in a process of low priority, so that searches of a server are not slowed down.

    In the server itself, the scan and the searches would share one interpreter lock. Raises the error of the
    scan, `StoreError` if the process dies, and `CancelledError`. What was finished before stays in the index.
    """
    stop_if_cancelled(cancelled)
    task = workspace.locations, dict(workspace.environ), collection, tuple(within), record
    process, messages = call(_child, *task)
    try:
        while not messages.poll(_CHECK_SECONDS):
            stop_if_cancelled(cancelled)
        answer: scan.ScanReport | QmdError = messages.recv()
    except EOFError:
        raise StoreError(f"the process of the scan has died with code {process.wait()}") from None
    finally:
        messages.close()
        process.terminate()
        process.wait()
    if isinstance(answer, QmdError):
        raise answer
    return answer


def _child(
    locations: Locations,
    environ: Mapping[str, str],
    collection: str,
    within: Sequence[str],
    record: bool,
    sender: Connection,
) -> None:
    answer: scan.ScanReport | QmdError
    try:
        with opened_in_child(locations, environ, _NICE) as workspace:
            answer = UpdateMethods(workspace).rescan(collection, within, record=record)
    except QmdError as error:
        answer = error
    with suppress(BrokenPipeError):  # the server has ended
        sender.send(answer)


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

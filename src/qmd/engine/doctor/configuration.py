"""Checks of `index.yml` and of the folders that it names."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping

from qmd.config.index_yml import parse, read_bytes
from qmd.config.paths import Locations
from qmd.config.settings import Settings, resolve
from qmd.engine.access.project_trust import Trust
from qmd.engine.doctor.finding import Finding, failed, ok, problem, warning
from qmd.errors import ConfigError, QmdError
from qmd.sources.walk import walk
from qmd.store.base import OnStep
from qmd.types import Collection, Config


def read(path: str) -> Generator[Finding, None, Config | None]:
    """Check and return the configuration as written; None if it cannot be read."""
    try:
        data = read_bytes(path)
        written = parse(data, path)
    except ConfigError as error:
        yield failed("config", error)
        return None
    if not os.path.exists(path):
        yield ok("config", f"{path} does not exist yet", "'qmd collection add PATH' creates it")
    else:
        yield ok("config", f"{path} can be read")
    for unknown in written.unknown_keys:
        hint = f"did you mean '{unknown.nearest}'?" if unknown.nearest else "correct or remove it"
        yield warning("config", f"{path}:{unknown.line}: unknown key '{unknown.key}'", hint)
    return written


def permitted(
    written: Config, locations: Locations, environ: Mapping[str, str]
) -> Generator[Finding, None, Config | None]:
    """Return the configuration without settings that a project needs approval for; None on failure."""
    try:
        return Trust(locations.project, written, environ).permitted()
    except ConfigError as error:
        yield failed("config", error)
        return None


def settings(config: Config, environ: Mapping[str, str]) -> Generator[Finding, None, Settings | None]:
    """Return the settings in force; None if a variable has an invalid value."""
    try:
        return resolve(config, environ)
    except ConfigError as error:
        yield failed("environment", error)
        return None


def collections(config: Config, on_step: OnStep) -> Iterator[Finding]:
    """Check for missing folders, unmatched patterns, duplicate collections and confusing names."""
    by_files: dict[tuple[str, str], str] = {}
    by_name: dict[str, str] = {}
    for collection in config.collections.values():
        name = collection.name
        on_step(f"Checking {name}")
        yield _folder(collection)
        files = (os.path.realpath(collection.path), collection.pattern)
        if files in by_files:
            yield warning(
                "collection",
                f"'{name}' and '{by_files[files]}' contain the same files of {collection.path}",
                f"remove one: qmd collection remove {name}",
            )
        similar = by_name.setdefault(name.casefold(), name)
        if similar != name:
            yield warning(
                "collection",
                f"the names '{name}' and '{similar}' differ only in case",
                "rename one: qmd collection rename OLD NEW",
            )
        by_files.setdefault(files, name)


def contexts(config: Config) -> Iterator[Finding]:
    """Report collections without a context, which results are easier to judge with."""
    names = [collection.name for collection in config.collections.values() if not collection.context]
    if names and config.global_context is None:
        yield ok(
            "context",
            f"collections without a context: {', '.join(names)}",
            "describe their contents: qmd context add",
        )


def _folder(collection: Collection) -> Finding:
    problems: list[tuple[str, str]] = []
    try:
        files = walk(collection, lambda path, reason: problems.append((path, reason)))
        first = next(files, None)
    except QmdError as error:
        # The error's own hint is written for `qmd update`.
        return problem("collection", error.message, "restore the folder, or correct its path in index.yml")
    files_in = f"{collection.path} ({collection.pattern})"
    if first is None and problems:
        path, reason = problems[0]
        return problem(
            "collection", f"{collection.name}: {path}: {reason}", "correct the folder's permissions"
        )
    if first is None:
        return warning(
            "collection",
            f"{collection.name}: no file matches {files_in}",
            "correct the pattern in index.yml",
        )
    return ok("collection", f"{collection.name}: {files_in}")

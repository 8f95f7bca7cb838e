"""Checks of `index.yml` and of the folders that it names."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from shlex import quote

from qmd.config.index_yml import parse, read_bytes
from qmd.engine.finding import Finding, attempt, ok, problem, warning
from qmd.errors import QmdError
from qmd.sources.walk import walk
from qmd.store.values import OnStep
from qmd.types import Collection, Config


def read(path: str) -> Generator[Finding, None, Config | None]:
    """Check and return the configuration as written; None if it cannot be read."""
    written = yield from attempt("config", lambda: parse(read_bytes(path), path))
    if written is None:
        return None
    if not os.path.exists(path):
        yield ok("config", f"{path} does not exist yet", "'qmd add PATH' creates it")
    else:
        yield ok("config", f"{path} can be read")
    for unknown in written.unknown_keys:
        hint = f"did you mean '{unknown.nearest}'?" if unknown.nearest else "correct or remove it"
        yield warning("config", f"{path}:{unknown.line}: unknown key '{unknown.key}'", hint)
    return written


def collections(config: Config, on_step: OnStep) -> Iterator[Finding]:
    """Check for missing folders, unmatched patterns, duplicate collections and confusing names."""
    by_files: dict[tuple[str, str], str] = {}
    by_name: dict[str, str] = {}
    for collection in config.collections.values():
        name = collection.name
        on_step(f"Checking {name}")
        yield _folder(collection)
        same = by_files.setdefault((os.path.realpath(collection.path), collection.pattern), name)
        if same != name:
            message = f"'{name}' and '{same}' contain the same files of {collection.path}"
            yield warning("collection", message, f"remove one: 'qmd collection remove {name}'")
        similar = by_name.setdefault(name.casefold(), name)
        if similar != name:
            message = f"the names '{name}' and '{similar}' differ only in case"
            yield warning("collection", message, "rename one: 'qmd collection rename OLD NEW'")


def contexts(config: Config) -> Iterator[Finding]:
    """Report collections without a context, which results are easier to judge with."""
    names = [collection.name for collection in config.collections.values() if not collection.context]
    if names and config.global_context is None:
        message = f"collections without a context: {', '.join(names)}"
        yield ok("context", message, "describe their contents: 'qmd context add'")


def _folder(collection: Collection) -> Finding:
    name = collection.name
    problems: list[tuple[str, str]] = []
    try:
        first = next(walk(collection, lambda path, reason: problems.append((path, reason))), None)
    except QmdError as error:
        # The error's own hint is written for `qmd update`.
        return problem("collection", error.message, "restore the folder, or correct its path in index.yml")
    files = f"{collection.path} ({collection.selection})"
    if first is not None:
        return ok("collection", f"{name}: {files}")
    if problems:
        path, reason = problems[0]
        return problem("collection", f"{name}: {path}: {reason}", "correct the folder's permissions")
    command = f"choose others with 'qmd collection set {quote(name)} --mask GLOB'"
    return warning("collection", f"{name}: no file matches {files}", command)

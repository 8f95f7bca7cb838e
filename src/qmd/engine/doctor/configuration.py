"""What `index.yml` says, and whether the disk agrees."""

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
    """The configuration as it is written; None where it cannot be read."""
    try:
        data = read_bytes(path)
        written = parse(data, path)
    except ConfigError as error:
        yield failed("config", error)
        return None
    if not os.path.exists(path):
        yield ok("config", f"{path} is not there yet", "'qmd collection add PATH' makes it")
    else:
        yield ok("config", f"{path} can be read")
    for each in written.unknown_keys:
        meant = f"did you mean '{each.nearest}'?" if each.nearest else "correct or remove it"
        yield warning("config", f"{path}:{each.line}: unknown key '{each.key}'", meant)
    return written


def permitted(
    written: Config, locations: Locations, environ: Mapping[str, str]
) -> Generator[Finding, None, Config | None]:
    """The configuration without what a project may not do; None where that cannot be told."""
    try:
        return Trust(locations.project, written, environ).permitted()
    except ConfigError as error:
        yield failed("config", error)
        return None


def settings(config: Config, environ: Mapping[str, str]) -> Generator[Finding, None, Settings | None]:
    """What is in force; None where a variable has a value that it cannot have."""
    try:
        return resolve(config, environ)
    except ConfigError as error:
        yield failed("environment", error)
        return None


def collections(config: Config, on_step: OnStep) -> Iterator[Finding]:
    """Folders that are missing or hold nothing that matches, and names and places that are too alike."""
    seen: dict[tuple[str, str], str] = {}
    names: dict[str, str] = {}
    for each in config.collections.values():
        on_step(f"Looking into {each.name}")
        yield _folder(each)
        place = (os.path.realpath(each.path), each.pattern)
        if place in seen:
            yield warning(
                "collection",
                f"'{each.name}' and '{seen[place]}' are the same files of {each.path}",
                f"remove one: qmd collection remove {each.name}",
            )
        alike = names.setdefault(each.name.casefold(), each.name)
        if alike != each.name:
            yield warning(
                "collection",
                f"the names '{each.name}' and '{alike}' differ in case alone",
                "rename one: qmd collection rename OLD NEW",
            )
        seen.setdefault(place, each.name)


def contexts(config: Config) -> Iterator[Finding]:
    """Collections that nothing is said about. Answers are right without, and less easily judged."""
    silent = [each.name for each in config.collections.values() if not each.context]
    if silent and config.global_context is None:
        named = ", ".join(silent)
        yield ok("context", f"without a context: {named}", "say what they are about: qmd context add")


def _folder(collection: Collection) -> Finding:
    problems: list[tuple[str, str]] = []
    try:
        files = walk(collection, lambda path, reason: problems.append((path, reason)))
        first = next(files, None)
    except QmdError as error:
        # The hint of a scan says what the scan did.
        return problem("collection", error.message, "bring the folder back, or correct it in index.yml")
    where = f"{collection.path} ({collection.pattern})"
    if first is None and problems:
        path, reason = problems[0]
        return problem(
            "collection", f"{collection.name}: {path}: {reason}", "correct the folder's permissions"
        )
    if first is None:
        return warning(
            "collection", f"{collection.name}: no file matches {where}", "correct the pattern in index.yml"
        )
    return ok("collection", f"{collection.name}: {where}")

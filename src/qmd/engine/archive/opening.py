"""Opening the archive named in the call, in the environment, or in `index.yml`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from qmd.config.index_yml import load
from qmd.config.paths import Locations, locate
from qmd.engine.archive.archive import Archive
from qmd.errors import UsageError
from qmd.sources.problems import OnProblem
from qmd.sources.rules import is_inside

VARIABLE = "QMD_ARCHIVE_DIR"


def open_archive(
    data: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    environ: Mapping[str, str] | None = None,
    on_problem: OnProblem = lambda path, reason: None,
) -> Archive:
    """Open the archive in the folder `data`, else `QMD_ARCHIVE_DIR`, else `archive:` of `index.yml`.

    Args:
        data: The archive's folder.
        name: The index whose `index.yml` is read.
        environ: Environment variables; by default those of the process.
        on_problem: Called with (path, reason) for each file that cannot be read.

    Raises:
        UsageError: If no archive is named.
        ConfigError: If `index.yml` cannot be read.
    """
    variables = os.environ if environ is None else environ
    path = os.fspath(data) if data is not None else variables.get(VARIABLE, "").strip()
    folder = os.path.expanduser(path) if path else _configured(locate(name, variables, os.getcwd()))
    return Archive(folder, on_problem)


def _configured(locations: Locations) -> str:
    folder = load(locations.config).archive
    if folder is None:
        raise UsageError(
            "no archive folder is set",
            f"give --data DIR, set {VARIABLE}, or write 'archive: DIR' into index.yml",
        )
    if locations.project is not None and not is_inside(
        os.path.realpath(folder), os.path.realpath(locations.project)
    ):
        # A project's file may come with a checkout, so the user may not have written it.
        raise UsageError(
            f"{locations.config} names an archive outside its project: {folder}",
            f"name it yourself: --data DIR or {VARIABLE}",
        )
    return folder

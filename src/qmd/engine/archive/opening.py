"""Where the archive is: named in the call, in the environment, or in `index.yml`."""

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
    """The archive in the folder `data`, else `QMD_ARCHIVE_DIR`, else the `archive:` of `index.yml`.

    `name` is the index whose `index.yml` counts. `on_problem` hears of files that cannot be read.

    Raises `UsageError` where no archive is named, `ConfigError` for an `index.yml` that cannot be read.
    """
    variables = os.environ if environ is None else environ
    given = os.fspath(data) if data is not None else variables.get(VARIABLE, "").strip()
    folder = os.path.expanduser(given) if given else _configured(locate(name, variables, os.getcwd()))
    return Archive(folder, on_problem)


def _configured(locations: Locations) -> str:
    folder = load(locations.config).archive
    if folder is None:
        raise UsageError(
            "no archive is named", f"give --data DIR, set {VARIABLE}, or write 'archive: DIR' into index.yml"
        )
    if locations.project is not None and not is_inside(
        os.path.realpath(folder), os.path.realpath(locations.project)
    ):
        # Such a file comes with a checkout: it is not the user who wrote it.
        raise UsageError(
            f"{locations.config} names an archive outside its project: {folder}",
            f"name it yourself: --data DIR or {VARIABLE}",
        )
    return folder

"""The files of an index, and their replacements."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from qmd.config.paths import check_project, index_paths
from qmd.config.validate import validate_index_name


class Locations(Struct, frozen=True):
    """The locations of an index: the index file, the configuration file, and their replacements."""

    index: str
    config: str
    #: False if the user named the index, by `--index NAME` or an environment variable.
    is_default_index: bool
    #: The folder that contains `.qmd`, if a project is used.
    project: str | None = None
    #: The address of a store to use in place of the index file, from `QMD_STORE`.
    store: str | None = None
    #: Whether the index is a portable file, which is only read and has no configuration file.
    portable: bool = False


def locate(index_name: str | None, environ: Mapping[str, str], cwd: str) -> Locations:
    """Return the locations that a command uses; see `index_paths`. `QMD_STORE` sets a store.

    Raises `UsageError` if the index name is invalid, and `ConfigError` if there is no home folder or
    `check_project` fails.
    """
    if index_name is not None:
        validate_index_name(index_name)
    index, config, is_default, project = index_paths(index_name, environ, cwd)
    if project is not None:
        check_project(project)
    store = environ.get("QMD_STORE", "").strip() or None
    return Locations(index, config, is_default, project, store)

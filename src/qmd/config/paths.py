"""Paths of the configuration, the index and projects. Imported at the start of every command.

So it imports next to nothing: a command that a server answers loads it and little else.
"""

# os.path, because importing pathlib would cost every command some milliseconds.

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from qmd.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    #: The index file, the configuration file, whether the index is the default one, and the project.
    IndexPaths: TypeAlias = tuple[str, str, bool, str | None]

DEFAULT_INDEX = "index"
#: The variables that say where an index and its configuration are.
PLACES = (
    *("QMD_CONFIG_DIR", "QMD_INDEX_PATH", "INDEX_PATH", "QMD_STORE"),
    *("XDG_CONFIG_HOME", "XDG_CACHE_HOME"),
)
#: Name of the default index file if another program has a file of its own under the usual name.
ALTERNATIVE_INDEX = "index-python.sqlite"
PROJECT_FOLDER = ".qmd"
# If a project has both, the first is used.
_PROJECT_FILES = ("index.yaml", "index.yml")


def index_paths(index_name: str | None, environ: Mapping[str, str], cwd: str) -> IndexPaths:
    """Return the index file of a command, its configuration, whether it is the default, and its project.

    Without an index name, the nearest project in or above `cwd` is used. `QMD_INDEX_PATH` and `INDEX_PATH`
    override the index file, with and without a project. Raises `ConfigError` if there is no home folder.
    """
    name = index_name or DEFAULT_INDEX
    project = project_folder(environ, cwd) if index_name is None else None
    project_config = project_file(project) if project is not None else None
    config = project_config or os.path.join(config_dir(environ), f"{name}.yml")

    override = environ.get("QMD_INDEX_PATH") or environ.get("INDEX_PATH")
    if override:
        index = os.path.abspath(os.path.join(cwd, _expand(override, environ)))
    elif project is not None:
        index = os.path.join(project, PROJECT_FOLDER, "index.sqlite")
    else:
        index = os.path.join(cache_dir(environ), f"{name}.sqlite")
    return index, config, not override and name == DEFAULT_INDEX, project


def index_names(environ: Mapping[str, str]) -> list[str]:
    """Return the names of the indexes that have a file or a configuration, for `--index`."""
    names: set[str] = set()
    for folder, suffix in ((config_dir(environ), ".yml"), (cache_dir(environ), ".sqlite")):
        with suppress(OSError):
            names |= {name.removesuffix(suffix) for name in os.listdir(folder) if name.endswith(suffix)}
    return sorted(names)


def config_dir(environ: Mapping[str, str]) -> str:
    """Return the folder of `index.yml`. Raises `ConfigError` if there is no home folder."""
    override = environ.get("QMD_CONFIG_DIR")
    if override:
        return os.path.abspath(_expand(override, environ))
    return _xdg(environ, "XDG_CONFIG_HOME", ".config")


def marks_path(config: str) -> str:
    """Return the path of the pins and marks that belong to the configuration file `config`."""
    return os.path.splitext(config)[0] + ".marks.yaml"


def trust_path(environ: Mapping[str, str]) -> str:
    """Return the file of decisions about projects. Raises `ConfigError` if there is no home folder."""
    return os.path.join(config_dir(environ), "trusted.json")


def cache_dir(environ: Mapping[str, str]) -> str:
    """Return the folder of indexes and models. Raises `ConfigError` if there is no home folder."""
    return _xdg(environ, "XDG_CACHE_HOME", ".cache")


def project_folder(environ: Mapping[str, str], cwd: str) -> str | None:
    """Return the nearest project: `cwd` or a parent folder, but not the home folder or folders above it."""
    folder, below = os.path.abspath(cwd), ""
    while folder != below and not is_home(environ, folder):
        if project_file(folder) is not None:
            return folder
        folder, below = os.path.dirname(folder), folder
    return None


def project_file(folder: str) -> str | None:
    """Return the configuration file of the project in `folder`; None if it is no project."""
    paths = (os.path.join(folder, PROJECT_FOLDER, name) for name in _PROJECT_FILES)
    return next(filter(os.path.isfile, paths), None)


def check_project(project: str) -> None:
    """Check that `.qmd` contains only regular files and folders, and links that stay inside the project.

    `.qmd` may come from someone else's repository. A link in it could make qmd overwrite any file of the
    user, and opening a pipe would block. Raises `ConfigError` if the check fails.
    """
    folder, root = os.path.join(project, PROJECT_FOLDER), os.path.realpath(project)
    try:
        with os.scandir(folder) as entries:
            suspects = [
                entry.path
                for entry in entries
                if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False))
            ]
    except FileNotFoundError:
        suspects = []
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be listed: {error.strerror or error}.") from error
    if os.path.islink(folder):
        suspects.append(folder)
    for path in suspects:
        real = os.path.realpath(path)
        if not real.startswith(os.path.join(root, "")) or ".git" in real[len(root) :].split(os.sep):
            reason = "points out of the project"
        elif os.path.exists(real) and not (os.path.isfile(real) or os.path.isdir(real)):
            reason = "is not a regular file"
        else:
            continue
        raise ConfigError(
            f"{path} {reason}, so qmd does not use it.",
            "remove it, or use your own index with --index NAME",
        )


def is_home(environ: Mapping[str, str], folder: str) -> bool:
    """Return whether an absolute folder is the home folder."""
    home = environ.get("HOME") or os.path.expanduser("~")
    # Both spellings, because links are resolved in the working folder but not in HOME.
    return folder in (os.path.abspath(home), os.path.realpath(home))


def resolve_folder(folder: str, path: str) -> str:
    """Return the absolute path of a folder that is named in the configuration file at `path`."""
    base = os.path.dirname(os.path.abspath(path))
    if os.path.basename(base) == PROJECT_FOLDER:
        base = os.path.dirname(base)
    return os.path.abspath(os.path.join(base, os.path.expanduser(folder)))


def _xdg(environ: Mapping[str, str], variable: str, default: str) -> str:
    # The XDG Base Directory specification requires programs to ignore a relative path.
    base = environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(_home(environ), default)
    return os.path.join(base, "qmd")


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        raise ConfigError("There is no home folder.", "set HOME, or XDG_CONFIG_HOME and XDG_CACHE_HOME")
    return home


def _expand(path: str, environ: Mapping[str, str]) -> str:
    if path == "~" or path.startswith("~/"):
        return _home(environ) + path[1:]
    return path

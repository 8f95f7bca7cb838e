"""Where the configuration, the index and the collections live. On the start-up path of every command."""

# os.path throughout: importing pathlib would cost each command some milliseconds.

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from qmd.config.validate import validate_index_name
from qmd.errors import ConfigError

DEFAULT_INDEX = "index"
PROJECT_FOLDER = ".qmd"
# Of a project; where both are there, the first is used.
_PROJECT_FILES = ("index.yaml", "index.yml")


@dataclass(frozen=True, slots=True)
class Locations:
    """The two files of an index.

    `is_default_index` is true where the program chose the name of the index file itself, false where the
    user did (`--index NAME` or a path in the environment). `project` is the folder that holds `.qmd`. `store`
    is the address of the store where the user names one, which then is used instead of the file.
    """

    index: str
    config: str
    is_default_index: bool
    project: str | None = None
    store: str | None = None


def locate(index_name: str | None, environ: Mapping[str, str], cwd: str) -> Locations:
    """The files that a command run in `cwd` with `--index index_name` uses.

    Without a name, the nearest `.qmd/index.yml` (or `index.yaml`) above `cwd` decides. `QMD_INDEX_PATH` and
    `INDEX_PATH` name another index file in every case, `QMD_STORE` a store that is no file.

    Raises `UsageError` for a name that cannot be one, `ConfigError` where no home folder is known, and as
    `check_project`.
    """
    if index_name is not None:
        validate_index_name(index_name)
    name = index_name or DEFAULT_INDEX
    project = project_folder(environ, cwd) if index_name is None else None
    if project is not None:
        check_project(project)
    found = project_file(project) if project is not None else None
    config = found or os.path.join(config_dir(environ), f"{name}.yml")

    given = environ.get("QMD_INDEX_PATH") or environ.get("INDEX_PATH")
    if given:
        index = os.path.abspath(os.path.join(cwd, _expand(given, environ)))
    elif project is not None:
        index = os.path.join(project, PROJECT_FOLDER, "index.sqlite")
    else:
        index = os.path.join(cache_dir(environ), f"{name}.sqlite")
    store = environ.get("QMD_STORE", "").strip() or None
    return Locations(index, config, not given and name == DEFAULT_INDEX, project, store)


def config_path(index_name: str | None, environ: Mapping[str, str], cwd: str) -> str:
    """The `index.yml` in use; errors as in `locate`."""
    return locate(index_name, environ, cwd).config


def index_path(index_name: str | None, environ: Mapping[str, str], cwd: str) -> str:
    """The index file in use; errors as in `locate`."""
    return locate(index_name, environ, cwd).index


def config_dir(environ: Mapping[str, str]) -> str:
    """The folder of `index.yml`; raises `ConfigError` where no home folder is known."""
    given = environ.get("QMD_CONFIG_DIR")
    if given:
        return os.path.abspath(_expand(given, environ))
    return _xdg(environ, "XDG_CONFIG_HOME", ".config")


def trust_path(environ: Mapping[str, str]) -> str:
    """The file of what projects may do; raises `ConfigError` where no home folder is known."""
    return os.path.join(config_dir(environ), "trusted.json")


def cache_dir(environ: Mapping[str, str]) -> str:
    """The folder of indexes and models; raises `ConfigError` where no home folder is known."""
    return _xdg(environ, "XDG_CACHE_HOME", ".cache")


def project_folder(environ: Mapping[str, str], cwd: str) -> str | None:
    """The nearest folder from `cwd` upwards with a `project_file`, below the home folder or outside it."""
    folder = os.path.abspath(cwd)
    while not is_home(environ, folder):
        if project_file(folder) is not None:
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return None


def project_file(folder: str) -> str | None:
    """The file that makes `folder` a project, where there is one."""
    for name in _PROJECT_FILES:
        path = os.path.join(folder, PROJECT_FOLDER, name)
        if os.path.isfile(path):
            return path
    return None


def check_project(project: str) -> None:
    """Raise `ConfigError` if something in `.qmd` is not a file or folder of the project's own.

    `.qmd` comes with a checkout. A link in it could have the user's own index written in place of the
    project's, or a file made anywhere; a pipe would be waited for.
    """
    folder, root = os.path.join(project, PROJECT_FOLDER), os.path.realpath(project)
    try:
        with os.scandir(folder) as entries:
            odd = [
                entry.path
                for entry in entries
                if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False))
            ]
    except FileNotFoundError:
        odd = []
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be listed: {error.strerror or error}.") from error
    if os.path.islink(folder):
        odd.append(folder)
    for path in odd:
        real = os.path.realpath(path)
        if not real.startswith(os.path.join(root, "")) or ".git" in real[len(root) :].split(os.sep):
            reason = "leads out of the project"
        elif os.path.exists(real) and not (os.path.isfile(real) or os.path.isdir(real)):
            reason = "is not a regular file"
        else:
            continue
        raise ConfigError(
            f"{path} {reason}, and is not used.",
            "Remove it, or use your own index instead with --index NAME.",
        )


def is_home(environ: Mapping[str, str], folder: str) -> bool:
    """Whether an absolute folder is the home folder."""
    home = environ.get("HOME") or os.path.expanduser("~")
    # Both spellings: the working folder is reported with links resolved, HOME is not.
    return folder in (os.path.abspath(home), os.path.realpath(home))


def resolve_folder(folder: str, path: str) -> str:
    """The absolute folder that `folder` means in the configuration file at `path`."""
    base = os.path.dirname(os.path.abspath(path))
    if os.path.basename(base) == PROJECT_FOLDER:
        base = os.path.dirname(base)
    return os.path.abspath(os.path.join(base, os.path.expanduser(folder)))


def _xdg(environ: Mapping[str, str], variable: str, default: str) -> str:
    # The XDG specification tells programs to ignore a relative path here.
    base = environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(_home(environ), default)
    return os.path.join(base, "qmd")


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        raise ConfigError("No home folder is known.", "Set HOME, or XDG_CONFIG_HOME and XDG_CACHE_HOME.")
    return home


def _expand(path: str, environ: Mapping[str, str]) -> str:
    if path == "~" or path.startswith("~/"):
        return _home(environ) + path[1:]
    return path

"""Run git for collections in a clone, without executing programs that files in the clone name."""

from __future__ import annotations

import os

from qmd.errors import SourceError
from qmd.processes import run
from qmd.types import Collection

#: The time limit of a `git pull`, in seconds.
PULL_TIMEOUT = 300

# A clone may contain a folder that looks like a bare repository, with a `config` that names programs. git
# must not use it. File system monitors and hooks are programs too.
_SAFE = (
    "safe.bareRepository=explicit",
    "core.fsmonitor=",
    f"core.hooksPath={os.devnull}",
    "protocol.ext.allow=never",
)
#: git sets these for programs that it starts, such as a hook that runs `qmd`. They name another repository.
_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


def work_tree(folder: str) -> str | None:
    """Return the top folder of the clone that contains `folder`; None if it is in no clone.

    The top folder is the nearest one with a `.git`. git never commits `.git`, so a clone cannot contain a
    forged one.
    """
    top = os.path.realpath(folder)
    while not _is_repository(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent
    return top


def pull(collection: Collection) -> str | None:
    """Run `git pull --ff-only` if the collection is in a clone, and return the last line of git's output.

    None if the collection is in no clone. Raises `SourceError` if git fails.
    """
    top = work_tree(collection.path)
    if top is None:
        return None
    output, failure = _git(top, "pull", "--ff-only")
    if failure is not None:
        raise SourceError(
            f"collection '{collection.name}': git pull failed: {failure}",
            f"run 'git pull' in {top} to see why; the folder was indexed without the pull",
        )
    return output


def _is_repository(path: str) -> bool:
    """Return whether git uses this `.git`. If git does not, it searches the parent folders."""
    if os.path.islink(path):
        return False
    # In a worktree or submodule, `.git` is a file that names the folder.
    return os.path.isfile(path) or os.path.lexists(os.path.join(path, "HEAD"))


def command(top: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the words that run git in a clone, and its environment: without prompts, and safe."""
    environ = {name: value for name, value in os.environ.items() if name not in _INHERITED}
    environ |= {"GIT_TERMINAL_PROMPT": "0", "GIT_CEILING_DIRECTORIES": os.path.dirname(top)}
    settings = [part for setting in _SAFE for part in ("-c", setting)]
    return ["git", *settings, "-C", top, *arguments], environ


def _git(top: str, *arguments: str) -> tuple[str, str | None]:
    """Run git in a clone. Return the last line of its output and the reason if it failed."""
    # Imported on use, because it would cost every command in a project some milliseconds.
    from subprocess import TimeoutExpired

    words, environ = command(top, *arguments)
    try:
        done = run(words, environ=environ, timeout=PULL_TIMEOUT)
    except OSError as error:
        return "", f"git cannot be run: {error.strerror}"
    except TimeoutExpired:
        return "", f"it took more than {PULL_TIMEOUT} seconds"
    output, errors = done.stdout.strip(), done.stderr.strip()
    if done.returncode != 0:
        return "", (errors or output or "git gave no reason").splitlines()[-1]
    return (output or "up to date").splitlines()[-1], None

"""`git pull` where a folder is in a clone, without running what the clone's own files ask git to run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from qmd.errors import SourceError
from qmd.types import Collection

if TYPE_CHECKING:
    import subprocess

#: A `git pull` is given up after this many seconds.
PULL_TIMEOUT = 300

# Files of a clone can be laid out as a bare repository, whose `config` names programs: git must not take a
# folder for a repository because of them. Monitors and hooks are programs too.
_SAFE = (
    "safe.bareRepository=explicit",
    "core.fsmonitor=",
    f"core.hooksPath={os.devnull}",
    "protocol.ext.allow=never",
)
#: Set by git for programs that it starts, such as a hook that runs `qmd`: they name another repository.
_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


def work_tree(folder: str) -> str | None:
    """The clone that `folder` is in: the nearest folder upwards with a `.git` of its own; None without one.

    git keeps `.git` out of commits, so unlike every other file it cannot come with a clone.
    """
    place = os.path.realpath(folder)
    while not _is_repository(os.path.join(place, ".git")):
        parent = os.path.dirname(place)
        if parent == place:
            return None
        place = parent
    return place


def pull(collection: Collection) -> str | None:
    """Run `git pull --ff-only` if the collection is in a clone; returns what git said, else None.

    Raises `SourceError` if git fails.
    """
    top = work_tree(collection.path)
    if top is None:
        return None
    done = _git(top, "pull", "--ff-only")
    if done is None or done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()) if done else "it took too long"
        reason = said.splitlines()[-1] if said else "no reason given"
        raise SourceError(
            f"collection '{collection.name}': git pull failed: {reason}",
            f"run 'git pull' in {top} to see why; the folder was indexed as it is",
        )
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "up to date"


def _is_repository(path: str) -> bool:
    """Whether git takes this `.git` for a repository; if it did not, it would look for another one."""
    if os.path.islink(path):
        return False
    # A worktree's and a submodule's `.git` is a file that names the folder.
    return os.path.isfile(path) or os.path.lexists(os.path.join(path, "HEAD"))


def _git(top: str, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Run git in a clone without letting it ask anything; None if it is missing or takes too long."""
    # Imported on use: it would cost every command in a project some milliseconds.
    import subprocess

    environ = {name: value for name, value in os.environ.items() if name not in _INHERITED}
    environ |= {"GIT_TERMINAL_PROMPT": "0", "GIT_CEILING_DIRECTORIES": os.path.dirname(top)}
    settings = [part for setting in _SAFE for part in ("-c", setting)]
    try:
        return subprocess.run(
            ["git", *settings, "-C", top, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PULL_TIMEOUT,
            stdin=subprocess.DEVNULL,
            check=False,
            env=environ,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None

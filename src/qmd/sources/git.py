"""Pull in collections of a clone, without executing programs that files in the clone name."""

from __future__ import annotations

from qmd.errors import SourceError
from qmd.processes import run
from qmd.sources.clone import Clone, work_tree
from qmd.types import Collection

#: The time limit of a `git pull`, in seconds.
PULL_TIMEOUT = 300


def pull(collection: Collection) -> str | None:
    """Run `git pull --ff-only` if the collection is in a clone, and return the last line of git's output.

    None if the collection is in no clone. Raises `SourceError` if git fails.
    """
    top = work_tree(collection.path)
    if top is None:
        return None
    output, failure = _git(Clone(top), "pull", "--ff-only")
    if failure is not None:
        raise SourceError(
            f"collection '{collection.name}': git pull failed: {failure}",
            f"run 'git pull' in {top} to see why; the folder was indexed without the pull",
        )
    return output


def _git(clone: Clone, *arguments: str) -> tuple[str, str | None]:
    """Run git in a clone. Return the last line of its output and the reason if it failed."""
    # Imported on use, because it would cost every command in a project some milliseconds.
    from subprocess import TimeoutExpired

    words, environ = clone.command(*arguments)
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

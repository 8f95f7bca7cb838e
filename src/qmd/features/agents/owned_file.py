"""Files that qmd puts into the folders of other programs, and removes again.

Such a file ends with a digest of its text. So a file that somebody else wrote or changed is recognized, and
never replaced or removed.
"""

from __future__ import annotations

import os
import re

from qmd.config.atomic import cannot_write, replace_file
from qmd.config.index_yml import read_file
from qmd.errors import ConfigError, ConflictError
from qmd.text.digest import sha256

_MARK = "installed by qmd-python {}"
_MARKED = re.compile(rf"\n(?:<!--|//) {_MARK.format('([0-9a-f]{16})')}(?: -->)?\n\Z")


def install(path: str, text: str, comment: str, *, dry_run: bool = False) -> str:
    """Write or update the file at `path`.

    Args:
        path: its folder is created if it is missing.
        text: its content.
        comment: how the language of the file writes a comment: `<!-- {} -->` or `// {}`.
        dry_run: change nothing.

    Returns:
        "installed", "updated" or "unchanged".

    Raises:
        ConflictError: a file or folder that qmd did not write is in its place.
        ConfigError: the folder cannot be written.
    """
    wanted = f"{text}\n{comment.format(_MARK.format(_digest(text)))}\n"
    present = read(path)
    if present == wanted:
        return "unchanged"
    if not dry_run:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from error
        replace_file(path, wanted.encode("utf-8"))
    return "installed" if present is None else "updated"


def remove(path: str, *, dry_run: bool = False) -> str:
    """Remove the file at `path`, and its folder if that is empty then.

    Returns:
        "removed", or "absent" if it is not installed.

    Raises:
        ConflictError: the file was not written by qmd, or was changed.
        ConfigError: the file cannot be removed.
    """
    if read(path) is None:
        return "absent"
    if not dry_run:
        try:
            os.unlink(path)
            if not os.listdir(os.path.dirname(path)):
                os.rmdir(os.path.dirname(path))
        except OSError as error:
            raise ConfigError(f"{path}: cannot be removed: {error.strerror or error}.") from error
    return "removed"


def read(path: str) -> str | None:
    """Return the text of an installed file, or None. Raises `ConflictError` if qmd did not write it."""
    folder = os.path.dirname(path)
    foreign = ConflictError(
        f"{path} was not written by qmd, or was changed since; it was left alone",
        "move it away, then run the command again",
    )
    if os.path.islink(folder) or os.path.islink(path):
        raise foreign
    try:
        data = read_file(path)
        if data is None:
            return None
        content = data.decode("utf-8")
    except (ConfigError, UnicodeDecodeError) as error:
        raise foreign from error
    mark = _MARKED.search(content)
    if mark is None or _digest(content[: mark.start()]) != mark[1]:
        raise foreign
    return content


def _digest(content: str) -> str:
    return sha256(content.encode("utf-8"))[:16]

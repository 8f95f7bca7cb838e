"""The skill that teaches agents to use qmd: install it into an agent's folder, and remove it again.

An installed file ends with a digest of its text. So a file that somebody else wrote or changed is recognized,
and never replaced or removed.
"""

from __future__ import annotations

import os
import re

from qmd.config.atomic import cannot_write, replace_file
from qmd.config.index_yml import read_file
from qmd.errors import ConfigError, ConflictError
from qmd.text.digest import sha256

NAME = "qmd"
_FILE = "SKILL.md"
_MARK = re.compile(r"\n<!-- installed by qmd-python ([0-9a-f]{16}) -->\n\Z")


def text() -> str:
    """Return the skill as it comes with the program."""
    with open(os.path.join(os.path.dirname(__file__), _FILE), encoding="utf-8") as file:
        return file.read()


def path_in(folder: str) -> str:
    """Return the path of the skill in an agent's folder of skills."""
    return os.path.join(folder, NAME, _FILE)


def install(folder: str, *, dry_run: bool = False) -> str:
    """Install or update the skill in an agent's folder of skills.

    Args:
        folder: the agent's folder of skills; it is created if it is missing.
        dry_run: change nothing.

    Returns:
        "installed", "updated" or "unchanged".

    Raises:
        ConflictError: a file or folder that qmd did not write is in its place.
        ConfigError: the folder cannot be written.
    """
    path, wanted = path_in(folder), _marked(text())
    present = _installed(path)
    if present == wanted:
        return "unchanged"
    if not dry_run:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from error
        replace_file(path, wanted.encode("utf-8"))
    return "installed" if present is None else "updated"


def uninstall(folder: str, *, dry_run: bool = False) -> str:
    """Remove the skill from an agent's folder of skills. Other files beside it stay.

    Returns:
        "removed", or "absent" if it is not installed.

    Raises:
        ConflictError: the file was not written by qmd, or was changed.
        ConfigError: the file cannot be removed.
    """
    path = path_in(folder)
    if _installed(path) is None:
        return "absent"
    if not dry_run:
        try:
            os.unlink(path)
            if not os.listdir(os.path.dirname(path)):
                os.rmdir(os.path.dirname(path))
        except OSError as error:
            raise ConfigError(f"{path}: cannot be removed: {error.strerror or error}.") from error
    return "removed"


def _marked(content: str) -> str:
    return f"{content}\n<!-- installed by qmd-python {_digest(content)} -->\n"


def _digest(content: str) -> str:
    return sha256(content.encode("utf-8"))[:16]


def _installed(path: str) -> str | None:
    """Return the text of an installed skill, or None. Raises `ConflictError` if qmd did not write it."""
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
    mark = _MARK.search(content)
    if mark is None or _digest(content[: mark.start()]) != mark[1]:
        raise foreign
    return content

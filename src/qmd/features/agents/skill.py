"""The skill that teaches agents to use qmd: install it into an agent's folder, and remove it again."""

from __future__ import annotations

import os

from qmd.features.agents import owned_file

NAME = "qmd"
_FILE = "SKILL.md"


def text() -> str:
    """Return the skill as it comes with the program."""
    with open(os.path.join(os.path.dirname(__file__), _FILE), encoding="utf-8") as file:
        return file.read()


def path_in(folder: str) -> str:
    """Return the path of the skill in an agent's folder of skills."""
    return os.path.join(folder, NAME, _FILE)


def install(folder: str, *, dry_run: bool = False) -> str:
    """Install or update the skill in an agent's folder of skills; see `owned_file.install`."""
    return owned_file.install(path_in(folder), text(), "<!-- {} -->", dry_run=dry_run)


def uninstall(folder: str, *, dry_run: bool = False) -> str:
    """Remove the skill from an agent's folder of skills; see `owned_file.remove`. Files beside it stay."""
    return owned_file.remove(path_in(folder), dry_run=dry_run)

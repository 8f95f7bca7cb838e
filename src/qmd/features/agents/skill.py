"""The skill that teaches agents to use qmd, and its place in an agent's folder."""

from __future__ import annotations

import os

NAME = "qmd"
_FILE = "SKILL.md"


def text() -> str:
    """Return the skill as it comes with the program."""
    with open(os.path.join(os.path.dirname(__file__), _FILE), encoding="utf-8") as file:
        return file.read()


def path_in(folder: str) -> str:
    """Return the path of the skill in an agent's folder of skills."""
    return os.path.join(folder, NAME, _FILE)

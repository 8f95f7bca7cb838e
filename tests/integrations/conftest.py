"""A user with notes and vectors, and `qmd` as a program on the PATH, as hosts of plugins start it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.users import MakeUser, User

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "integrations"
#: A key in a note that plugins find.
KEY = "AKIAQ3EGRZZT5N2M7XPW"


@pytest.fixture(scope="session")
def host(make_user: MakeUser) -> User:
    """A user who has indexed and embedded the example notes. Shared: tests only read."""
    user = make_user("host")
    shutil.rmtree(user.notes)
    shutil.copytree(ROOT / "examples" / "notes", user.notes)
    (user.notes / "vault.md").write_text(f"# The vault of zebrafish\n\nIts key: {KEY}\n", encoding="utf-8")
    kept = "---\nagents: false\n---\n# The diary of zebrafish\n\nNobody reads the diary.\n"
    (user.notes / "diary.md").write_text(kept, encoding="utf-8")
    for index in ([], ["--index", "openclaw-main"]):
        user.ok(*index, "collection", "add", str(user.notes), "--name", "notes")
        user.ok(*index, "embed", "-q")
    program = user.home / "bin" / "qmd"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m qmd "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    user.environ["PATH"] = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    return user

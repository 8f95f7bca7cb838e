"""Environments in which qmd is installed as the README says: without extras, and with one of them.

`scripts/extras.sh` makes them with pip. If it cannot, these tests are skipped, unless `QMD_EXTRAS` is
`required`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.files import pdf
from tests.users import MakeUser, User

ROOT = Path(__file__).parents[2]
#: A user of an environment with this name.
UserOf = Callable[[str], User]


@pytest.fixture(scope="session")
def user_of(make_user: MakeUser, tmp_path_factory: pytest.TempPathFactory) -> UserOf:
    """Make a user of `core`, or of an environment into which something else is to be installed."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent
    folder /= "extras"

    def make(name: str) -> User:
        names = [] if name == "core" else [name]
        with FileLock(f"{folder}.lock"):
            done = subprocess.run(
                ["sh", ROOT / "scripts" / "extras.sh", folder, *names],
                env=os.environ | {"PYTHON": sys.executable},
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
        if done.returncode:
            message = f"qmd cannot be installed: {' '.join(done.stderr.split())}"
            if os.environ.get("QMD_EXTRAS") == "required":
                pytest.fail(message)
            pytest.skip(message[:300])
        user = make_user(name)
        user.python = str(folder / name / "bin" / "python")
        del user.environ["PYTHONPATH"]
        (user.notes / "a.pdf").write_bytes(pdf("The heron waits."))
        (user.notes / "b.html").write_text("<p>The ibis waits.</p>", encoding="utf-8")
        (user.notes / "c.py").write_text("def stork() -> None:\n    pass\n", encoding="utf-8")
        return user

    return make

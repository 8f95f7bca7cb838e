"""Programs that use qmd: llm, LangChain and LlamaIndex.

`scripts/neighbours.sh` installs them from PyPI. If it cannot, these tests are skipped, unless
`QMD_NEIGHBOURS` is `required`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from tests.users import MakeUser, User

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def seer(make_user: MakeUser) -> User:
    """A user who has indexed and embedded the example notes."""
    user = make_user("neighbour")
    shutil.rmtree(user.notes)
    shutil.copytree(ROOT / "examples" / "notes", user.notes)
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("embed", "-q")
    # These programs import the installed qmd.
    del user.environ["PYTHONPATH"]
    return user


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with these programs and qmd."""
    with FileLock(tmp_path_factory.getbasetemp().parent / "neighbours.lock"):
        done = subprocess.run(
            ["sh", ROOT / "scripts" / "neighbours.sh"],
            env=os.environ | {"PYTHON": sys.executable},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        message = f"the neighbours cannot be installed: {' '.join(done.stderr.split())}"
        if os.environ.get("QMD_NEIGHBOURS") == "required":
            pytest.fail(message)
        pytest.skip(message[:300])
    return Path(done.stdout.strip())

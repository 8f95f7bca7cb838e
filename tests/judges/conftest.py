"""Judges: clients and checkers of MCP servers that others wrote.

`scripts/judges.sh` installs them from npm. If it cannot, these tests are skipped, unless `QMD_JUDGES` is
`required`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.agents import Site, site_of
from tests.judges.calls import CONTEXT, SCRIPT, Judges
from tests.users import MakeUser, User


@pytest.fixture(scope="session")
def seer(make_user: MakeUser) -> User:
    """A user whose notes are indexed and embedded. Shared: judges only read."""
    user = make_user("judged")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("context", "add", "/", CONTEXT)
    user.ok("embed", "-q")
    return user


@pytest.fixture(scope="session")
def judges(seer: User, tmp_path_factory: pytest.TempPathFactory) -> Judges:
    """The judges, installed."""
    with FileLock(tmp_path_factory.getbasetemp().parent / "judges.lock"):
        done = subprocess.run(["sh", SCRIPT], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        message = f"the judges cannot be installed: {' '.join(done.stderr.split())}"
        if os.environ.get("QMD_JUDGES") == "required":
            pytest.fail(message)
        pytest.skip(message[:300])
    return Judges(Path(done.stdout.strip()), seer)


@pytest.fixture(scope="session")
def site(seer: User) -> Iterator[Site]:
    """The user's server over HTTP. Shared."""
    with site_of(seer) as site:
        yield site


@pytest.fixture(scope="session")
def settings(seer: User, site: Site) -> dict[str, Any]:
    """Both servers in the settings of agents: `stdio` and `http`."""
    command = {"command": sys.executable, "args": ["-m", "qmd", "mcp"], "env": seer.environ}
    return {"stdio": command, "http": {"type": "http", "url": site.url}}

"""Judges from outside: programs that others wrote for all MCP servers, put to ours.

`scripts/judges.sh` installs them from npm. Where it cannot, these tests are skipped, unless `QMD_JUDGES` is
`required`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.edge.cli.conftest import FILES, MakeUser, User, make_user  # noqa: F401 - a fixture
from tests.edge.mcp.conftest import PATIENCE, Site, site_of

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "judges.sh"

#: A call of each tool. All but the last answer with DOCUMENT, as `check` demands.
CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "rollback"},
    "vsearch": {"query": "return to the last release", "limit": 3},
    "query": {
        "searches": [{"type": "lex", "query": "rollback"}, {"type": "vec", "query": "undo a release"}],
        "intent": "operations",
        "collections": ["notes"],
    },
    "get": {"file": "deploy.md:5:3", "lineNumbers": True},
    "multi_get": {"pattern": "deploy.md, nothing.md", "maxLines": 1},
    "status": {},
}
DOCUMENT = "notes/deploy.md"
CONTEXT = "Everything"
ROLLBACK = "5: ## Rollback\n6: \n7: Run `make rollback` to return to the last release."


@dataclass(frozen=True)
class Judges:
    """The folder that npm filled, and the user in whose name its programs run."""

    folder: Path
    user: User

    def run(self, script: str | Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a script of one of the packages, or of ours, with the Node that came with them."""
        (node,) = self.folder.glob("node_modules/node-*/bin/node")
        return subprocess.run(
            [node, self.folder / "node_modules" / script, *args],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            env=self.user.environ,
            cwd=self.folder,
            check=False,
            timeout=PATIENCE,
        )


@pytest.fixture(scope="session")
def seer(make_user: MakeUser) -> User:  # noqa: F811 - the fixture imported above
    """A user whose notes are indexed and embedded. Shared: judges only read."""
    user = make_user("judged")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("context", "add", "/", CONTEXT)
    user.ok("embed", "-q")
    return user


@pytest.fixture(scope="session")
def judges(seer: User) -> Judges:
    """The judges, installed."""
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
    """Both servers as agents' settings name them: `stdio` and `http`."""
    command = {"command": sys.executable, "args": ["-m", "qmd", "mcp"], "env": seer.environ}
    return {"stdio": command, "http": {"type": "http", "url": site.url}}


def check(tool: str, result: dict[str, Any]) -> None:
    """Whether a client that made one of CALLS was told what is true."""
    assert "isError" not in result, result
    content = result["content"]
    match tool:
        case "search" | "vsearch" | "query":
            (summary,) = content
            assert summary["text"].startswith("Found ")
            best = result["structuredContent"]["results"][0]
            assert (best["file"], best["context"]) == (DOCUMENT, CONTEXT)
            assert f"{best['docid']} " in summary["text"]
            stages = {stage["stage"]: stage["status"] for stage in result["structuredContent"]["stages"]}
            # There is no default expander.
            assert {name for name, status in stages.items() if status != "ran"} <= {"expand"}
        case "get":
            (page,) = content
            assert page["resource"]["uri"] == f"qmd://{DOCUMENT}"
            assert page["resource"]["text"] == f"<!-- Context: {CONTEXT} -->\n\n{ROLLBACK}"
        case "multi_get":
            errors, page = content
            assert errors["text"] == "Errors:\nDocument not found: nothing.md"
            assert page["resource"]["text"].endswith("\n\n[... truncated 6 more lines]")
        case "status":
            assert content[0]["text"].startswith(f"QMD Index Status:\n  Total documents: {len(FILES)}\n")
            assert result["structuredContent"]["totalDocuments"] == len(FILES)


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

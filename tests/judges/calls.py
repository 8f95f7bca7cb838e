"""The judges, and the tool calls that they make."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.users import FILES, User
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "judges.sh"

#: A call of each tool. All answers except the last have DOCUMENT, which `check` requires.
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


class Judges(Struct, frozen=True):
    """The folder of the npm packages, and the user for whom their programs run."""

    folder: Path
    user: User

    @property
    def node(self) -> Path:
        """The installed Node."""
        (node,) = self.folder.glob("node_modules/node-*/bin/node")
        return node

    def run(self, script: str | Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a script of a package or of tests/judges with the installed Node."""
        return subprocess.run(
            [self.node, self.folder / "node_modules" / script, *args],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            env=self.user.environ,
            cwd=self.folder,
            check=False,
            timeout=PATIENCE,
        )

    def tokens(self, texts: list[str]) -> list[tuple[int, int]]:
        """Return the tokens of each text, by o200k_base and by cl100k_base."""
        done = self.run(ROOT / "tests/judges/tokens.mjs", str(self.folder), stdin=dumped(texts))
        assert done.returncode == 0, done.stderr
        return [(newer, older) for newer, older in json.loads(done.stdout)]


def check(tool: str, result: dict[str, Any]) -> None:
    """Check the result that a client got for one of CALLS."""
    assert "isError" not in result, result
    content = result["content"]
    match tool:
        case "search" | "vsearch" | "query":
            summary, _ = content
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

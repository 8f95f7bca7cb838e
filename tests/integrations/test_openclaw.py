"""The memory plugin for OpenClaw, against the interface that OpenClaw 2026.9 publishes for such plugins."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.conftest import FOLDER, KEY
from tests.users import User
from tests.waiting import PATIENCE

NODE = shutil.which("node")
pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(NODE is None, reason="needs Node"),
]
#: Methods that `MemorySearchManager` requires, and fields that `MemorySearchResult` does.
METHODS = {"search", "readFile", "status", "probeEmbeddingAvailability", "probeVectorAvailability"}
FIELDS = {"path", "startLine", "endLine", "score", "snippet", "source"}


def node(host: User, *words: str | Path) -> dict[str, Any]:
    """Run a program of JavaScript, and return what it prints."""
    done = subprocess.run(
        [NODE or "node", *words],
        env=host.environ,
        cwd=host.home,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def seen(host: User) -> dict[str, Any]:
    """What a host sees of the plugin and of its answers."""
    return node(host, Path(__file__).with_name("openclaw.mjs"))


def test_manifest_declares_the_slot_and_the_tools(seen: dict[str, Any]) -> None:
    manifest = json.loads((FOLDER / "openclaw" / "openclaw.plugin.json").read_text(encoding="utf-8"))
    assert (
        seen["plugin"] == {"id": manifest["id"], "kind": manifest["kind"]} == {"id": "qmd", "kind": "memory"}
    )
    assert set(seen["tools"]) == set(manifest["contracts"]["tools"])
    package = json.loads((FOLDER / "openclaw" / "package.json").read_text(encoding="utf-8"))
    assert package["openclaw"]["extensions"] == ["./index.js"]


def test_manager_has_the_methods_of_the_interface(seen: dict[str, Any]) -> None:
    assert set(seen["manager"]) >= METHODS
    # The only value that the types allow since the backend "qmd" was removed.
    assert seen["backend"] == {"backend": "builtin"}
    assert seen["status"]["backend"] == "builtin"
    assert seen["embeddings"] == {"ok": True}
    assert seen["vectors"] is True
    assert seen["prompt"][0] == "## Memory"
    assert seen["silent"] == []


def test_search_gives_the_lines_that_the_snippet_shows(host: User, seen: dict[str, Any]) -> None:
    first = seen["found"][0]
    assert set(first) >= FIELDS
    assert first["path"] == "qmd://notes/ops/backup.md"
    assert first["source"] == "memory"
    assert 0.5 <= first["score"] <= 1
    lines = (host.notes / "ops" / "backup.md").read_text(encoding="utf-8").splitlines()
    assert first["snippet"].splitlines() == lines[first["startLine"] - 1 : first["endLine"]]
    assert first["citation"] == f"{first['path']}#L{first['startLine']}-L{first['endLine']}"


def test_search_is_silent_where_nothing_answers(seen: dict[str, Any]) -> None:
    assert seen["nothing"] == []
    assert seen["sessions"] == []


def test_search_takes_queries_that_look_like_options(seen: dict[str, Any]) -> None:
    assert any(hit["path"] == "qmd://notes/ops/backup.md" for hit in seen["words"])


def test_search_ends_when_the_host_cancels_it(seen: dict[str, Any]) -> None:
    assert "abort" in seen["aborted"]


def test_reading_is_limited_to_the_index(seen: dict[str, Any]) -> None:
    assert seen["read"]["status"] == "ok"
    assert seen["read"]["text"].strip() == seen["found"][0]["snippet"].splitlines()[0]
    assert seen["missing"] == {"status": "not_found", "text": "", "path": "qmd://notes/none.md"}
    assert seen["outside"] == {"status": "not_found", "text": "", "path": "/etc/hostname"}


def test_answers_have_no_secret_and_nothing_that_is_kept_from_agents(seen: dict[str, Any]) -> None:
    shown = json.dumps([seen["vault"], seen["key"]])
    assert "qmd://notes/vault.md" in shown
    assert "[secret" in seen["key"]["text"]
    assert not [part for part in (KEY, "diary") if part in shown]
    assert seen["diary"]["status"] == "not_found"


def test_tools_answer_as_the_manager_does(seen: dict[str, Any]) -> None:
    assert seen["searched"] == {"results": seen["found"][:1], "provider": "qmd"}
    assert seen["got"]["text"].strip() == "# Backups"


def test_tool_says_what_is_wrong_if_the_program_is_missing(host: User) -> None:
    index = json.dumps(str(FOLDER / "openclaw" / "index.js"))
    code = f"""
import plugin from {index}
const tools = []
plugin.register({{
  pluginConfig: {{ command: "/nonexistent/qmd" }},
  registerMemoryCapability() {{}},
  registerTool: (factory) => tools.push(factory({{}})),
}})
console.log(JSON.stringify((await tools[0].execute("1", {{ query: "x" }})).details))
"""
    answer = node(host, "--input-type=module", "-e", code)
    assert answer["disabled"] is True
    assert "nonexistent" in answer["error"]

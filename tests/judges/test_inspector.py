"""MCP Inspector: its view of the server, with both kinds of handshake, over both transports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qmd.mcp.prompt import GUIDE
from tests.judges.calls import CALLS, DOCUMENT, Judges, check, dumped

INSPECTOR = "@modelcontextprotocol/inspector/clients/cli/build/index.js"


class Inspector:
    """The command line of MCP Inspector, connected to one of the servers."""

    def __init__(self, judges: Judges, settings: Path, server: str, era: str) -> None:
        self._judges = judges
        self._target = ["--config", str(settings), "--server", server, "--protocol-era", era]

    def run(self, method: str, *options: str) -> tuple[dict[str, Any], str]:
        """Return (result, stderr) of a request. The test fails if the request does."""
        asked = ["--format", "json", "--method", method, *options]
        done = self._judges.run(INSPECTOR, *self._target, *asked)
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result, done.stderr


#: Each server by one of the handshakes: the SDK uses each server in both versions.
WAYS = (("stdio", "modern"), ("http", "legacy"))


@pytest.fixture(params=WAYS, ids="-".join)
def inspector(
    judges: Judges, settings: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> Inspector:
    file = tmp_path / "mcp.json"
    file.write_text(dumped({"mcpServers": settings}), encoding="utf-8")
    return Inspector(judges, file, *request.param)


def test_inspector_accepts_the_tool_schemas_as_portable(inspector: Inspector) -> None:
    result, said = inspector.run("tools/list", "--strict")
    assert [tool["name"] for tool in result["tools"]] == list(CALLS)
    assert "Warning" not in said


@pytest.mark.parametrize(
    ("inspector", "tool"), [*((WAYS[0], tool) for tool in CALLS), (WAYS[1], "query")], indirect=["inspector"]
)
def test_inspector_calls_every_tool(inspector: Inspector, tool: str) -> None:
    result, _ = inspector.run("tools/call", "--tool-name", tool, "--tool-args-json", dumped(CALLS[tool]))
    check(tool, result)


def test_inspector_reads_a_document_by_the_resource_template(inspector: Inspector) -> None:
    result, _ = inspector.run("resources/templates/list")
    (template,) = result["resourceTemplates"]
    assert template["uriTemplate"] == "qmd://{+path}"
    result, _ = inspector.run("resources/read", "--uri", f"qmd://{DOCUMENT}")
    (document,) = result["contents"]
    assert "\n5: ## Rollback\n" in document["text"]


def test_inspector_gets_the_guide_as_the_only_prompt(inspector: Inspector) -> None:
    result, _ = inspector.run("prompts/list")
    (prompt,) = result["prompts"]
    result, _ = inspector.run("prompts/get", "--prompt-name", prompt["name"])
    (message,) = result["messages"]
    assert message == {"role": "user", "content": {"type": "text", "text": GUIDE}}

"""The TypeScript SDK of MCP, versions 1 and 2, which most agents use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qmd import __version__
from qmd.mcp.prompt import GUIDE
from tests.judges.calls import CALLS, DOCUMENT, Judges, check, dumped

CLIENT = Path(__file__).with_name("client.mjs")


@pytest.mark.parametrize("sdk", ["v1", "v2"])
@pytest.mark.parametrize("server", ["stdio", "http"])
def test_typescript_sdk_can_use_every_feature(
    judges: Judges, settings: dict[str, Any], server: str, sdk: str
) -> None:
    asked = {
        "packages": str(judges.folder),
        "sdk": sdk,
        "server": settings[server],
        "calls": CALLS,
        "uri": f"qmd://{DOCUMENT}",
        "prompt": "query",
    }
    done = judges.run(CLIENT, stdin=dumped(asked))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["server"]["name"], told["server"]["version"]) == ("qmd", __version__)
    assert '- "notes" (' in told["instructions"]
    assert [tool["name"] for tool in told["tools"]] == list(CALLS)
    for tool in CALLS:
        check(tool, told["calls"][tool])
    assert "\n5: ## Rollback\n" in told["resource"]["contents"][0]["text"]
    assert told["prompt"]["messages"][0]["content"]["text"] == GUIDE
    assert told["unknown"] == -32602

"""The settings in integrations/: they are current, complete, and name commands that work."""

from __future__ import annotations

import json
import runpy
import shlex
import tomllib
from typing import Any

import pytest

from qmd.features.agents import skill
from qmd.features.agents.agents import AGENTS
from tests.integrations.conftest import FOLDER, ROOT
from tests.users import User

MAKER = ROOT / "tools" / "make_integrations.py"
HOOKS = {
    "claude": "claude/hooks/hooks.json",
    "codex": "codex/hooks.json",
    "gemini": "gemini/hooks/hooks.json",
}


def load(path: str) -> dict[str, Any]:
    text = (FOLDER / path).read_text(encoding="utf-8")
    return tomllib.loads(text) if path.endswith(".toml") else json.loads(text)


@pytest.mark.skipif(not MAKER.exists(), reason="not a checkout")
def test_files_are_as_the_tables_of_the_program_say() -> None:
    for path, text in runpy.run_path(str(MAKER))["files"]().items():
        assert (FOLDER / path).read_text(encoding="utf-8") == text, f"{path}: run tools/make_integrations.py"


def test_marketplace_names_the_plugin_of_claude() -> None:
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    (plugin,) = market["plugins"]
    manifest = json.loads((ROOT / plugin["source"] / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == plugin["name"]
    taught = ROOT / plugin["source"] / "skills" / "qmd" / "SKILL.md"
    assert taught.read_text(encoding="utf-8") == skill.text()


@pytest.mark.parametrize(
    ("path", "section"),
    [
        ("claude/.mcp.json", "mcpServers"),
        ("codex/config.toml", "mcp_servers"),
        ("gemini/gemini-extension.json", "mcpServers"),
    ],
)
def test_server_is_started_by_its_command(path: str, section: str) -> None:
    server = load(path)[section]["qmd"]
    assert [server["command"], *server["args"]] == ["qmd", "mcp"]


#: What the agents write to a hook's stdin, as their documentation has it.
PAYLOADS: dict[str, dict[str, Any]] = {
    "claude": {"transcript_path": "/t.jsonl", "cwd": ".", "permission_mode": "default"},
    "codex": {"transcript_path": None, "cwd": ".", "model": "m", "turn_id": "1"},
    "gemini": {"transcript_path": "/t.json", "cwd": ".", "timestamp": "2026-11-01T00:00:00Z"},
}


@pytest.mark.parametrize("target", HOOKS)
def test_hooks_answer_the_payloads_of_their_agent(host: User, target: str) -> None:
    events = load(HOOKS[target])["hooks"]
    hooks = AGENTS[target].hooks
    assert hooks is not None
    assert set(events) == set(hooks.events.values())
    name = hooks.events["prompt"]
    (group,) = events[name]
    (entry,) = group["hooks"]
    payload: dict[str, Any] = PAYLOADS[target] | {
        "session_id": f"files-{target}",
        "hook_event_name": name,
        "prompt": "How are our backups restored?",
    }
    words = shlex.split(entry["command"])
    done = host.call(*words[1:], stdin=json.dumps(payload).encode())
    said = json.loads(done.stdout)["hookSpecificOutput"]
    assert said["hookEventName"] == name
    assert "notes/ops/backup.md:" in said["additionalContext"]

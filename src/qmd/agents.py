"""The programs of AI agents that qmd knows: their names, their titles, and the help of qmd for each.

Where each keeps its files is in `qmd.features.agents.agents`, which the help does without.
"""

from __future__ import annotations

from collections.abc import Mapping

#: By name: the title, and whether there are `skills`, servers of MCP (`mcp`), `hooks` and `sessions` for it.
AGENTS: Mapping[str, tuple[str, str]] = {
    "claude": ("Claude Code", "skills mcp hooks sessions"),
    "claude-desktop": ("Claude Desktop", "mcp"),
    "codex": ("Codex", "skills mcp hooks sessions"),
    "cursor": ("Cursor", "skills mcp"),
    "gemini": ("Gemini CLI", "skills mcp hooks sessions"),
    "opencode": ("OpenCode", "skills mcp hooks sessions"),
    "vscode": ("VS Code", "skills mcp"),
    "windsurf": ("Windsurf", "skills mcp"),
    "zed": ("Zed", "skills mcp"),
}


def title(name: str) -> str:
    """Return the title of an agent."""
    return AGENTS[name][0]


def having(trait: str) -> tuple[str, ...]:
    """Return the names of the agents for which there is something."""
    return tuple(name for name, (_, traits) in AGENTS.items() if trait in traits.split())

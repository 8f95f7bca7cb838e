"""Where the programs of AI agents keep their skills and the settings of their MCP servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from qmd.errors import ConfigError, UsageError

Entry: TypeAlias = dict[str, Any]


def _plain(words: Sequence[str]) -> Entry:
    return {"command": words[0], "args": list(words[1:])}


def _typed(words: Sequence[str]) -> Entry:
    return {"type": "stdio", **_plain(words)}


def _joined(words: Sequence[str]) -> Entry:
    return {"type": "local", "command": list(words), "enabled": True}


class Agent(Struct, frozen=True):
    """A program that uses skills, MCP servers, or both.

    Paths begin with a base in braces (`_bases`). Those of a project are relative to its folder; None means
    that the program has no such place. `section` is the table of servers in the settings, and `entry` makes a
    server's entry from the words of its command.
    """

    title: str
    skills: str | None = None
    project_skills: str | None = None
    settings: tuple[str, ...] = ()
    project_settings: tuple[str, ...] = ()
    section: str = "mcpServers"
    entry: Callable[[Sequence[str]], Entry] = _plain


#: Of several files of settings the first that exists is used, or else the first.
AGENTS: dict[str, Agent] = {
    "claude": Agent(
        "Claude Code",
        "{claude}/skills",
        ".claude/skills",
        ("{claude_settings}/.claude.json",),
        (".mcp.json",),
        entry=_typed,
    ),
    "claude-desktop": Agent("Claude Desktop", settings=("{application}/Claude/claude_desktop_config.json",)),
    "codex": Agent(
        "Codex",
        "{home}/.agents/skills",
        ".agents/skills",
        ("{codex}/config.toml",),
        (".codex/config.toml",),
        section="mcp_servers",
    ),
    "cursor": Agent(
        "Cursor",
        "{home}/.cursor/skills",
        ".cursor/skills",
        ("{home}/.cursor/mcp.json",),
        (".cursor/mcp.json",),
    ),
    "opencode": Agent(
        "OpenCode",
        "{config}/opencode/skills",
        ".opencode/skills",
        ("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
        ("opencode.json", "opencode.jsonc"),
        section="mcp",
        entry=_joined,
    ),
    "vscode": Agent(
        "VS Code",
        settings=("{application}/Code/User/mcp.json",),
        project_settings=(".vscode/mcp.json",),
        section="servers",
        entry=_typed,
    ),
}


def skills_folder(name: str, environ: Mapping[str, str], project: str | None = None) -> str:
    """Return the folder of an agent's skills: the user's, or that of the project in the folder `project`.

    Raises `ConfigError` if a link in the project leads out of it, or if there is no home folder.
    """
    agent = AGENTS[name]
    if project is not None:
        return _inside(project, agent.project_skills or "")
    return os.path.normpath((agent.skills or "").format_map(_bases(environ)))


def settings_file(name: str, environ: Mapping[str, str], project: str | None = None) -> str:
    """Return the file of an agent's settings that lists MCP servers, the user's or a project's.

    Raises `UsageError` if the agent has no settings for a project, and `ConfigError` as `skills_folder` does.
    """
    agent = AGENTS[name]
    if project is None:
        bases = _bases(environ)
        paths = [os.path.normpath(path.format_map(bases)) for path in agent.settings]
    elif agent.project_settings:
        paths = [_inside(project, path) for path in agent.project_settings]
    else:
        raise UsageError(f"{agent.title} has no settings for a project", "leave --project out")
    return next(filter(os.path.lexists, paths), paths[0])


def _inside(project: str, path: str) -> str:
    """Return a path in a project, whose files may come from someone else."""
    root, joined = os.path.realpath(project), os.path.join(project, path)
    if not os.path.realpath(joined).startswith(os.path.join(root, "")):
        raise ConfigError(f"{joined} leads out of the project", "Remove the link, or leave --project out.")
    return joined


def _bases(environ: Mapping[str, str]) -> dict[str, str]:
    home = environ.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        raise ConfigError("There is no home folder.", "Set HOME.")

    def base(variable: str, default: str) -> str:
        given = environ.get(variable, "")
        return given if os.path.isabs(given) else os.path.join(home, default)

    config = base("XDG_CONFIG_HOME", ".config")
    macos = os.path.join(home, "Library", "Application Support")
    return {
        "home": home,
        "config": config,
        "application": macos if sys.platform == "darwin" else config,
        "claude": base("CLAUDE_CONFIG_DIR", ".claude"),
        "claude_settings": base("CLAUDE_CONFIG_DIR", ""),
        "codex": base("CODEX_HOME", ".codex"),
    }

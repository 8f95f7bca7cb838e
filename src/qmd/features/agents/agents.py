"""The programs of AI agents, with the places of their skills and of the settings of their MCP servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from qmd.agents import having, title
from qmd.config.paths import PLACES
from qmd.errors import ConfigError, UsageError
from qmd.types import Collection

Entry: TypeAlias = dict[str, Any]


def _plain(words: Sequence[str]) -> Entry:
    return {"command": words[0], "args": list(words[1:])}


def _typed(words: Sequence[str]) -> Entry:
    return {"type": "stdio", **_plain(words)}


def _joined(words: Sequence[str]) -> Entry:
    return {"type": "local", "command": list(words), "enabled": True}


class Hooks(Struct, frozen=True):
    """The programs that an agent runs at events of a session.

    Attributes:
        version: The version of the agent whose documentation this follows.
        file: The user's file that lists them, with a base in braces (`_bases`); or the plugin, if that is how
            the agent takes them.
        project_file: The file of a project, relative to its folder.
        events: The agent's names of the events of `qmd hook run`.
        second: A second in the unit of its time limits; 0 for a plugin.
        after: What the user does before the hooks run, in addition to a restart.
    """

    version: str
    file: str
    project_file: str
    events: Mapping[str, str]
    second: int = 1
    after: str = ""


class SessionsFolder(Struct, frozen=True):
    """A folder in which an agent keeps transcripts of its sessions or its memory, as a collection.

    Attributes:
        name: The name of the collection.
        folder: The folder, with a base in braces (`_bases`).
        pattern: The glob of the files.
        formats: The formats that read them.
        ignore: Globs of files that are left out: the transcripts of sub-agents, and folders of other files.
        shared: Whether the folder has other files as well, so that without these it has nothing of that.
    """

    name: str
    folder: str
    pattern: str
    formats: tuple[str, ...] = ("transcript",)
    ignore: tuple[str, ...] = ()
    shared: bool = False

    @property
    def place(self) -> str:
        """The files without which there are none, or the folder."""
        return os.path.join(self.folder, self.pattern) if self.shared else self.folder

    @property
    def exists(self) -> bool:
        """True if the folder, if its path is absolute, has sessions or will have them."""
        from qmd.sources.walk import walk  # no other use of an agent needs it

        collection = Collection(self.name, self.folder, self.pattern, self.ignore, formats=self.formats)
        return os.path.isdir(self.folder) and (not self.shared or any(walk(collection)))


def _memory(name: str, folder: str, below: str = "") -> SessionsFolder:
    """Return the row of the Markdown files in which an agent keeps what it has learned."""
    return SessionsFolder(name, folder, f"{below}**/*.md", (), ("skills/",), shared=True)


class Agent(Struct, frozen=True):
    """A program that uses skills, MCP servers or hooks.

    Paths begin with a base in braces (`_bases`). Those of a project are relative to its folder; None means
    that the program has no such place. `section` is the table of servers in the settings, and `entry` makes a
    server's entry from the words of its command.

    `variables` says which variables of the environment a server gets: all that the program has, if that is
    started in a terminal; those that the entry names, or those whose values it has.
    """

    title: str
    skills: str | None = None
    project_skills: str | None = None
    settings: tuple[str, ...] = ()
    project_settings: tuple[str, ...] = ()
    section: str = "mcpServers"
    entry: Callable[[Sequence[str]], Entry] = _plain
    variables: Literal["all", "named", "values"] = "all"
    hooks: Hooks | None = None
    sessions: tuple[SessionsFolder, ...] = ()


#: Codex took over Claude Code's names.
_CLAUDE_EVENTS = {"session": "SessionStart", "prompt": "UserPromptSubmit", "compact": "PreCompact"}

#: Of several files of settings the first that exists is used, or else the first.
AGENTS: dict[str, Agent] = {
    "claude": Agent(
        title("claude"),
        "{claude}/skills",
        ".claude/skills",
        ("{claude_settings}/.claude.json",),
        (".mcp.json",),
        entry=_typed,
        # https://code.claude.com/docs/en/hooks
        hooks=Hooks("2.1", "{claude}/settings.json", ".claude/settings.json", _CLAUDE_EVENTS),
        sessions=(
            SessionsFolder(
                "claude-sessions",
                "{claude}/projects",
                "**/*.jsonl",
                ignore=("agent-*.jsonl", "subagents/", "tool-results/"),
            ),
            # https://code.claude.com/docs/en/memory, https://code.claude.com/docs/en/sub-agents
            _memory("claude-memory", "{claude}/projects", "*/memory/"),
            _memory("claude-agent-memory", "{claude}/agent-memory"),
        ),
    ),
    "claude-desktop": Agent(
        title("claude-desktop"),
        settings=("{application}/Claude/claude_desktop_config.json",),
        variables="values",
    ),
    "codex": Agent(
        title("codex"),
        "{home}/.agents/skills",
        ".agents/skills",
        ("{codex}/config.toml",),
        (".codex/config.toml",),
        section="mcp_servers",
        variables="named",
        # https://developers.openai.com/codex/hooks
        hooks=Hooks(
            "0.169",
            "{codex}/hooks.json",
            ".codex/hooks.json",
            _CLAUDE_EVENTS,
            after="review them with /hooks: Codex runs only hooks that you trust",
        ),
        sessions=(
            SessionsFolder("codex-sessions", "{codex}/sessions", "**/rollout-*.jsonl"),
            SessionsFolder("codex-archive", "{codex}/archived_sessions", "**/rollout-*.jsonl"),
            # https://developers.openai.com/codex/memories
            _memory("codex-memory", "{codex}/memories"),
        ),
    ),
    "cursor": Agent(
        title("cursor"),
        "{home}/.cursor/skills",
        ".cursor/skills",
        ("{home}/.cursor/mcp.json",),
        (".cursor/mcp.json",),
        variables="values",
    ),
    "gemini": Agent(
        title("gemini"),
        "{gemini}/skills",
        ".gemini/skills",
        ("{gemini}/settings.json",),
        (".gemini/settings.json",),
        # https://geminicli.com/docs/hooks/reference
        hooks=Hooks(
            "0.61",
            "{gemini}/settings.json",
            ".gemini/settings.json",
            {"session": "SessionStart", "prompt": "BeforeAgent", "compact": "PreCompress"},
            second=1000,
        ),
        sessions=(
            SessionsFolder(
                "gemini-sessions",
                "{gemini}/tmp",
                "*/chats/session-*.{json,jsonl}",
                ("transcript", "transcript-json"),
            ),
            # https://geminicli.com/docs/tools/memory
            _memory("gemini-memory", "{gemini}/tmp", "*/memory/"),
        ),
    ),
    "opencode": Agent(
        title("opencode"),
        "{config}/opencode/skills",
        ".opencode/skills",
        ("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
        ("opencode.json", "opencode.jsonc"),
        section="mcp",
        entry=_joined,
        # https://opencode.ai/docs/plugins
        hooks=Hooks(
            "1.18",
            "{config}/opencode/plugins/qmd.js",
            ".opencode/plugins/qmd.js",
            {
                "session": "experimental.chat.system.transform",
                "prompt": "chat.message",
                "compact": "experimental.session.compacting",
            },
            second=0,
        ),
        sessions=(
            SessionsFolder(
                "opencode-sessions", "{data}/opencode", "opencode*.db", ("opencode",), ("*/",), shared=True
            ),
        ),
    ),
    "vscode": Agent(
        title("vscode"),
        # https://code.visualstudio.com/docs/agent-customization/agent-skills
        "{home}/.copilot/skills",
        ".github/skills",
        ("{application}/Code/User/mcp.json",),
        (".vscode/mcp.json",),
        section="servers",
        entry=_typed,
        variables="values",
    ),
    "windsurf": Agent(
        title("windsurf"),
        # https://docs.windsurf.com/windsurf/cascade/skills
        "{home}/.codeium/windsurf/skills",
        ".windsurf/skills",
        ("{home}/.codeium/windsurf/mcp_config.json",),
        variables="values",
    ),
    "zed": Agent(
        title("zed"),
        # https://zed.dev/docs/ai/skills
        "{home}/.agents/skills",
        ".agents/skills",
        ("{zed}/zed/settings.json",),
        (".zed/settings.json",),
        section="context_servers",
        variables="values",
    ),
}

HOOKED = having("hooks")


#: The variables that Codex hands on to servers and that make them answer as the command does.
_NAMED = (
    *PLACES,
    *("QMD_EMBED_MODEL", "QMD_RERANK_MODEL", "QMD_GENERATE_MODEL", "QMD_OPENAI_API_KEY"),
    *("QMD_MILVUS_USER", "QMD_MILVUS_PASSWORD", "QMD_MILVUS_TOKEN"),
)


def server_entry(name: str, words: Sequence[str], environ: Mapping[str, str] | None = None) -> Entry:
    """Return the entry of a server in the settings of an agent.

    Args:
        name: The name of the agent.
        words: The words of the server's command.
        environ: The variables that say where the user's index is; None for the settings of a project, which
            go to other machines.
    """
    agent = AGENTS[name]
    given = {each: (environ or {}).get(each, "") for each in PLACES}
    places = {each: value for each, value in given.items() if os.path.isabs(value) or "://" in value}
    match agent.variables:
        case "named":
            return {**agent.entry(words), "env_vars": [*_NAMED]}
        case "values" if places:
            return {**agent.entry(words), "env": places}
    return agent.entry(words)


def server_variables(name: str, entry: Entry, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of `environ`, which an agent has, that a server of its settings gets."""
    named, values = entry.get("env_vars"), entry.get("env", entry.get("environment"))
    handed: Mapping[str, str] = environ
    if AGENTS[name].variables != "all":
        names = {
            "HOME",
            *(each for each in (named if isinstance(named, list) else ()) if isinstance(each, str)),
        }
        handed = {each: value for each, value in environ.items() if each in names}
    return {**handed, **(values if isinstance(values, dict) else {})}


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


def hooks_file(name: str, environ: Mapping[str, str], project: str | None = None) -> str:
    """Return the file that lists an agent's hooks, or its plugin: the user's, or that of a project.

    Raises `ConfigError` as `skills_folder` does.
    """
    hooks = hooks_of(name)
    if project is not None:
        return _inside(project, hooks.project_file)
    return os.path.normpath(hooks.file.format_map(_bases(environ)))


def hooks_of(name: str) -> Hooks:
    """Return how an agent runs hooks. Raises `UsageError` if it does not."""
    agent = AGENTS[name]
    if agent.hooks is None:
        raise UsageError(f"{agent.title} has no hooks", f"those that have: {', '.join(HOOKED)}")
    return agent.hooks


def session_folders(environ: Mapping[str, str]) -> list[tuple[str, SessionsFolder]]:
    """Return the folders of transcripts and memories: the name of the agent, and the folder with its path."""
    bases = _bases(environ)
    return [
        (agent.title, replace(each, folder=os.path.normpath(each.folder.format_map(bases))))
        for agent in AGENTS.values()
        for each in agent.sessions
    ]


def _inside(project: str, path: str) -> str:
    """Return a path in a project, whose files may come from someone else."""
    root, joined = os.path.realpath(project), os.path.join(project, path)
    if not os.path.realpath(joined).startswith(os.path.join(root, "")):
        raise ConfigError(f"{joined} leads out of the project", "remove the link, or leave --project out")
    return joined


def _bases(environ: Mapping[str, str]) -> dict[str, str]:
    home = environ.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        raise ConfigError("There is no home folder.", "set HOME")

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
        "data": base("XDG_DATA_HOME", ".local/share"),
        "gemini": os.path.join(base("GEMINI_CLI_HOME", ""), ".gemini"),
        # Zed keeps to the folder of Linux on macOS, too.
        "zed": os.path.join(home, ".config") if sys.platform == "darwin" else config,
    }

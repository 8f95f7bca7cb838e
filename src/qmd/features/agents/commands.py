"""The rows of the commands for the programs of AI agents: `skill`, `hook` and `mcp install`."""

from __future__ import annotations

from collections.abc import Callable

from qmd.agents import having
from qmd.cli.command import command, group
from qmd.cli.hook_limit import SECONDS
from qmd.cli.options import Decorated, all_formats, argument, combined, decimal, flag, option

SKILLED, HOOKED, CLIENTS = having("skills"), having("hooks"), having("mcp")
_INSTALLING, _EVENT = "qmd.features.agents.installing", "qmd.features.agents.hook_event"


def target_option(targets: tuple[str, ...]) -> Callable[[Decorated], Decorated]:
    return option(
        "--target T",
        targets,
        f"The agent: {', '.join(targets[:-1])} or {targets[-1]} (may be repeated).",
        to="targets",
        multiple=True,
        required=True,
    )


client_option = option(
    "--client C", CLIENTS, f"The program: {', '.join(CLIENTS[:-1])} or {CLIENTS[-1]}.", required=True
)
name_option = option("--name NAME", None, "The server's name in the settings.  [default: qmd, or qmd-INDEX]")


def place_options(what: str) -> Callable[[Decorated], Decorated]:
    return combined(
        flag(
            "--project", "in_project", help=f"Use the {what} of the current folder's project, not your own."
        ),
        flag("--dry-run", help="Show what would be done, and change nothing."),
    )


@group("skill")
def skill() -> None:
    """Install the skill that teaches agents to search, read and cite your documents with qmd.

    An agent loads the skill when it needs it, and runs the commands that it describes. To give an agent tools
    instead, use 'qmd mcp install'.

    Examples:
      qmd skill install --target claude
      qmd skill uninstall --target claude
      qmd skill show
    """


@skill.command("install", runs=f"{_INSTALLING}:install_skill")
@target_option(SKILLED)
@place_options("skills")
def install_skill() -> None:
    """Install the skill for an agent, or update it. A file that qmd did not write is never replaced.

    Examples:
      qmd skill install --target claude
      qmd skill install --target codex --target cursor --dry-run
      qmd skill install --target opencode --project
    """


@skill.command("uninstall", runs=f"{_INSTALLING}:uninstall_skill")
@target_option(SKILLED)
@place_options("skills")
def uninstall_skill() -> None:
    """Remove the skill that 'qmd skill install' installed, unless it was changed since.

    Examples:
      qmd skill uninstall --target claude
      qmd skill uninstall --target opencode --project --dry-run
    """


@skill.command("show", runs=f"{_INSTALLING}:show_skill", agents=True)
def show_skill() -> None:
    """Print the skill, for an agent that is not listed.

    Example:
      qmd skill show > SKILL.md
    """


@command("install", runs=f"{_INSTALLING}:install_server")
@client_option
@name_option
@place_options("settings")
@flag("--replace", help="Replace a different server of this name.")
def install_mcp() -> None:
    """Add this server to the settings of a program, whose old file is kept as a backup.

    The program then starts "qmd mcp" itself. Nothing else in its settings changes. If they cannot be changed
    without loss, as JSON with comments, they are left alone, and --dry-run shows the entry.

    Examples:
      qmd mcp install --client claude
      qmd mcp install --client codex --dry-run
      qmd mcp install --client cursor --project
      qmd mcp install --client vscode --index work
    """


@command("uninstall", runs=f"{_INSTALLING}:uninstall_server")
@client_option
@name_option
@place_options("settings")
def uninstall_mcp() -> None:
    """Remove this server from the settings of a program. A server that runs something else stays.

    Examples:
      qmd mcp uninstall --client claude
      qmd mcp uninstall --client cursor --project
    """


@group("hook")
def hook() -> None:
    """Let an agent run qmd when a session starts, at each prompt, and before it compacts a conversation.

    At a prompt, it is given the passages of your notes that may answer it: at most 600 tokens, each once in
    a session. If nothing is about it, it is given nothing. 'hook.threshold' and 'hook.collections' in
    index.yml are the least score, and the collections that are searched.

    Examples:
      qmd hook install --target claude
      qmd hook status
    """


@hook.command("install", runs=f"{_INSTALLING}:install_hooks")
@target_option(HOOKED)
@flag("--server", "starts_server", help="Start a server in the background with a session, if none runs.")
@place_options("settings")
def install_hooks() -> None:
    """Add the hooks to an agent's settings, or update them. Everything else in the settings stays as it is.

    Without a running server, hooks search by words alone: a prompt in another language than the notes gets
    nothing.

    Examples:
      qmd hook install --target claude
      qmd hook install --target codex --target gemini --server
      qmd hook install --target opencode --project --dry-run
    """


@hook.command("uninstall", runs=f"{_INSTALLING}:uninstall_hooks")
@target_option(HOOKED)
@place_options("settings")
def uninstall_hooks() -> None:
    """Remove the hooks that 'qmd hook install' added, and nothing else.

    Examples:
      qmd hook uninstall --target claude
      qmd hook uninstall --target opencode --project --dry-run
    """


@hook.command("status", runs=f"{_INSTALLING}:show_hooks")
@all_formats
def show_hooks() -> None:
    """Show which agents run the hooks, what is wrong with them, and what failed last.

    Example:
      qmd hook status
      qmd hook status --json
    """


@hook.command("run", runs=f"{_EVENT}:run", agents=True)
@argument("event", "EVENT")
@option("--target T", None, "The agent that calls.  [default: claude]", default="claude")
@flag("--server", "starts_server", help="Start a server in the background if none runs.")
@option(
    "--timeout S",
    decimal(0.001, 600),
    f"Say nothing after S seconds.  [default: {SECONDS}]",
)
def hook_run() -> None:
    """Answer an event of an agent, whose JSON is on stdin: session, prompt or compact.

    It says nothing if nothing is about the prompt, and if it fails: then 'qmd hook status' says why.

    Example:
      echo '{"session_id": "1", "prompt": "How are backups restored?"}' | qmd hook run prompt
    """


@group("agent")
def agent() -> None:
    """Let an agent use your notes: by a skill, by tools over MCP, and by hooks.

    Examples:
      qmd agent install claude
      qmd agent status
      qmd agent uninstall claude
    """


def _part_options(act: str) -> Callable[[Decorated], Decorated]:
    return combined(
        argument("name", "AGENT", kind=tuple(dict.fromkeys((*SKILLED, *HOOKED, *CLIENTS)))),
        flag("-y", "--yes", help=f"{act} each part without asking."),
        place_options("settings"),
    )


@agent.command("install", runs=f"{_INSTALLING}:install_agent")
@_part_options("Install")
def install_agent() -> None:
    """Install the skill, the tools and the hooks for an agent: says what each part writes, and asks.

    The skill teaches the agent to run qmd; the tools let it search and read over MCP; the hooks give it notes
    that may answer a prompt. 'qmd skill', 'qmd mcp install' and 'qmd hook' do each by itself.

    Examples:
      qmd agent install claude
      qmd agent install codex --yes
      qmd agent install opencode --project --dry-run
    """


@agent.command("uninstall", runs=f"{_INSTALLING}:uninstall_agent")
@_part_options("Remove")
def uninstall_agent() -> None:
    """Remove the skill, the tools and the hooks that qmd installed for an agent, and nothing else.

    Examples:
      qmd agent uninstall claude
      qmd agent uninstall codex --yes
    """


@agent.command("status", runs=f"{_INSTALLING}:show_agents")
@all_formats
def agent_status() -> None:
    """Show the skill, the tools and the hooks of each agent: installed or not, where, current or outdated.

    'qmd hook status' shows more about the hooks.

    Examples:
      qmd agent status
      qmd agent status --json
    """

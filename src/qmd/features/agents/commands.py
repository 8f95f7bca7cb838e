"""`skill` and `mcp install`: make qmd known to the programs of AI agents."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from qmd.agents import having
from qmd.cli.command import command, group
from qmd.cli.options import Decorated, combined, flag, option
from qmd.cli.session import Session
from qmd.cli.terminal import say, write
from qmd.cli.usage import fail
from qmd.processes import python

TARGETS, CLIENTS = having("skills"), having("mcp")

DONE = {
    "installed": "Installed {}",
    "updated": "Updated {}",
    "unchanged": "{} is up to date",
    "removed": "Removed {}",
    "absent": "{} is not installed",
}


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


@skill.command("install")
@target_option(TARGETS)
@place_options("skills")
def install_skill(session: Session, targets: tuple[str, ...], in_project: bool, dry_run: bool) -> None:
    """Install the skill for an agent, or update it. A file that qmd did not write is never replaced.

    Examples:
      qmd skill install --target claude
      qmd skill install --target codex --target cursor --dry-run
      qmd skill install --target opencode --project
    """
    _each(session, targets, in_project, dry_run, install=True)


@skill.command("uninstall")
@target_option(TARGETS)
@place_options("skills")
def uninstall_skill(session: Session, targets: tuple[str, ...], in_project: bool, dry_run: bool) -> None:
    """Remove the skill that 'qmd skill install' installed, unless it was changed since.

    Examples:
      qmd skill uninstall --target claude
      qmd skill uninstall --target opencode --project --dry-run
    """
    _each(session, targets, in_project, dry_run, install=False)


@skill.command("show")
def show_skill(session: Session) -> None:
    """Print the skill, for an agent that is not listed.

    Example:
      qmd skill show > SKILL.md
    """
    from qmd.features.agents import skill

    write(skill.text())


def _each(
    session: Session, targets: tuple[str, ...], in_project: bool, dry_run: bool, *, install: bool
) -> None:
    from qmd.features.agents import agents, skill

    act = skill.install if install else skill.uninstall
    project = session.folder() if in_project else None
    for target in dict.fromkeys(targets):
        folder = agents.skills_folder(target, os.environ, project)
        done = DONE[act(folder, dry_run=dry_run)].format(skill.path_in(folder))
        say(f"Dry run: {done}" if dry_run else done)


@command("install")
@client_option
@name_option
@place_options("settings")
@flag("--replace", help="Replace a different server of this name.")
def install_mcp(session: Session, client: str, name: str | None, **options: bool) -> None:
    """Add this server to the settings of a program, whose old file is kept as a backup.

    The program then starts "qmd mcp" itself. Nothing else in its settings changes. If they cannot be changed
    without loss, as JSON with comments, they are left alone, and --dry-run shows the entry.

    Examples:
      qmd mcp install --client claude
      qmd mcp install --client codex --dry-run
      qmd mcp install --client cursor --project
      qmd mcp install --client vscode --index work
    """
    install_server(session, client, name, options)


@command("uninstall")
@client_option
@name_option
@place_options("settings")
def uninstall_mcp(session: Session, client: str, name: str | None, **options: bool) -> None:
    """Remove this server from the settings of a program. A server that runs something else stays.

    Examples:
      qmd mcp uninstall --client claude
      qmd mcp uninstall --client cursor --project
    """
    uninstall_server(session, client, name, options)


def install_server(session: Session, client: str, name: str | None, options: dict[str, bool]) -> None:
    """Add `qmd mcp` to the settings of a client."""
    from qmd.features.agents import agents, mcp_settings

    project = session.folder() if options["in_project"] else None
    path, agent = agents.settings_file(client, os.environ, project), agents.AGENTS[client]
    entry = agent.entry([*program(project), "mcp", *session.options()])
    server = _server_name(session, name)
    if options["dry_run"]:
        say(f"Dry run: the server '{server}' in {path}")
        say(mcp_settings.shown(path, agent.section, server, entry))
    change = mcp_settings.add(path, agent.section, server, entry, replace=options["replace"])
    if options["dry_run"]:
        return
    backup = change.write()
    if not change:
        say(f"{path} has the server '{server}' already")
        return
    say(f"Added the server '{server}' to {path}. Restart {agent.title} to use it.")
    if backup:
        session.note(f"the old file was kept as {backup}")


def uninstall_server(session: Session, client: str, name: str | None, options: dict[str, bool]) -> None:
    """Remove `qmd mcp` from the settings of a client."""
    from qmd.features.agents import agents, mcp_settings

    project = session.folder() if options["in_project"] else None
    path, server = agents.settings_file(client, os.environ, project), _server_name(session, name)
    change = mcp_settings.remove(path, agents.AGENTS[client].section, server)
    if not change:
        say(f"{path} has no server '{server}'")
        return
    done = f"Removed the server '{server}' from {path}"
    if options["dry_run"]:
        say(f"Dry run: {done}")
        return
    backup = change.write()
    say(done)
    if backup:
        session.note(f"the old file was kept as {backup}")


def program(project: str | None) -> list[str]:
    """Return the words that start this program.

    Clients do not know the PATH of a shell, and a program of another author is named qmd too. So this is the
    path of the running program, except in a project, whose files go to other machines.
    """
    if project is not None:
        return ["qmd"]
    program = os.path.abspath(sys.argv[0])
    if os.path.basename(program) == "qmd" and os.path.isfile(program) and os.access(program, os.X_OK):
        return [program]
    return python("qmd")


def _server_name(session: Session, name: str | None) -> str:
    from qmd.features.agents.mcp_settings import NAME

    server = name or (f"qmd-{session.index_name}" if session.index_name else "qmd")
    if not NAME.fullmatch(server):
        fail(f"--name must be 1 to 64 letters, digits, hyphens and underscores, not '{server}'")
    return server

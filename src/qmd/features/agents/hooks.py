"""`hook`: let agents run qmd at events of a session, so that they know what your notes say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from qmd.agents import having
from qmd.cli.command import group
from qmd.cli.options import flag
from qmd.cli.session import Session
from qmd.cli.terminal import say
from qmd.features.agents.commands import DONE, place_options, program, target_option
from qmd.features.agents.hook_run import run

if TYPE_CHECKING:
    from qmd.features.agents.hook_settings import Done

TARGETS = having("hooks")


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


@hook.command("install")
@target_option(TARGETS)
@flag("--server", "starts_server", help="Start a server in the background with a session, if none runs.")
@place_options("settings")
def install(
    session: Session, targets: tuple[str, ...], starts_server: bool, in_project: bool, dry_run: bool
) -> None:
    """Add the hooks to an agent's settings, or update them. Everything else in the settings stays as it is.

    Without a running server, hooks search by words alone: a prompt in another language than the notes gets
    nothing.

    Examples:
      qmd hook install --target claude
      qmd hook install --target codex --target gemini --server
      qmd hook install --target opencode --project --dry-run
    """
    from qmd.features.agents import hook_settings
    from qmd.features.agents.agents import AGENTS

    project = session.folder() if in_project else None
    for target in dict.fromkeys(targets):
        done = hook_settings.install(
            target,
            os.environ,
            project,
            program(project),
            session.options(),
            starts_server=starts_server,
            dry_run=dry_run,
        )
        _report(session, target, done, dry_run)
        hooks = AGENTS[target].hooks
        if hooks is not None and done.what != "unchanged" and not dry_run:
            after = f", and {hooks.after}" if hooks.after else ""
            say(f"Restart {AGENTS[target].title}{after}.")


@hook.command("uninstall")
@target_option(TARGETS)
@place_options("settings")
def uninstall(session: Session, targets: tuple[str, ...], in_project: bool, dry_run: bool) -> None:
    """Remove the hooks that 'qmd hook install' added, and nothing else.

    Examples:
      qmd hook uninstall --target claude
      qmd hook uninstall --target opencode --project --dry-run
    """
    from qmd.features.agents import hook_settings

    project = session.folder() if in_project else None
    for target in dict.fromkeys(targets):
        done = hook_settings.uninstall(target, os.environ, project, dry_run=dry_run)
        _report(session, target, done, dry_run)


@hook.command("status")
def status(session: Session) -> None:
    """Show which agents run the hooks, what is wrong with them, and what failed last.

    Example:
      qmd hook status
    """
    from qmd.cli.hook_limit import log_file
    from qmd.features.agents.checks import hooks

    findings = [*hooks(os.environ, session.folder())]
    for finding in findings:
        say(f"{finding.message}" + (f"; {finding.hint}" if finding.hint else ""))
    if not findings:
        say("No agent runs the hooks. Install them: qmd hook install --target claude")
    elif session.store is None and not os.path.exists(session.index_file()):
        say(session.addressed("There is no index, so hooks say nothing. Make one: qmd add FOLDER"))
    elif session.server() is None:
        say(
            session.addressed(
                "No server runs, so hooks search by words alone, and not across languages. "
                "Start one: qmd server --daemon"
            )
        )
    for line in _last(log_file(os.environ)):
        say(line)


hook.add(run)


def _report(session: Session, target: str, done: Done, dry_run: bool) -> None:
    from qmd.features.agents.agents import AGENTS

    said = DONE[done.what].format(f"the hooks of {AGENTS[target].title} in {done.path}")
    say(f"Dry run: {said}" if dry_run else said)
    if done.backup:
        session.note(f"the old file was kept as {done.backup}")


def _last(path: str) -> Iterator[str]:
    """Yield the last failures of hooks."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()[-5:]
    except OSError:
        return
    if lines:
        yield f"Last failures ({path}):"
    yield from (f"  {line}" for line in lines)

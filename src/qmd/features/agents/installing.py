"""Install the skill, the hooks and the server of MCP in the programs of AI agents, and show the result."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any

from qmd.cli.approval import confirm
from qmd.cli.hook_limit import log_file
from qmd.cli.session import Session
from qmd.cli.show import FINDING, show_listing
from qmd.cli.terminal import can_ask, clean_name, columns, one_line, say, write
from qmd.cli.usage import fail
from qmd.engine.finding import Finding, warning
from qmd.features.agents import checks, hook_settings, mcp_settings, skill
from qmd.features.agents.agents import AGENTS, server_entry, settings_file, skills_folder
from qmd.processes import python

#: What was done, and what would be done without --dry-run.
_DONE = {
    "installed": ("Installed {}", "Would install {}"),
    "updated": ("Updated {}", "Would update {}"),
    "unchanged": ("Up to date: {}",) * 2,
    "removed": ("Removed {}", "Would remove {}"),
    "absent": ("Not installed: {}",) * 2,
}


def install_skill(session: Session, targets: tuple[str, ...], in_project: bool, dry_run: bool) -> None:
    """Install the skill for agents."""
    _change_skill(session, targets, in_project, dry_run, install=True)


def uninstall_skill(session: Session, targets: tuple[str, ...], in_project: bool, dry_run: bool) -> None:
    """Remove the skill from agents."""
    _change_skill(session, targets, in_project, dry_run, install=False)


def show_skill(_: Session) -> None:
    """Print the skill."""
    write(skill.text())


def _change_skill(
    session: Session, targets: tuple[str, ...], in_project: bool, dry_run: bool, *, install: bool
) -> None:
    act = skill.install if install else skill.uninstall
    project = session.folder() if in_project else None
    for target in dict.fromkeys(targets):
        folder = skills_folder(target, os.environ, project)
        _say(act(folder, dry_run=dry_run), skill.path_in(folder), dry_run)


def install_hooks(
    session: Session, targets: tuple[str, ...], starts_server: bool, in_project: bool, dry_run: bool
) -> None:
    """Add the hooks to the settings of agents."""
    project = session.folder() if in_project else None
    for target in dict.fromkeys(targets):
        done = hook_settings.install(
            target,
            os.environ,
            project,
            _program(project),
            session.options(),
            starts_server=starts_server,
            dry_run=dry_run,
        )
        _report_hooks(session, target, done, dry_run)
        hooks = AGENTS[target].hooks
        if hooks is not None and done.what != "unchanged" and not dry_run:
            after = f", and {hooks.after}" if hooks.after else ""
            say(f"Restart {AGENTS[target].title}{after}.")


def uninstall_hooks(session: Session, targets: tuple[str, ...], in_project: bool, dry_run: bool) -> None:
    """Remove the hooks from the settings of agents."""
    project = session.folder() if in_project else None
    for target in dict.fromkeys(targets):
        done = hook_settings.uninstall(target, os.environ, project, dry_run=dry_run)
        _report_hooks(session, target, done, dry_run)


def show_hooks(session: Session) -> None:
    """Show the state of the hooks, and their last failures."""
    findings = [*checks.hooks(os.environ, session.folder())]
    lines = [one_line(each.message + (f"; {each.hint}" if each.hint else "")) for each in findings]
    others, more = _limits_of_hooks(session, installed=bool(findings))
    show_listing("findings", "finding", FINDING, [*findings, *others], lines=[*lines, *more])


def show_agents(session: Session) -> None:
    """Show the state of each part of each agent, and for people what limits the hooks."""
    found = [*checks.parts(os.environ, session.folder())]
    lines: list[str] = []
    for agent, of_agent in groupby(found, lambda each: each.agent):
        lines += [*([""] if lines else []), f"{AGENTS[agent].title} ({agent})", *_part_lines([*of_agent])]
    if all(each.state == checks.ABSENT for each in found):
        lines += ["", session.addressed("Install all parts for an agent: qmd agent install claude")]
    elif any(each.part == "hooks" and each.state != checks.ABSENT for each in found):
        _, more = _limits_of_hooks(session, installed=True)
        lines += ["", *more] if more else []
    show_listing("parts", "part", checks.CheckedPart.__struct_fields__, found, lines=lines)


def _part_lines(parts: list[checks.CheckedPart]) -> Iterator[str]:
    """Yield a line for each part of an agent, and one below it if something is wrong."""
    rows = [
        (
            each.part,
            each.state,
            ("would be in " if each.state == checks.ABSENT else "") + clean_name(each.path),
        )
        for each in parts
    ]
    for each, line in zip(parts, columns(rows), strict=True):
        yield f"  {line}"
        if each.state not in ("current", checks.ABSENT) and each.message:
            yield f"    {one_line(each.message)}" + (f"; {one_line(each.hint)}" if each.hint else "")


def _limits_of_hooks(session: Session, *, installed: bool) -> tuple[list[Finding], list[str]]:
    """Return what keeps hooks from all they can do, and their last failures; and lines of both."""
    if not installed:
        lack = warning("hooks", "No agent runs the hooks", "install them: 'qmd hook install --target claude'")
    elif session.store is None and not os.path.exists(session.index_file()):
        lack = warning("index", "There is no index, so hooks say nothing", "make one: 'qmd add FOLDER'")
    elif session.server() is None:
        message = "No server runs, so hooks search by words alone, and not across languages"
        lack = warning("server", message, "start one: 'qmd server --daemon'")
    else:
        lack = None
    findings = [] if lack is None else [lack]
    lines = [session.addressed(f"{each.message}; {each.hint}") for each in findings]
    path = log_file(os.environ)
    failures = [*_last(path)]
    findings += (warning("failures", line, f"see {path}") for line in failures)
    lines += [f"Last failures ({path}):", *(f"  {line}" for line in failures)] if failures else []
    return findings, [*map(clean_name, lines)]


def _report_hooks(session: Session, target: str, done: hook_settings.Done, dry_run: bool) -> None:
    _say(done.what, f"the hooks of {AGENTS[target].title} in {done.path}", dry_run)
    if dry_run and done.text and done.what != "unchanged":
        say(done.text)
    if done.backup:
        session.note(f"the old file was kept as {done.backup}")


def _say(done: str, part: str, dry_run: bool) -> None:
    say(clean_name(_DONE[done][dry_run].format(part)))


def _last(path: str) -> list[str]:
    """Return the last failures of hooks."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()[-5:]
    except OSError:
        return []


def install_server(session: Session, client: str, name: str | None, **options: bool) -> None:
    """Add `qmd mcp` to the settings of a client."""
    project = session.folder() if options["in_project"] else None
    path, agent = settings_file(client, os.environ, project), AGENTS[client]
    variables = os.environ if project is None else None
    entry = server_entry(client, [*_program(project), "mcp", *session.options()], variables)
    server = _server_name(session, name)
    if options["dry_run"]:
        _say("installed", f"the server '{server}' in {path}", dry_run=True)
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


def uninstall_server(session: Session, client: str, name: str | None, **options: bool) -> None:
    """Remove `qmd mcp` from the settings of a client."""
    project = session.folder() if options["in_project"] else None
    path, server = settings_file(client, os.environ, project), _server_name(session, name)
    change = mcp_settings.remove(path, AGENTS[client].section, server)
    backup = change.write() if change and not options["dry_run"] else None
    _say("removed" if change else "absent", f"the server '{server}' in {path}", options["dry_run"])
    if backup:
        session.note(f"the old file was kept as {backup}")


def install_agent(session: Session, name: str, yes: bool, in_project: bool, dry_run: bool) -> None:
    """Install each part of an agent after asking."""
    _change_agent(session, name, yes=yes, in_project=in_project, dry_run=dry_run, install=True)


def uninstall_agent(session: Session, name: str, yes: bool, in_project: bool, dry_run: bool) -> None:
    """Remove each part of an agent after asking."""
    _change_agent(session, name, yes=yes, in_project=in_project, dry_run=dry_run, install=False)


def _change_agent(
    session: Session, name: str, *, yes: bool, in_project: bool, dry_run: bool, install: bool
) -> None:
    if not (yes or dry_run or can_ask()):
        fail("cannot ask without a terminal: add --yes, or --dry-run to see what would be done")
    project = session.folder() if in_project else None
    server = install_server if install else uninstall_server
    place: dict[str, Any] = {"in_project": in_project, "dry_run": dry_run}
    added: dict[str, Any] = {"replace": False} if install else {}
    hooks = partial(install_hooks, starts_server=False) if install else uninstall_hooks
    acts: dict[str, Callable[[], None]] = {
        "skill": partial(_change_skill, session, (name,), **place, install=install),
        "tools": partial(server, session, name, None, **place, **added),
        "hooks": partial(hooks, session, (name,), **place),
    }
    for part, (path_of, _) in checks.parts_of(name).items():
        path = path_of(name, os.environ, project)
        question = f"Write the {part} to {path}?" if install else f"Remove the {part} from {path}?"
        # Removing a part that is not installed only says so.
        asks = install or checks.states(name, part, os.environ, project)[0].state != checks.ABSENT
        if yes or dry_run or not asks or confirm(question):
            acts[part]()


def _program(project: str | None) -> list[str]:
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
    server = name or (f"qmd-{session.index_name}" if session.index_name else "qmd")
    if not mcp_settings.NAME.fullmatch(server):
        fail(f"--name must be 1 to 64 letters, digits, hyphens and underscores, not '{server}'")
    return server

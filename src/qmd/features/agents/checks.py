"""Checks of what qmd installs for agents: the skill, the tools, which are an MCP server, and the hooks."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from qmd.agents import having
from qmd.config.paths import index_paths
from qmd.engine.finding import Finding, attempt, ok, problem, warning
from qmd.errors import ConfigError, QmdError
from qmd.features.agents import hook_settings, mcp_settings, skill
from qmd.features.agents.agents import (
    AGENTS,
    HOOKED,
    hooks_file,
    server_variables,
    settings_file,
    skills_folder,
)
from qmd.features.agents.hook_settings import EVENTS

#: The path of a part of an agent: the user's own, or that of a project.
PathOf: TypeAlias = "Callable[[str, Mapping[str, str], str | None], str]"
Check: TypeAlias = "Callable[[str, Mapping[str, str], str | None], Iterator[Finding]]"

ABSENT = "not installed"
_STATES = {"ok": "current", "warning": "outdated", "problem": "broken"}


class CheckedPart(Struct, frozen=True):
    """The state of a part of an agent: the skill, the tools or the hooks.

    Attributes:
        agent: The name of the agent.
        part: "skill", "tools" or "hooks".
        place: "user" or "project".
        state: "current", "outdated", "broken", "not installed", or "unknown" if it cannot be read or somebody
            else wrote it.
        path: The file in which it is, or would be.
        message: What the check found; None if it is not installed.
        hint: How to mend it.
    """

    agent: str
    part: str
    place: str
    state: str
    path: str
    message: str | None = None
    hint: str | None = None


def parts(environ: Mapping[str, str], folder: str) -> Iterator[CheckedPart]:
    """Yield the parts of each agent: the user's, and those that are installed in the project in `folder`."""
    for agent in AGENTS:
        for part, (path_of, _) in parts_of(agent).items():
            own = path_of(agent, environ, None)
            yield from states(agent, part, environ, None)
            if part != "tools" or AGENTS[agent].project_settings:
                for each in states(agent, part, environ, folder):
                    if each.state != ABSENT and os.path.realpath(each.path) != os.path.realpath(own):
                        yield each


def parts_of(agent: str) -> dict[str, tuple[PathOf, Check]]:
    """Return the parts that there are for an agent, each with the function for its path and its check."""
    return {
        part: (path_of, check) for part, (trait, path_of, check) in _PARTS.items() if agent in having(trait)
    }


def states(agent: str, part: str, environ: Mapping[str, str], project: str | None) -> list[CheckedPart]:
    """Return the state of a part of an agent; of the tools, that of each server that runs qmd."""
    path_of, check = parts_of(agent)[part]
    place, path = "user" if project is None else "project", ""
    try:
        path = path_of(agent, environ, project)
        found = [*check(agent, environ, project)]
    except QmdError as error:
        return [CheckedPart(agent, part, place, "unknown", path, error.message, error.hint)]
    start = f"{AGENTS[agent].title}: "
    return [
        CheckedPart(
            agent, part, place, _STATES[each.level], path, each.message.removeprefix(start), each.hint
        )
        for each in found
    ] or [CheckedPart(agent, part, place, ABSENT, path)]


def checks(environ: Mapping[str, str], folder: str) -> Iterator[Finding]:
    """Report the hooks and the MCP servers of each agent: the user's own, and those of a project."""
    yield from hooks(environ, folder)
    yield from _servers_of_all(environ, folder)


def hooks(environ: Mapping[str, str], folder: str) -> Iterator[Finding]:
    """Report the hooks of each agent, the user's own and those of the project in `folder`."""
    for target in HOOKED:
        own, projects = hooks_file(target, environ), hooks_file(target, environ, folder)
        yield from _hooks(target, environ, None)
        if os.path.realpath(projects) != os.path.realpath(own):
            yield from _hooks(target, environ, folder)


def _servers_of_all(environ: Mapping[str, str], folder: str) -> Iterator[Finding]:
    for client, agent in AGENTS.items():
        if agent.settings:
            yield from _servers(client, environ, None)
        if agent.project_settings:
            yield from _servers(client, environ, folder)


def _hooks(target: str, environ: Mapping[str, str], project: str | None) -> Iterator[Finding]:
    found = yield from attempt("hooks", lambda: hook_settings.installed(target, environ, project))
    if not found:
        return
    title, path = AGENTS[target].title, hooks_file(target, environ, project)
    again = f"run 'qmd hook install --target {target}{' --project' if project else ''}'"
    program = found[0].program
    if gone := _gone(program, environ):
        yield problem("hooks", f"{title}: {gone}, but {path} runs {program}", again)
    elif missing := [event for event in EVENTS if event not in {hook.event for hook in found}]:
        yield warning("hooks", f"{title}: {path} has no hook for {', '.join(missing)}", again)
    else:
        yield ok("hooks", f"{title}: {path} runs {os.path.basename(program)} at {', '.join(EVENTS)}")


def _skill_path(agent: str, environ: Mapping[str, str], project: str | None) -> str:
    return skill.path_in(skills_folder(agent, environ, project))


def _skill(agent: str, environ: Mapping[str, str], project: str | None) -> Iterator[Finding]:
    done = skill.install(skills_folder(agent, environ, project), dry_run=True)
    title, path = AGENTS[agent].title, _skill_path(agent, environ, project)
    if done == "unchanged":
        yield ok("skill", f"{title}: {path} is up to date")
    elif done == "updated":
        again = f"run 'qmd skill install --target {agent}{' --project' if project else ''}'"
        yield warning("skill", f"{title}: {path} is from another version of qmd", again)


def _servers(client: str, environ: Mapping[str, str], project: str | None) -> Iterator[Finding]:
    try:
        yield from _tools(client, environ, project)
    except ConfigError as error:
        # Settings may have comments, which their program understands.
        yield ok("mcp", f"{AGENTS[client].title}: the servers cannot be checked: {error.message}")


def _tools(client: str, environ: Mapping[str, str], project: str | None) -> Iterator[Finding]:
    agent, path = AGENTS[client], settings_file(client, environ, project)
    servers = mcp_settings.installed(path, agent.section)
    hooks = _hooks_options(client, environ, project)
    wanted = _index(hooks or [], environ)
    indexes = {
        name: _index(mcp_settings.index_options(entry), server_variables(client, entry, environ))
        for name, entry in servers.items()
    }
    for name, entry in servers.items():
        program, options = mcp_settings.own_words(entry)[0], mcp_settings.index_options(entry)
        server = f"the server '{name}' of {path}"
        given = ["--client", client, "--name", name, "--replace", *(["--project"] if project else [])]
        if gone := _gone(program, environ):
            again = shlex.join(["qmd", *options, "mcp", "install", *given])
            yield problem("mcp", f"{agent.title}: {gone}, but {server} runs {program}", f'run "{again}"')
        elif project is None and wanted not in indexes.values() and (hooks is not None or not options):
            again = shlex.join(["qmd", *(hooks or ()), "mcp", "install", *given])
            others = "commands use" if hooks is None else "the hooks use"
            message = f"{agent.title}: {server} uses the index {indexes[name]}, but {others} {wanted}"
            yield warning("mcp", message, f'run "{again}"')
        else:
            yield ok("mcp", f"{agent.title}: {server} runs {program}")


def _hooks_options(agent: str, environ: Mapping[str, str], project: str | None) -> list[str] | None:
    """Return the options of an agent's hooks, which name their index; None if it runs none."""
    try:
        found = hook_settings.installed(agent, environ, project) if agent in HOOKED else []
    except QmdError:  # reported as hooks
        return None
    prompts = [each.options for each in found if each.event == "prompt"]
    return [*prompts[0]] if prompts else None


def _index(options: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the index that a command uses outside of projects: its store or its file."""
    given = dict(pairwise(options))
    store = given.get("--store") or environ.get("QMD_STORE", "").strip()
    home = environ.get("HOME", os.curdir)
    return store or given.get("--index-file") or index_paths(given.get("--index"), environ, home)[0]


def _gone(program: str, environ: Mapping[str, str]) -> str:
    """Return the missing part of a program: it, or its interpreter; "" if all is there."""
    found = shutil.which(program, path=environ.get("PATH"))
    if found is None:
        return f"{program} is not there any more"
    with open(found, "rb") as file:
        first = file.readline(1_000)
    # The environment of a program may have been removed or made anew with another Python.
    runner = first[2:].split()[:1] if first.startswith(b"#!") else []
    if runner and not os.path.exists(runner[0]):
        return f"{os.fsdecode(runner[0])} is not there any more"
    return ""


_PARTS: Mapping[str, tuple[str, PathOf, Check]] = {
    "skill": ("skills", _skill_path, _skill),
    "tools": ("mcp", settings_file, _tools),
    "hooks": ("hooks", hooks_file, _hooks),
}

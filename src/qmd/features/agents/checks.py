"""Checks of the programs that agents run: hooks, and MCP servers."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping

from qmd.engine.doctor.finding import Finding, attempt, ok, problem, warning
from qmd.errors import ConfigError
from qmd.features.agents import hook_settings, mcp_settings
from qmd.features.agents.agents import AGENTS, HOOKED, hooks_file, settings_file
from qmd.features.agents.hook_settings import EVENTS


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
    program = found[0].words[0]
    if gone := _gone(program, environ):
        yield problem("hooks", f"{title}: {gone}, but {path} runs {program}", again)
    elif missing := [event for event in EVENTS if event not in {hook.event for hook in found}]:
        yield warning("hooks", f"{title}: {path} has no hook for {', '.join(missing)}", again)
    else:
        yield ok("hooks", f"{title}: {path} runs {os.path.basename(program)} at {', '.join(EVENTS)}")


def _servers(client: str, environ: Mapping[str, str], project: str | None) -> Iterator[Finding]:
    agent = AGENTS[client]
    try:
        path = settings_file(client, environ, project)
        found = mcp_settings.installed(path, agent.section)
    except ConfigError as error:
        # Settings may have comments, which their program understands.
        yield ok("mcp", f"{agent.title}: the servers cannot be checked: {error.message}")
        return
    for name, words in found.items():
        program, options = words[0], words[words.index("mcp") + 1 :]
        if gone := _gone(program, environ):
            given = ["--client", client, "--name", name, "--replace", *(["--project"] if project else [])]
            again = shlex.join(["qmd", *options, "mcp", "install", *given])
            message = f"{agent.title}: {gone}, but the server '{name}' of {path} runs {program}"
            yield problem("mcp", message, f'run "{again}"')
        else:
            yield ok("mcp", f"{agent.title}: the server '{name}' of {path} runs {program}")


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

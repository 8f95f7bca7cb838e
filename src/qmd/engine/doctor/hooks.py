"""Checks of the hooks that agents run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping

from qmd.config.agents import AGENTS, HOOKED, hooks_file
from qmd.config.hook_settings import EVENTS, installed
from qmd.engine.doctor.finding import Finding, attempt, ok, problem, warning


def examine(environ: Mapping[str, str], folder: str) -> Iterator[Finding]:
    """Report the hooks of each agent, the user's own and those of the project in `folder`."""
    for target in HOOKED:
        own, projects = hooks_file(target, environ), hooks_file(target, environ, folder)
        yield from _of(target, environ, None)
        if os.path.realpath(projects) != os.path.realpath(own):
            yield from _of(target, environ, folder)


def _of(target: str, environ: Mapping[str, str], project: str | None) -> Iterator[Finding]:
    found = yield from attempt("hooks", lambda: installed(target, environ, project))
    if not found:
        return
    title, path = AGENTS[target].title, hooks_file(target, environ, project)
    again = f"run 'qmd hook install --target {target}{' --project' if project else ''}'"
    program = found[0].words[0]
    if shutil.which(program, path=environ.get("PATH")) is None:
        yield problem("hooks", f"{title}: {program} is not there any more, but {path} runs it", again)
    elif missing := [event for event in EVENTS if event not in {hook.event for hook in found}]:
        yield warning("hooks", f"{title}: {path} has no hook for {', '.join(missing)}", again)
    else:
        yield ok("hooks", f"{title}: {path} runs {os.path.basename(program)} at {', '.join(EVENTS)}")

"""Add the hooks of qmd to an agent's settings, and remove exactly those.

Claude Code, Codex and Gemini CLI list commands by event in JSON. OpenCode runs a plugin, which runs the same
commands.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

from msgspec import Struct

from qmd.errors import ConfigError
from qmd.features.agents import owned_file
from qmd.features.agents.agents import Entry, hooks_file, hooks_of
from qmd.features.agents.settings_file import Change, as_json, backup_with, load, removal

EVENTS = ("session", "prompt", "compact")
_SECTION = "hooks"
#: Seconds that an agent waits for a hook. A hook ends itself long before.
_TIMEOUT = 5
_PLUGIN = "opencode_plugin.js"


class Installed(Struct, frozen=True):
    """A hook in an agent's settings: the event as `qmd hook run` names it, and its command.

    Attributes:
        event: The event.
        program: The word of the command that names the program.
        options: The options that name the index.
    """

    event: str
    program: str
    options: tuple[str, ...]

    @classmethod
    def of(cls, event: str, program: str, words: Sequence[str]) -> Installed:
        """Return a hook, by the words of its command that follow the name of the agent."""
        return cls(event, program, tuple(word for word in words if word not in _flags("session", True)))


class Done(Struct, frozen=True):
    """The change of a file.

    Attributes:
        what: "installed", "updated", "unchanged", "removed" or "absent".
        path: The file.
        backup: The path of its backup.
        text: What is written into it.
    """

    what: str
    path: str
    backup: str | None = None
    text: str = ""


def install(
    target: str,
    environ: Mapping[str, str],
    project: str | None,
    words: Sequence[str],
    options: Sequence[str] = (),
    *,
    starts_server: bool = False,
    dry_run: bool = False,
) -> Done:
    """Add the hooks to an agent's settings, or replace them.

    Args:
        target: an agent of `qmd.features.agents.agents.HOOKED`.
        environ: the environment variables, which name the places of settings.
        project: the folder of the project whose settings are changed; None for the user's.
        words: the words that start qmd.
        options: the options that name the index.
        starts_server: whether the hooks start a server if none runs.
        dry_run: change nothing.

    Raises:
        ConfigError: the file cannot be read or written, or its hooks are not as the agent documents them.
        ConflictError: the file is a plugin that qmd did not write.
    """
    hooks, path = hooks_of(target), hooks_file(target, environ, project)
    if not hooks.second:
        text = _plugin(words, options, starts_server)
        return Done(owned_file.install(path, text, "// {}", dry_run=dry_run), path, text=text)
    groups = section(target, words, options, starts_server=starts_server)
    present = bool(installed(target, environ, project))
    changed, backup = _write(path, groups, dry_run)
    what = ("updated" if present else "installed") if changed else "unchanged"
    return Done(what, path, backup, json.dumps({_SECTION: groups}, ensure_ascii=False, indent=2))


def uninstall(target: str, environ: Mapping[str, str], project: str | None, *, dry_run: bool = False) -> Done:
    """Remove the hooks of qmd from an agent's settings, and nothing else. Raises as `install`."""
    hooks, path = hooks_of(target), hooks_file(target, environ, project)
    if not hooks.second:
        return Done(owned_file.remove(path, dry_run=dry_run), path)
    changed, backup = _write(path, {}, dry_run)
    return Done("removed" if changed else "absent", path, backup)


def section(
    target: str, words: Sequence[str], options: Sequence[str] = (), *, starts_server: bool = False
) -> dict[str, list[Entry]]:
    """Return the hooks of qmd as an agent's settings list them, by the agent's names of events.

    `words` start qmd, and `options` name the index. An agent that takes a plugin has no such settings.
    """
    hooks = hooks_of(target)
    commands = {
        event: shlex.join(
            [*words, "hook", "run", event, "--target", target, *_flags(event, starts_server), *options]
        )
        for event in EVENTS
    }
    return {
        hooks.events[event]: [
            {"hooks": [{"type": "command", "command": text, "timeout": _TIMEOUT * hooks.second}]}
        ]
        for event, text in commands.items()
    }


def _write(path: str, groups: Mapping[str, list[Entry]], dry_run: bool) -> tuple[bool, str | None]:
    """Write settings with these groups by event as the only hooks of qmd.

    Return whether that changes them, and the path of the backup.
    """
    before, settings = load(path)
    wanted = deepcopy(settings)
    events = _events(path, wanted)
    for name in list(events):
        present = _groups(path, events, name)
        events[name] = [left for left in map(_without_own, present) if left is not None]
        if present and not events[name]:
            del events[name]
    for name, added in groups.items():
        events.setdefault(name, []).extend(added)
    if events:
        wanted[_SECTION] = events
    elif settings.get(_SECTION):
        del wanted[_SECTION]
    if wanted == settings:
        return False, None
    written = as_json((before or b"").decode("utf-8-sig"), wanted)
    change = (
        Change(path, before, backup_with(path, wanted) or written)
        if groups
        else removal(path, before, wanted, written)
    )
    return True, None if dry_run else change.write()


def _flags(event: str, starts_server: bool) -> list[str]:
    return ["--server"] if starts_server and event == "session" else []


def _plugin(words: Sequence[str], options: Sequence[str], starts_server: bool) -> str:
    """Return the plugin of OpenCode, which runs the program that `words` start."""
    with open(os.path.join(os.path.dirname(__file__), _PLUGIN), encoding="utf-8") as file:
        text = file.read()
    added = {event: [*_flags(event, starts_server), *options] for event in EVENTS}
    return text.replace("__COMMAND__", json.dumps(list(words))).replace("__OPTIONS__", json.dumps(added))


def installed(target: str, environ: Mapping[str, str], project: str | None = None) -> list[Installed]:
    """List the hooks of qmd in an agent's settings. Raises `ConfigError` if they cannot be read."""
    hooks, path = hooks_of(target), hooks_file(target, environ, project)
    if not hooks.second:
        text = owned_file.read(path) or ""
        given = re.search(r"^const command = (\[.*\])\nconst options = (\{.*\})$", text, re.MULTILINE)
        command, options = map(json.loads, given.groups()) if given else ([], {})
        return [Installed.of(event, command[0], options[event]) for event in hooks.events if command]
    _, settings = load(path)
    names = {name: event for event, name in hooks.events.items()}
    events = _events(path, settings)
    return [
        Installed.of(names[name], found[0], found[found.index("run") + 4 :])
        for name in events
        for group in _groups(path, events, name)
        for entry in _entries(group)
        if name in names and (found := _own_words(entry))
    ]


def _events(path: str, settings: Entry) -> dict[str, Any]:
    events = settings.get(_SECTION, {})
    if not isinstance(events, dict):
        raise ConfigError(f"{path}: '{_SECTION}' is not a table of events", "the file was not changed")
    return events


def _groups(path: str, events: Mapping[str, Any], name: str) -> list[Any]:
    groups = events[name]
    if not isinstance(groups, list):
        raise ConfigError(f"{path}: '{_SECTION}.{name}' is not a list", "the file was not changed")
    return groups


def _entries(group: Any) -> Iterator[Any]:
    entries = group.get("hooks") if isinstance(group, dict) else None
    yield from entries if isinstance(entries, list) else ()


def _without_own(group: Any) -> Any:
    """Return a group without the hooks of qmd; None if it had nothing else."""
    entries = list(_entries(group))
    others = [entry for entry in entries if not _own_words(entry)]
    if len(others) == len(entries):
        return group
    return {**group, "hooks": others} if others else None


def _own_words(entry: Any) -> tuple[str, ...]:
    """Return the words of a hook that runs qmd; () if it runs something else."""
    text = entry.get("command") if isinstance(entry, dict) else None
    try:
        words = shlex.split(text) if isinstance(text, str) else []
    except ValueError:  # not as a shell reads it
        return ()
    place = next((at for at in range(1, len(words) - 1) if words[at : at + 2] == ["hook", "run"]), 0)
    start = words[:place]
    own = place and (os.path.basename(start[0]) == "qmd" or ("-m", "qmd") in pairwise(start))
    return tuple(words) if own else ()

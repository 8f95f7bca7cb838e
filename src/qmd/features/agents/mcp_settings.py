"""Add qmd to an agent's settings of MCP servers, and remove it, without touching anything else in them."""

from __future__ import annotations

import json
import os
import re
import tomllib
from contextlib import suppress
from copy import deepcopy
from typing import Any

from qmd.errors import ConfigError, ConflictError
from qmd.features.agents.agents import Entry
from qmd.features.agents.settings_file import Change, as_json, is_toml, load, removal

#: Names that need no quotes in TOML.
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def add(path: str, section: str, name: str, entry: Entry, *, replace: bool = False) -> Change:
    """Return the change that adds a server to the settings at `path`.

    Args:
        path: a file of JSON or TOML; it may be missing.
        section: the key of the table of servers.
        name: the server's key in that table.
        entry: the server's settings.
        replace: replace a different entry of the same name. One that serves the same index is brought up to
            date without that, and keeps what the user has added.

    Raises:
        ConflictError: the name is taken by a different entry.
        ConfigError: the file cannot be read, or cannot be changed without loss.
    """
    before, settings = load(path)
    present = _servers(path, settings, section).get(name)
    same = bool(own_words(present)) and index_options(present or {}) == index_options(entry)
    if same and not replace:
        entry = _joined(present or {}, entry)
    if present == entry:
        return Change(path, before, before)
    if present is not None and not (replace or same):
        shown = json.dumps(present, ensure_ascii=False, default=str)
        raise ConflictError(
            f"{path} has another server named '{name}': {shown}",
            "choose another name with --name, or replace it with --replace",
        )
    wanted = deepcopy(settings)
    wanted.setdefault(section, {})[name] = entry
    return Change(path, before, _written(path, before, wanted, section, name))


def remove(path: str, section: str, name: str) -> Change:
    """Return the change that removes a server that runs `qmd mcp` from the settings at `path`.

    Raises:
        ConflictError: the server of this name runs something else.
        ConfigError: the file cannot be read, or cannot be changed without loss.
    """
    before, settings = load(path)
    present = _servers(path, settings, section).get(name)
    if present is None:
        return Change(path, before, before)
    if not own_words(present):
        raise ConflictError(
            f"the server '{name}' in {path} does not run qmd; it was left alone",
            "name the server to remove with --name",
        )
    wanted = deepcopy(settings)
    del wanted[section][name]
    if not wanted[section]:
        del wanted[section]
    return removal(path, before, wanted, _written(path, before, wanted, section, name))


def installed(path: str, section: str) -> dict[str, Entry]:
    """Return each server in the settings at `path` that runs `qmd mcp`, by its key.

    Raises `ConfigError` if the file cannot be read.
    """
    servers = _servers(path, load(path)[1], section)
    return {name: entry for name, entry in servers.items() if own_words(entry)}


def shown(path: str, section: str, name: str, entry: Entry) -> str:
    """Return a server's entry as it stands in the settings at `path`."""
    if is_toml(path):
        return _table(section, name, entry)
    return json.dumps({section: {name: entry}}, ensure_ascii=False, indent=2)


def index_options(entry: Entry) -> list[str]:
    """Return the options of a server that runs `qmd mcp`, which name its index."""
    words = own_words(entry)
    return words[words.index("mcp") + 1 :]


def _joined(present: Entry, entry: Entry) -> Entry:
    """Return an entry with what the user has added to the present one."""
    joined = {**present, **entry}
    if isinstance(present.get("env"), dict) and "env" in entry:
        joined["env"] = {**present["env"], **entry["env"]}
    return joined


def own_words(entry: Any) -> list[str]:
    """Return the words of the command of a server that runs `qmd mcp`; [] if it runs something else."""
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command"), entry.get("args", [])
    words = [
        *(command if isinstance(command, list) else [command]),
        *(args if isinstance(args, list) else []),
    ]
    if not words or not all(isinstance(word, str) for word in words):
        return []
    module = [word for word in words[1:] if word != "-P"][:2]
    program = os.path.basename(words[0]) == "qmd" or module == ["-m", "qmd"]
    return words if program and "mcp" in words[1:] else []


def _servers(path: str, settings: Entry, section: str) -> Entry:
    servers = settings.get(section, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{path}: '{section}' is not a table of servers", "the file was not changed")
    return servers


def _written(path: str, before: bytes | None, wanted: Entry, section: str, name: str) -> bytes:
    """Return the file with the settings `wanted`, which differ from those before in one server."""
    old = (before or b"").decode("utf-8-sig")
    if is_toml(path):
        return _as_toml(path, old, wanted, section, name)
    return as_json(old, wanted)


def _as_toml(path: str, old: str, wanted: Entry, section: str, name: str) -> bytes:
    """Return settings as TOML: the old text without the old table of the server, and with the new one.

    Only whole tables are cut and appended, so comments and layout stay. The result is parsed to see that it
    says what is wanted.
    """
    text = _without_table(old, section, name)
    entry = wanted.get(section, {}).get(name)
    if entry is not None:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        text += f"{gap}{_table(section, name, entry)}\n"
    with suppress(tomllib.TOMLDecodeError):
        if tomllib.loads(text) == wanted:
            return text.encode("utf-8")
    raise ConfigError(
        f"{path}: the servers are written in a way that qmd cannot change",
        "change it by hand: --dry-run shows the entry; the file was not changed",
    )


def _table(section: str, name: str, entry: Entry) -> str:
    lines = (f"{key} = {_toml(value)}" for key, value in entry.items())
    return "\n".join([f"[{section}.{name}]", *lines])


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key, ensure_ascii=False)} = {_toml(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    return json.dumps(value, ensure_ascii=False)


def _without_table(text: str, section: str, name: str) -> str:
    """Cut a table and the tables below it. Comments before the next table belong to that and stay."""
    header = re.compile(rf"\s*\[{re.escape(section)}\.{re.escape(name)}(\.[^\]]+)?\]\s*(#.*)?$")
    kept: list[str] = []
    pending: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if re.match(r"\s*\[", line):
            inside = header.match(line.rstrip("\r\n")) is not None
            kept += pending
            pending = []
        if not inside:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            pending.append(line)
        else:
            pending = []
    left = "".join([*kept, *pending])
    return left if len(left) == len(text) else left.lstrip("\r\n")

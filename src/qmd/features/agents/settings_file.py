"""Files of settings that belong to the programs of AI agents: read them, and change them without loss."""

from __future__ import annotations

import json
import math
import os
import re
import stat
import tomllib
from contextlib import suppress
from decimal import Decimal

from msgspec import Struct

from qmd.config.atomic import cannot_write, replace_file
from qmd.config.index_yml import read_file
from qmd.errors import BusyError, ConfigError
from qmd.features.agents.agents import Entry
from qmd.system import set_mode

#: Agents keep more than settings in these files. A larger one is not valid, because its end is not read.
_MAX_BYTES = 100_000_000
#: Backups of a file that are looked at.
_MOST_BACKUPS = 100


class Change(Struct, frozen=True):
    """The content of a file before and after a change; None if the file does not exist.

    A change that `removes` what was installed makes no backup, and removes those that are not needed then.
    """

    path: str
    before: bytes | None
    after: bytes | None
    removes: bool = False

    def __bool__(self) -> bool:
        return self.before != self.after

    def write(self) -> str | None:
        """Write the file atomically, and return the path of the backup of the old one.

        Raises `BusyError` if another program has changed the file meanwhile, and `ConfigError` if it cannot
        be written.
        """
        if not self:
            return None
        if read_file(self.path, _MAX_BYTES) != self.before:
            raise BusyError(f"{self.path} is being changed by another program", "run the command again")
        # A link, as in a folder of dotfiles, stays a link.
        target = os.path.realpath(self.path)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            backup = None if self.before is None or self.removes else _back_up(target, self.before)
            if self.after is None:
                os.unlink(target)
            else:
                replace_file(target, self.after)
            for old in _backups(target) if self.removes else ():
                if read_file(old, _MAX_BYTES) in (self.before, self.after) or (
                    self.after is None and _is_own(old)
                ):
                    os.unlink(old)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        return backup


def removal(path: str, before: bytes | None, wanted: Entry, written: bytes) -> Change:
    """Return the change that leaves the settings `wanted`, as an earlier file wrote them, else as `written`.

    The file is removed if it has nothing else and had nothing before.
    """
    earlier = backup_with(path, wanted)
    return Change(path, before, earlier or (written if wanted or earlier is not None else None), removes=True)


def load(path: str) -> tuple[bytes | None, Entry]:
    """Return a file's bytes and its settings."""
    data = read_file(path, _MAX_BYTES)
    if data is None or not data.strip():
        return data, {}
    try:
        text = data.decode("utf-8-sig")
        settings = tomllib.loads(text) if is_toml(path) else _parsed(text)
    except RecursionError as error:
        raise ConfigError(
            f"{path} cannot be read: it is nested too deeply", "add the entry by hand"
        ) from error
    except ValueError as error:  # of JSON, TOML and UTF-8
        hint = "correct it, or add the entry by hand: --dry-run shows it"
        if not is_toml(path) and re.search(rb"^\s*(//|/\*)", data, re.MULTILINE):
            hint = "it has comments, which would be lost; add the entry by hand: --dry-run shows it"
        raise ConfigError(f"{path} cannot be read: {error}", hint) from error
    if not isinstance(settings, dict):
        raise ConfigError(f"{path} does not hold a table of settings", "the file was not changed")
    return data, settings


def _parsed(text: str) -> object:
    """Return the content of JSON. Raises `ValueError` for what would be another when it is written again."""

    def kept(pairs: list[tuple[str, object]]) -> Entry:
        entry = dict(pairs)
        if len(entry) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"it has '{twice[:100]}' twice, of which one would be lost")
        return entry

    def number(written: str) -> float:
        value = float(written)
        if not math.isfinite(value) or Decimal(written) != Decimal(repr(value)):
            raise ValueError(f"the number {written[:100]} would be changed")
        return value

    def constant(written: str) -> float:
        raise ValueError(f"{written} is no JSON")

    return json.loads(text, object_pairs_hook=kept, parse_float=number, parse_constant=constant)


def is_toml(path: str) -> bool:
    return re.search(r"\.toml(?:\.bak\d*)?\Z", path) is not None


def as_json(old: str, wanted: Entry) -> bytes:
    """Return settings as JSON, indented like the file was."""
    indented = re.search(r'\n([ \t]+)"', old)
    text = json.dumps(wanted, ensure_ascii=False, indent=indented[1] if indented else 2)
    # Other programs may write half of a surrogate pair as an escape, which UTF-8 cannot hold.
    text = re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)
    return (text + ("\n" if old.endswith("\n") or not old else "")).encode("utf-8")


def backup_with(path: str, wanted: Entry) -> bytes | None:
    """Return the bytes of the newest backup of a file that holds some settings, in the user's own layout."""
    found = None
    for backup in _backups(os.path.realpath(path)):
        with suppress(ConfigError):
            data, settings = load(backup)
            found = data if settings == wanted else found
    return found


def _backups(target: str) -> list[str]:
    """Return the backups of a file, oldest first. Of those before one that was removed, some may be left."""
    names = (f"{target}.bak{number or ''}" for number in range(_MOST_BACKUPS))
    return [name for name in names if os.path.isfile(name) and not os.path.islink(name)]


def _is_own(backup: str) -> bool:
    """Return whether a backup has nothing but entries of qmd, as after one of several parts was installed."""
    with suppress(ConfigError):
        _, settings = load(backup)
        return all(
            isinstance(section, dict)
            and all(
                "qmd" in json.dumps([name, entry])
                for name, entries in section.items()
                for entry in (entries if isinstance(entries, list) else [entries])
            )
            for section in settings.values()
        )
    return False


def _back_up(path: str, data: bytes) -> str:
    """Write a copy beside a file, under a name that is free, readable by the same users."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    number = 0
    while True:
        backup = f"{path}.bak{number or ''}"
        try:
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with open(descriptor, "wb") as file:
            set_mode(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        return backup

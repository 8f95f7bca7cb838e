"""A service of the user's session that keeps an index up to date: a systemd unit, or a launchd agent."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from qmd.config.atomic import replace_file
from qmd.config.index_yml import read_file
from qmd.errors import QmdError, SourceError, UsageError
from qmd.processes import run
from qmd.system import user_id

#: Variables that decide which index is used, and how it is embedded. Secrets are not among them.
_VARIABLES = (
    *("QMD_CONFIG_DIR", "QMD_INDEX_PATH", "INDEX_PATH", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"),
    *("XDG_DATA_HOME", "QMD_STORE", "QMD_EMBED_MODEL", "QMD_THREADS", "QMD_MAX_RAM_MB"),
)
#: Control characters, separators of lines, surrogates and what else XML cannot contain.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_RENAME = "rename the folder, or run 'qmd watch' in a terminal"


class Service(Struct, frozen=True):
    """A service to install.

    Attributes:
        name: Its name, such as `qmd-watch`.
        file: The path of its file.
        content: The content of that file.
        start: The commands that start it, and again after a change.
        stop: The commands that stop it. They may fail, because it may not run.
    """

    name: str
    file: str
    content: bytes
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]


def service(
    name: str,
    command: Sequence[str],
    folder: str | None,
    environ: Mapping[str, str],
    *,
    platform: str = sys.platform,
) -> Service:
    """Return the service that runs a command in a folder (by default, the home folder).

    Raises `UsageError` if the platform has neither systemd nor launchd, or if their files cannot contain a
    word, the folder or a variable.
    """
    home = environ.get("HOME") or os.path.expanduser("~")
    variables = {key: environ[key] for key in _VARIABLES if environ.get(key)}
    for value in (*command, *variables.values(), folder or home):
        _require_plain(value)
    if platform == "darwin":
        label = f"org.qmd.{name.removeprefix('qmd-')}"
        path = os.path.join(home, "Library", "LaunchAgents", f"{label}.plist")
        log = os.path.join(home, "Library", "Logs", f"{name}.log")
        domain = f"gui/{user_id()}"
        return Service(
            label,
            path,
            _plist(label, command, folder or home, variables, log),
            (("launchctl", "bootstrap", domain, path),),
            (("launchctl", "bootout", f"{domain}/{label}"),),
        )
    if platform == "linux":
        unit = f"{name}.service"
        config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        systemctl = ("systemctl", "--user")
        return Service(
            unit,
            os.path.join(config, "systemd", "user", unit),
            _unit(command, folder, variables).encode(),
            ((*systemctl, "daemon-reload"), (*systemctl, "enable", unit), (*systemctl, "restart", unit)),
            ((*systemctl, "disable", "--now", unit),),
        )
    raise UsageError(
        "services can be installed with systemd (Linux) and launchd (macOS)",
        "start 'qmd watch' with the means of your system",
    )


def install(item: Service) -> bool:
    """Write the file of a service and start it. Return whether the file was new or has changed.

    Raises `SourceError` if the file cannot be written, and `QmdError` if the service does not start.
    """
    _require(item.start[0][0])
    changed = read_file(item.file) != item.content
    try:
        os.makedirs(os.path.dirname(item.file), exist_ok=True)
    except OSError as error:
        raise SourceError(f"cannot write {item.file}: {error.strerror}") from error
    replace_file(item.file, item.content)
    if item.start[0][0] == "launchctl":
        _run(item.stop, check=False)
    _run(item.start)
    return changed


def uninstall(item: Service) -> bool:
    """Stop a service and remove its file. Return whether there was one."""
    if not os.path.exists(item.file):
        return False
    _require(item.stop[0][0])
    _run(item.stop, check=False)
    with suppress(FileNotFoundError):
        os.unlink(item.file)
    if item.start[0][-1] == "daemon-reload":
        _run(item.start[:1], check=False)
    return True


def _require(program: str) -> None:
    if shutil.which(program) is None:
        raise QmdError(
            f"{program} was not found", "without it, run 'qmd watch' in a terminal, or 'qmd server --daemon'"
        )


def _run(commands: Sequence[Sequence[str]], *, check: bool = True) -> None:
    for command in commands:
        done = run(command)
        if check and done.returncode != 0:
            output = (done.stderr or done.stdout).strip().splitlines() or [f"code {done.returncode}"]
            raise QmdError(
                f"'{' '.join(command)}' failed: {output[-1]}",
                "the file of the service was written; without a session manager, run 'qmd watch' yourself",
            )


def _unit(command: Sequence[str], folder: str | None, variables: Mapping[str, str]) -> str:
    lines = [
        "[Unit]",
        "Description=Keep a qmd index up to date",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={' '.join(_quoted(word, dollar=True) for word in command)}",
        f"WorkingDirectory={'~' if folder is None else _unquoted(folder)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in sorted(variables.items())),
        "Restart=on-failure",
        "RestartSec=10",
        "Nice=10",
        "IOSchedulingClass=idle",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def _require_plain(value: str) -> None:
    """Raise `UsageError` for a value that would end its line in a unit, or that XML cannot contain."""
    if _UNFIT.search(value):
        raise UsageError(f"a service cannot use {value!r}, which has control characters", _RENAME)


def _unquoted(folder: str) -> str:
    """Return a folder for a systemd unit, which takes it as it is up to the end of the line."""
    if folder.endswith("\\") or folder != folder.strip():
        raise UsageError(f"a service cannot run in {folder!r}, because of its last character", _RENAME)
    return folder.replace("%", "%%")


def _quoted(word: str, *, dollar: bool = False) -> str:
    """Return a word for a systemd unit, in quotes."""
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{word.replace("$", "$$") if dollar else word}"'


def _plist(label: str, command: Sequence[str], folder: str, variables: Mapping[str, str], log: str) -> bytes:
    return plistlib.dumps(
        {
            "Label": label,
            "ProgramArguments": [*command],
            "WorkingDirectory": folder,
            "EnvironmentVariables": dict(variables),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 10,
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
    )

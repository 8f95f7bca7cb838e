"""The installation of qmd, and the commands that add to it."""

from __future__ import annotations

# Slow modules are imported on use: most commands name no extra.
import os
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from qmd.processes import python

_NAME = "qmd-python"


class _Origin(NamedTuple):
    """The origin of the distribution.

    Attributes:
        name: Its name or path, before the extras.
        address: Its address, after the extras; "" if the name says all.
        editable: Whether the files of a clone are used as they are.
        is_there: Whether it can be installed from there again.
    """

    name: str
    address: str = ""
    editable: bool = False
    is_there: bool = True

    def with_extras(self, *extras: str) -> list[str]:
        """Return the words that name the distribution with extras."""
        return self.words(f"{self.name}[{','.join(sorted({*extras}))}]{self.address}")

    def words(self, requirement: str) -> list[str]:
        """Return the words that install a requirement."""
        return ["-e", requirement] if self.editable else [requirement]


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation, by its installer and its origin."""
    origin = _origin()
    if not origin.is_there:
        return shlex.join([*_adding(), *_needs(extra)])
    return shlex.join(_tool(origin, extra) or [*_adding(), *origin.with_extras(extra)])


def upgrade_command() -> str:
    """Return the command that installs a newer version in place of this one, by its installer."""
    if Path(sys.prefix, "uv-receipt.toml").is_file():
        return f"uv tool upgrade {_NAME}"
    if os.path.isfile(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx upgrade {os.path.basename(sys.prefix)}"
    origin = _origin()
    return shlex.join([*_adding(), "--upgrade", *origin.words(f"{origin.name}{origin.address}")])


def package_command(name: str) -> str:
    """Return the command that adds a package to this installation."""
    return shlex.join([*_adding(), name])


def _origin() -> _Origin:
    """Return the origin of this installation, as its installer has recorded it."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        record: dict[str, Any] = json.loads(distribution(_NAME).read_text("direct_url.json") or "{}")
        url = urlsplit(str(record.get("url", "")))
    except (PackageNotFoundError, OSError, ValueError):
        return _Origin(_NAME)
    if url.scheme == "file":
        path = unquote(url.path)
        path = path[1:] if os.name == "nt" else path  # "/C:/..."
        editable = bool(record.get("dir_info", {}).get("editable"))
        return _Origin(path, editable=editable, is_there=os.path.exists(path))
    if "vcs_info" in record:
        version = record["vcs_info"].get("requested_revision")
        at = f"@{version}" if version else ""
        return _Origin(_NAME, f" @ {record['vcs_info']['vcs']}+{url.geturl()}{at}")
    return _Origin(_NAME, f" @ {url.geturl()}" if url.scheme else "")


def _tool(origin: _Origin, extra: str) -> list[str] | None:
    """Return the command of a tool that makes the environment anew, with its packages; None without one."""
    import tomllib

    receipt = Path(sys.prefix, "uv-receipt.toml")
    if receipt.is_file():
        try:
            listed = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"]
        except (OSError, ValueError, LookupError):
            listed = []
        extras = [name for each in listed if each["name"] == _NAME for name in each.get("extras", ())]
        others = [each["name"] for each in listed if each["name"] != _NAME]
        beside = [word for name in others for word in ("--with", name)]
        return ["uv", "tool", "install", *origin.with_extras(extra, *extras), *beside]
    if "archive-v0" in Path(sys.prefix).parts:  # where `uvx` keeps environments
        return ["uvx", "--from", origin.with_extras(extra)[-1], "qmd"]
    return None


def _adding() -> list[str]:
    """Return the words before the requirements that are added to this environment."""
    words = python("pip", "install")
    if os.path.isfile(os.path.join(sys.prefix, "pipx_metadata.json")):
        return ["pipx", "inject", os.path.basename(sys.prefix)]
    if find_spec("pip") is None:
        return ["uv", "pip", "install", "--python", words[0]]
    found = shutil.which("pip")
    is_ours = found is not None and os.path.dirname(found) == os.path.dirname(words[0])
    return ["pip", "install"] if is_ours else words


def _needs(extra: str) -> list[str]:
    """Return the requirements of an extra."""
    from importlib.metadata import distribution

    pairs = (requirement.partition(";") for requirement in distribution(_NAME).requires or ())
    return [
        needed.strip()
        for needed, _, condition in pairs
        if f"extra=='{extra}'" in condition.replace(" ", "").replace('"', "'")
    ]

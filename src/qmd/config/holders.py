"""The processes that hold an index for as long as they run, and the format in which they write it.

The format of an index only changes while no process of an older version holds it: such a process would write
on in the old form. A watcher and a server say the format that they write in a file that they hold. Versions
before 1.2.0 do not, so what says nothing is of an older version.
"""

from __future__ import annotations

import json
import os
from typing import Any

from qmd.config.held_file import read_held, server_file, watcher_file
from qmd.system import write_start

#: The key of the format.
FORMAT = "format"


def declare(file: int, version: int) -> None:
    """Write the format into a file that this process holds."""
    os.ftruncate(file, 0)
    write_start(file, json.dumps({"pid": os.getpid(), FORMAT: version}).encode())


def older(cache_dir: str | None, index: str, version: int) -> str | None:
    """Return a process that holds an index and writes an older format than `version`; None if there is none.

    It is described, such as "qmd watch (process 123)". Without a cache folder no server is found.
    """
    watcher = watcher_file(index)
    files = [("qmd watch", watcher, watcher)]
    if cache_dir is not None:
        server = server_file(cache_dir, index)
        files.append(("qmd server", server, f"{server}.lock"))
    for title, path, says in files:
        held = _read(path)
        if held is not None and _number((_read(says) or {}).get(FORMAT)) < version:
            pid = _number(held.get("pid"))
            command = held.get("command")
            name = command if isinstance(command, str) and command.isprintable() else title
            return f"{name} (process {pid})" if pid else name
    return None


def _read(path: str) -> dict[str, Any] | None:
    """Return the content of a file that a process holds; None if no process holds it."""
    data = read_held(path)
    if data is None:
        return None
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0

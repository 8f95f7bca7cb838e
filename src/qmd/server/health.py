"""The doctor's checks of the server of an index and its keys."""

from __future__ import annotations

import http.client
import os
import stat
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from qmd.config.locations import locate
from qmd.config.paths import cache_dir
from qmd.engine.finding import Finding, failed, ok, problem, warning
from qmd.engine.opening import beside_foreign
from qmd.errors import QmdError
from qmd.server import discovery
from qmd.server.access import HEALTH
from qmd.server.keys import Keys, keys_path

#: Seconds to wait for an answer of the server.
_TIMEOUT = 5.0


def diagnose(name: str | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check the server of the index that a command with `--index name` would use.

    Errors become findings, as in `engine.doctor.diagnose`.
    """
    try:
        index = beside_foreign(locate(name, environ, os.getcwd())).index
    except QmdError:
        return  # the checks of the index report the error
    yield _server(index, environ)
    yield _keys(index, environ)


def _server(index: str, environ: Mapping[str, str]) -> Finding:
    server = discovery.find(cache_dir(environ), index)
    strange = discovery.find_strange(cache_dir(environ), index)
    if strange is not None:
        message = f"a server runs for this index: {discovery.of_other_version(strange)}"
        return warning("server", f"{message}; no command uses it", discovery.how_to_stop(strange))
    if server is None:
        return ok("server", "no server runs for this index")
    name = f"process {server.pid} at {server.url}"
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_TIMEOUT)
    try:
        connection.request("GET", HEALTH)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return problem("server", f"{name} does not answer: {error}", discovery.goes_on(server))
    finally:
        connection.close()
    if status != 200:
        return warning("server", f"{name} reports that it is not healthy", "read its log, or restart it")
    return ok("server", f"the server, {name}, answers")


def _keys(index: str, environ: Mapping[str, str]) -> Finding:
    path = keys_path(environ)
    try:
        keys = Keys(path, index).all()
    except QmdError as error:
        return failed("keys", error)
    if not keys:
        return ok("keys", "no keys: a server on this machine answers your programs, and root's")
    if stat.S_IMODE(os.stat(path).st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        return warning("keys", f"other users can change {path}", f"run: chmod 600 '{path}'")
    return ok("keys", f"keys of the server: {', '.join(key.name for key in keys)}")

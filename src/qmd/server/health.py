"""What the doctor says of the server of an index, and of the keys to it."""

from __future__ import annotations

import http.client
import os
import stat
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from qmd.config.paths import cache_dir, locate
from qmd.engine.doctor.finding import Finding, failed, ok, problem, warning
from qmd.engine.opening import beside_foreign
from qmd.errors import QmdError
from qmd.server import discovery
from qmd.server.access import HEALTH
from qmd.server.keys import Keys, keys_path

#: Seconds that a running server has to answer.
_PATIENCE = 5.0


def diagnose(name: str | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look at the server of what a command with `--index name` would use.

    Errors as in `engine.doctor.diagnose`.
    """
    try:
        index = beside_foreign(locate(name, environ, os.getcwd())).index
    except QmdError:
        return  # said already of the index
    yield _server(index, environ)
    yield _keys(index, environ)


def _server(index: str, environ: Mapping[str, str]) -> Finding:
    found = discovery.read(cache_dir(environ), index)
    if found is None:
        return ok("server", "no server runs for this index")
    place = f"process {found.pid} at {found.url}"
    address = urlsplit(found.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_PATIENCE)
    try:
        connection.request("GET", HEALTH)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        hint = f"searches do without it; end it with 'kill {found.pid}' and start it again"
        return problem("server", f"{place} does not answer: {error}", hint)
    finally:
        connection.close()
    if status != 200:
        return warning("server", f"{place} says that it is not healthy", "see its log, or start it again")
    return ok("server", f"the server, {place}, answers")


def _keys(index: str, environ: Mapping[str, str]) -> Finding:
    path = keys_path(environ)
    try:
        known = Keys(path, index).all()
    except QmdError as error:
        return failed("keys", error)
    if not known:
        return ok("keys", "no keys: a server answers whoever reaches it on this machine")
    if stat.S_IMODE(os.stat(path).st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        return warning("keys", f"others may change {path}", f"run: chmod 600 '{path}'")
    return ok("keys", f"keys of the server: {', '.join(each.name for each in known)}")

"""Discovery of a running server through a file in the cache directory.

The file has the address, and a secret for the user's own commands. The server holds a lock on the file while
it runs. The lock ends with the process. So a stale file is ignored, and the secret is never sent to another
process that uses the port later.
"""

# Every search imports this module, so it imports next to nothing.

from __future__ import annotations

import os
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from qmd.config.held_file import open_private, publish, read_held, server_file, try_to_hold
from qmd.errors import BusyError, StoreError

#: JSON, in which no value needs an escape. Released versions read it, so it stays as it is.
_FORM = '{{"pid":{},"url":"{}","secret":"{}"}}'
#: Numbers of processes are below this.
_MAX_PID = 1 << 31


#: The endpoint for the user's own commands.
RUN = "/run"
#: A running server: its process, its address (`http://host:port`), and the secret of its user.
Advertisement = namedtuple("Advertisement", "pid url secret")


@contextmanager
def exclusive(cache_dir: str, index: str, *, replace: bool = False) -> Iterator[None]:
    """Be the only server of an index inside the context. `replace` stops another server that is running.

    Without it, and if another server is being started, `BusyError` is raised.
    """
    from qmd.config.holders import declare
    from qmd.server.daemon import stop_holder
    from qmd.store.sqlite.schema import VERSION

    file = open_private(f"{server_file(cache_dir, index)}.lock")
    try:
        if not try_to_hold(file):
            other = find(cache_dir, index)
            strange = find_strange(cache_dir, index) if other is None else None
            pid = strange if other is None else other.pid
            if strange is None and other is None:
                raise BusyError("another server of this index is starting or stopping", "try again")
            if not replace or not pid:
                running = "a server of this index is already running"
                raise (
                    BusyError(f"{running}: {of_other_version(strange)}", how_to_stop(strange))
                    if other is None
                    else BusyError(
                        f"{running}: process {other.pid} at {other.url}",
                        "use that server, or add --replace to stop it",
                    )
                )
            stop_holder(pid, file)
        declare(file, VERSION)
        yield
    finally:
        os.close(file)


@contextmanager
def advertise(cache_dir: str, index: str, url: str) -> Iterator[Advertisement]:
    """Advertise the server of an index at `url` inside the context, which must be inside `exclusive`."""
    import secrets

    advertisement = Advertisement(os.getpid(), url, secrets.token_urlsafe(32))
    path = server_file(cache_dir, index)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        file = publish(path, _FORM.format(*advertisement).encode())
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    try:
        yield advertisement
    finally:
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), os.stat(path)):
                os.unlink(path)
        os.close(file)


def find(cache_dir: str, index: str) -> Advertisement | None:
    """Return the running server of an index; None if there is none.

    Whatever is not an advertisement of the form that this version writes is none: see `find_strange`.
    """
    data = read_held(server_file(cache_dir, index), own=True)
    return None if data is None else _advertisement(data)


def find_strange(cache_dir: str, index: str) -> int | None:
    """Return the process of a server whose advertisement this version does not understand.

    0 if the advertisement does not say it, and None if there is no such server.
    """
    data = read_held(server_file(cache_dir, index), own=True)
    if data is None or _advertisement(data) is not None:
        return None
    import json

    try:
        pid = json.loads(data)["pid"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return 0
    return pid if isinstance(pid, int) and 1 < pid < _MAX_PID else 0


def of_other_version(pid: int | None) -> str:
    """Return the name of a server that `find_strange` has found."""
    return f"one of another version of qmd (process {pid})" if pid else "one of another version of qmd"


def how_to_stop(pid: int | None) -> str:
    """Return how to stop a server that `find_strange` has found."""
    if pid:
        return f"stop it with 'qmd server --replace', which starts one of this version, or with 'kill {pid}'"
    return "stop it with the version of qmd that has started it"


def goes_on(server: Advertisement) -> str:
    """Return a hint about a server that does not answer."""
    return (
        f"let it go on with 'kill -CONT {server.pid}' if it was stopped (Ctrl-Z), or end it with "
        f"'qmd server stop', or with 'kill -9 {server.pid}'; searches work without it"
    )


def _advertisement(data: bytes) -> Advertisement | None:
    """Return the advertisement that a file has; None if it has another form, or values that none has."""
    try:
        _, _, number, _, _, url, _, _, _, secret, _ = data.decode("ascii").split('"')
        found = Advertisement(int(number[1:-1]), url, secret)
    except ValueError:
        return None
    host, _, port = url.removeprefix("http://").rpartition(":")
    same = _FORM.format(*found).encode() == data and url == f"http://{host}:{port}" and port.isdigit()
    plain = url.isprintable() and " " not in url and secret.isprintable() and " " not in secret
    known = 0 < found.pid < _MAX_PID and same and plain and host and secret and len(data) < 1_000
    return found if known and int(port) < 1 << 16 else None

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

from qmd.config.held_file import open_private, publish, read_held, try_to_hold
from qmd.errors import BusyError, StoreError
from qmd.text.digest import sha256

_FOLDER = "servers"
#: JSON, in which no value needs an escape.
_FORM = '{{"pid":{},"url":"{}","secret":"{}"}}'


#: The endpoint for the user's own commands.
RUN = "/run"
#: A running server: its process, its address (`http://host:port`), and the secret of its user.
Advertisement = namedtuple("Advertisement", "pid url secret")


@contextmanager
def exclusive(cache_dir: str, index: str, *, replace: bool = False) -> Iterator[None]:
    """Be the only server of an index inside the context. `replace` stops another server that is running.

    Without it, and if another server is being started, `BusyError` is raised.
    """
    from qmd.server.daemon import stop_holder

    file = open_private(f"{_path(cache_dir, index)}.lock")
    try:
        if not try_to_hold(file):
            other = find(cache_dir, index)
            if other is None:
                raise BusyError("another server of this index is starting or stopping", "try again")
            if not replace:
                raise BusyError(
                    f"a server of this index is already running: process {other.pid} at {other.url}",
                    "use that server, or add --replace to stop it",
                )
            stop_holder(other.pid, file)
        yield
    finally:
        os.close(file)


@contextmanager
def advertise(cache_dir: str, index: str, url: str) -> Iterator[Advertisement]:
    """Advertise the server of an index at `url` inside the context, which must be inside `exclusive`."""
    import secrets

    advertisement = Advertisement(os.getpid(), url, secrets.token_urlsafe(32))
    path = _path(cache_dir, index)
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
    """Return the running server of an index; None if there is none."""
    data = read_held(_path(cache_dir, index))
    if data is None:
        return None
    _, _, pid, _, _, url, _, _, _, secret, _ = data.decode().split('"')
    return Advertisement(int(pid.strip(":,")), url, secret)


def _path(cache_dir: str, index: str) -> str:
    digest = sha256(os.fsencode(os.path.realpath(index)))
    return os.path.join(cache_dir, _FOLDER, f"{digest[:16]}.json")

"""The time that a hook may take, and the log of hooks that failed."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NoReturn

#: Seconds after which a hook says nothing, if its command has no --timeout.
SECONDS = "1.5"
_MAX_LOG = 100_000


@contextmanager
def limited(words: Sequence[str]) -> Iterator[None]:
    """End this process in time, with exit code 0, if the hook that the words run is not done by then."""
    from threading import Timer

    given = dict(pairwise(words)).get("--timeout", SECONDS)
    try:
        seconds = float(given)
    except ValueError:
        seconds = float(SECONDS)
    event = words[words.index("run") + 1 :][:1]
    timer = Timer(seconds, _give_up, (f"{' '.join(event)}: took more than {seconds:g} s",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _give_up(line: str) -> NoReturn:
    log(os.environ, line)
    os._exit(0)


def log_file(environ: Mapping[str, str]) -> str:
    """Return the path of the log."""
    from qmd.config.paths import cache_dir

    return os.path.join(cache_dir(environ), "hooks.log")


def log(environ: Mapping[str, str], line: str) -> None:
    """Add a line to the log, which is private and bounded. A log that cannot be written is no failure."""
    import time

    from qmd.errors import QmdError
    from qmd.system import NO_LINK
    from qmd.text.wording import visible

    with suppress(OSError, QmdError):
        path = log_file(environ)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > _MAX_LOG:
            os.replace(path, f"{path}.1")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK
        now = time.strftime("%Y-%m-%dT%H:%M:%S")
        with open(os.open(path, flags, 0o600), "ab") as file:
            file.write(f"{now} {visible(line)[:500]}\n".encode("utf-8", "replace"))

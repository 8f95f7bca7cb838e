"""The only place that starts processes: modules in the working folder, which may be a clone, must not run."""

# subprocess and multiprocessing are imported on use, because commands that start nothing import this module.

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Timer
from typing import TYPE_CHECKING, Any, NamedTuple

from qmd.errors import QmdError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from subprocess import CompletedProcess, Popen


class ChildCall(NamedTuple):
    """A function that runs in another process, and the pipe to it, for messages of both sides."""

    process: Popen[bytes]
    messages: Connection


class Output(NamedTuple):
    """The output of a program, and its exit code. `late` says that it was killed at the time limit."""

    code: int
    written: bytes
    errors: str
    late: bool


#: Bytes of error messages that are read.
_MAX_ERRORS = 10_000


def processors() -> int:
    """Return the number of processors that this process may use, which may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def python(module: str, *arguments: str) -> list[str]:
    """Return the words that run a module by this Python, which does not import from the working folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


def start(
    words: Sequence[str], *, folder: str = os.sep, environ: Mapping[str, str] | None = None, **options: Any
) -> Popen[bytes]:
    """Start a process of this program.

    Args:
        words: The words of `python`.
        folder: Its working folder.
        environ: Its environment, by default that of this process. Relative parts of `PYTHONPATH` are left
            out, because they would name the working folder.
        options: Options of `subprocess.Popen`.
    """
    from subprocess import Popen

    variables = dict(os.environ if environ is None else environ)
    path = filter(os.path.isabs, variables.pop("PYTHONPATH", "").split(os.pathsep))
    return Popen(words, cwd=folder, env={**variables, "PYTHONPATH": os.pathsep.join(path)}, **options)


def call(function: Callable[..., None], *arguments: Any) -> ChildCall:
    """Call `function(*arguments, messages)` in another process; `messages` is its end of the pipe.

    If the process dies, also before it has its arguments, reading raises `EOFError`.
    """
    if sys.platform == "win32":
        raise QmdError("qmd cannot work in another process on Windows", "use one process")
    from multiprocessing import Pipe

    messages, its_end = Pipe()
    with its_end:  # closed here, so that reading ends when the process ends
        process = start(python(__name__), stdin=its_end.fileno())
    with suppress(BrokenPipeError):
        messages.send((function, arguments))
    return ChildCall(process, messages)


def run(
    words: Sequence[str] | str,
    *,
    folder: str | None = None,
    environ: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> CompletedProcess[str]:
    """Run another program to its end without input, and return its output. The shell runs a string."""
    import subprocess

    return subprocess.run(
        words,
        shell=isinstance(words, str),
        cwd=folder,
        env=environ,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def on_terminal(words: Sequence[str]) -> None:
    """Run another program that has the terminal until it ends. Raises `QmdError` if there is none."""
    from subprocess import call

    try:
        call(words)
    except OSError as error:
        raise QmdError(f"cannot start '{words[0]}': {error.strerror}", "set EDITOR to a program") from error


def page(pager: str, text: bytes, environ: Mapping[str, str]) -> bool:
    """Show a text in a pager, which has the terminal until it ends; return whether it could be started."""
    from shlex import split
    from signal import SIG_IGN, SIGINT, signal
    from subprocess import PIPE, Popen

    try:
        process = Popen(pager if os.name == "nt" else split(pager), stdin=PIPE, env=environ)
    except (OSError, ValueError):
        return False
    before = signal(SIGINT, SIG_IGN)  # the pager knows what Ctrl-C means
    try:
        process.communicate(text)  # it may end before it has read all
    finally:
        signal(SIGINT, before)
    return True


def browse(address: str) -> bool:
    """Open an address in a browser, or in the program of the system for it; return whether that began."""
    import webbrowser

    return webbrowser.open(address)


def read(words: Sequence[str], *, environ: Mapping[str, str], timeout: float, most: int) -> Output:
    """Run another program to its end without input, and return the bytes that it writes.

    Args:
        words: The program and its arguments.
        environ: Its environment.
        timeout: The seconds after which it is killed.
        most: The bytes of output after which it is killed.
    """
    from subprocess import DEVNULL, PIPE, Popen
    from tempfile import TemporaryFile

    with (
        TemporaryFile() as errors,
        Popen(words, env=environ, stdin=DEVNULL, stdout=PIPE, stderr=errors) as process,
    ):
        timer = Timer(timeout, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            written = process.stdout.read(most + 1)
            if len(written) > most:
                process.kill()
            code = process.wait()
        finally:
            late = not timer.is_alive()
            timer.cancel()
            process.kill()
        errors.seek(0)
        return Output(code, written, errors.read(_MAX_ERRORS).decode("utf-8", "replace"), late and code != 0)


def _answer() -> None:
    """Do the work of `call`, in its process."""
    from multiprocessing.connection import Connection

    messages = Connection(os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)  # what libraries print is for the log
    function, arguments = messages.recv()
    function(*arguments, messages)
    # Everything is sent. Models may crash when the interpreter is torn down.
    os._exit(0)


if __name__ == "__main__":
    _answer()

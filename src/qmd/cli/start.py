"""The begin and the end of a run: the server of the index answers, or the command runs here."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from qmd.cli import client, console
from qmd.cli.terminal import finish, is_terminal, prepare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn


#: Options of tobi/qmd that other programs pass and that have no effect here: the number of their values, by
#: command. All other unknown options are errors.
FOREIGN = {
    "embed": {"--max-docs-per-batch": 1, "--max-batch-mb": 1, "--timeout": 1},
    "get": {"--no-line-numbers": 0},
    "multi-get": {"--no-line-numbers": 0},
    "pull": {"--refresh": 0},
    "search": {"--intent": 1},
}


def run(args: Sequence[str], *, hook: bool = False) -> int:
    """Run one command, show its error if it fails, and return its exit code.

    If it is a hook, and its feature is missing, that is raised instead of shown.
    """
    console.use(console.Console())
    if "_QMD_COMPLETE" in os.environ:
        from qmd.cli.completion import answer

        return answer(os.environ["_QMD_COMPLETE"])
    prepare()
    # Bytes that are not UTF-8 arrive as lone surrogates, which neither an index nor a terminal accepts.
    words = [arg.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for arg in args]
    if hook or not is_terminal(sys.stdout):
        return _run(words, hook)
    from qmd.cli.pager import paged

    with paged(words):
        return _run(words, hook)


def run_hook(args: Sequence[str]) -> int:
    """Run a command of a hook in time. Whatever happens, the exit code is 0: agents stop at any other."""
    try:
        from qmd.cli.hook_limit import limited

        with limited(args):
            run(args, hook=True)
    except BaseException as error:  # noqa: BLE001 - it must not disturb the agent
        with suppress(Exception):
            from qmd.cli.hook_limit import log

            log(os.environ, f"{type(error).__name__}: {error}")
    return 0


def _run(words: list[str], hook: bool) -> int:
    words = list(without_foreign(words))
    began = time.monotonic()
    try:
        answer = client.ask(words)
        if isinstance(answer, int):
            finish()
            return answer
    except (OSError, KeyboardInterrupt) as error:
        from qmd.cli.errors import show
        from qmd.cli.session import Session

        return show(error, Session())
    if hook:
        from qmd.cli.commands import LOADABLE

        LOADABLE.load("hook run")
    from qmd.cli.running import run_here

    return run_here(words, answer, began)


def without_foreign(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line without the options of tobi/qmd that have no effect here."""
    options = next((FOREIGN[word] for word in words if word in FOREIGN), {})
    rest = iter(words)
    for word in rest:
        name, given, _ = word.partition("=")
        if name in options:
            for _ in range(0 if given else options[name]):
                next(rest, None)
            continue
        yield word
        if word == "--":
            yield from rest


def main() -> NoReturn:
    """Run the console script, and end the process with the exit code."""
    code = run_hook(sys.argv[1:]) if client.is_hook(sys.argv[1:]) else run(sys.argv[1:])
    # Everything is closed and flushed. Tearing down the interpreter would take a seventh of the time of a
    # search, and would wait for abandoned work (a deadline, Ctrl-C).
    os._exit(code)

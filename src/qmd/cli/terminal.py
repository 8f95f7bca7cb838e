"""Write to stdout and stderr: terminals, colours, widths, escapes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from qmd.cli.console import current

if TYPE_CHECKING:
    from typing import IO, Any, TextIO

# Colours of the terminal that are readable on a dark and on a light background.
RED, GREEN, YELLOW, MAGENTA = "31", "32", "33", "35"
BOLD, DIM = "1", "2"

# Characters that move the cursor, change the terminal, or change the order of the text:
# C0 and C1 controls, line separators, bidirectional embeddings, overrides and isolates.
# Compiled when it is used, which takes milliseconds.
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
#: Those that programs have no use for either: all but the ends of lines and pages.
_IN_PIPES = "[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
#: Those of ASCII, each as a space.
_OF_ASCII = bytes.maketrans(bytes({*range(32), 127} - {*b"\t\n"}), b" " * 31)
_IN_NAMES = "[\t\n]"
_BREAKS = r"\s*[\r\n]+\s*"


def is_terminal(stream: IO[Any]) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def can_ask() -> bool:
    """Return whether a person can read a question and answer it."""
    return is_terminal(current().stdin) and is_terminal(current().stderr)


def takes_escapes(stream: IO[Any]) -> bool:
    """Return whether the stream understands escape sequences: it is a terminal, and TERM is not dumb."""
    return is_terminal(stream) and current().environ.get("TERM") != "dumb"


def has_colours(stream: IO[Any]) -> bool:
    """Return whether to use colours and styles: the stream understands them, or a variable wants them.

    NO_COLOR wins over FORCE_COLOR and CLICOLOR_FORCE.
    """
    environ = current().environ
    forced = any(environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))
    return (forced or takes_escapes(stream)) and not environ.get("NO_COLOR")


def output_width() -> int:
    """Return the width of stdout in columns: of the terminal, or 80."""
    console = current()
    return console.width() if is_terminal(console.stdout) else 80


def styled(text: str, *codes: str) -> str:
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes and text else text


def painted(text: str, *codes: str, stream: IO[str] | None = None) -> str:
    """Return the text in bold, a colour and so on, if `stream`, by default stdout, has colours."""
    return styled(text, *codes) if has_colours(stream or current().stdout) else text


def link(text: str, address: str) -> str:
    return f"\x1b]8;;{clean_name(address)}\x1b\\{text}\x1b]8;;\x1b\\"


def clean(text: str, *, terminal: bool = True) -> str:
    """Return the text with control characters as escapes, `\\u001b`, or unchanged if not for a terminal.

    Tabs and line feeds stay. The escapes are those of JSON, so JSON stays valid.
    """
    return _escaped(_CONTROLS, text) if terminal else text


def clean_for_pipe(text: str) -> str:
    """Return the text as `clean` does, but with all ends of lines and pages: a terminal may show it later."""
    return _escaped(_IN_PIPES, text)


def _escaped(controls: str, text: str) -> str:
    # Most texts have none, which their bytes tell in a tenth of the time.
    if text.isascii() and (data := text.encode()).translate(_OF_ASCII) == data:
        return text
    return re.sub(controls, _escape, text)


def clean_name(name: str) -> str:
    """Return a file's name or path as one line, with control characters as escapes."""
    if name.isprintable():  # most are, so that the patterns need not be compiled
        return name
    return clean(re.sub(_IN_NAMES, _escape, name))


def one_line(text: str, *, terminal: bool = True) -> str:
    """Return the text without line breaks; for a terminal, with control characters as escapes."""
    line = text.strip()
    if "\n" in line or "\r" in line:
        line = re.sub(_BREAKS, " ", line)
    return clean(line, terminal=terminal)


def shell_words(*words: str) -> str:
    """Return words as a shell reads them, in quotes if they need them."""
    from shlex import join

    return join(words)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def width_of(text: str) -> int:
    """Return the width of a text in columns: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else sum(map(char_width, text))


@lru_cache(maxsize=4096)
def char_width(char: str) -> int:
    """Return the width of a character in columns: 0, 1 or 2."""
    if char.isascii():
        return 1
    from unicodedata import category, east_asian_width

    return 0 if category(char) in ("Mn", "Me", "Cf") else 2 if east_asian_width(char) in "WF" else 1


def cut(text: str, width: int) -> str:
    """Return the beginning of a text that fits a width in columns."""
    if width_of(text) <= width:
        return text
    taken = 0
    for at, char in enumerate(text):
        taken += char_width(char)
        if taken > width - 3:
            return text[:at] + "..."
    return text


def columns(rows: Iterable[tuple[str, ...]], right: frozenset[int] = frozenset()) -> list[str]:
    """Return rows as aligned lines. `right` has the indexes of the columns to align to the right."""
    table = list(rows)
    if not table:
        return []
    widths = [max(width_of(row[at]) for row in table) for at in range(len(table[0]))]
    lines = []
    for row in table:
        gaps = [" " * (width - width_of(cell)) for width, cell in zip(widths, row, strict=True)]
        cells = [
            gap + cell if at in right else cell + gap
            for at, (gap, cell) in enumerate(zip(gaps, row, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def write(text: str, stream: IO[str] | None = None) -> None:
    """Write to `stream`, by default stdout. A closed pipe is not an error, so the work continues."""
    target = current().stdout if stream is None else stream
    _attempt(target, lambda: target.write(text))


def write_plain(text: str) -> None:
    """Write text without styles to stdout, with control characters as escapes if that is a terminal."""
    write(clean(text, terminal=is_terminal(current().stdout)))


def say(*lines: str) -> None:
    write("".join(f"{line}\n" for line in lines))


def note(text: str) -> None:
    """Write a note to stderr, dimmed if it has colours."""
    stderr = current().stderr
    write(painted(f"note: {one_line(text)}", DIM, stream=stderr) + "\n", stderr)


def ask_secret(question: str, *, twice: bool = False) -> str:
    """Ask for a secret on the terminal, until there is one; with `twice`, until it is typed twice alike."""
    from getpass import getpass

    def ask(question: str) -> str:
        try:
            while not (answer := getpass(f"{question}: ", cast("TextIO", current().stderr))):
                pass
        except EOFError:
            raise KeyboardInterrupt from None
        return answer

    while True:
        secret = ask(question)
        if not twice or ask("Repeat for confirmation") == secret:
            return secret
        write("Error: The two entered values do not match.\n", current().stderr)


def prepare() -> None:
    """Make output safe, by streams that take every text, and files, which only the user may write."""
    mask = os.umask(0o022)
    if mask & 0o002:  # the user has chosen who may write
        os.umask(mask)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the whole run
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - likewise
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def finish() -> None:
    """Flush stdout and stderr. Raises `OSError` if that fails, except for a closed pipe."""
    for stream in (sys.stdout, sys.stderr):
        _attempt(stream, stream.flush)


def _attempt(stream: IO[str], write: Callable[[], object]) -> None:
    """Write to a stream; if that fails, send the rest of it to /dev/null. A closed pipe is not an error."""
    try:
        write()
    except OSError as error:
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)
        if not isinstance(error, BrokenPipeError):
            raise

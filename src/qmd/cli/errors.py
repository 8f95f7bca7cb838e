"""Show an error as one line with a hint; a traceback only with --debug."""

from __future__ import annotations

import re

from qmd.cli.command import Command, Group
from qmd.cli.console import current
from qmd.cli.session import Session
from qmd.cli.terminal import BOLD, DIM, RED, clean, clean_name, is_terminal, one_line, painted, write
from qmd.cli.usage import MisuseError
from qmd.errors import DocumentNotFoundError, ForbiddenError, NotEnoughMemoryError, QmdError
from qmd.text.similar import nearest

INTERRUPTED = 130


def show(error: BaseException, session: Session) -> int:
    """Show an error on stderr and return the exit code."""
    debug = session.debug
    if debug:
        import traceback

        trace = "".join(traceback.format_exception(error))
        stderr = current().stderr
        write(clean(session.masked(trace), terminal=is_terminal(stderr)), stderr)
    match error:
        case KeyboardInterrupt():
            write((session.addressed(str(error)) or "Interrupted.") + "\n", current().stderr)
            return INTERRUPTED
        case QmdError():
            show_error(error, session)
            return error.exit_code
        case MisuseError():
            show_misuse(error, session)
            return error.exit_code
        case MemoryError():
            show_error(NotEnoughMemoryError(), session)
            return 1
        case OSError() if error.strerror:
            message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
            _print(session.masked(message), None)
            return 1
    if (told := getattr(error, "format_message", None)) is not None:  # of click, for another package
        code = int(getattr(error, "exit_code", 1))
        _print(_sentence(told()), _see(session.path) if code == MisuseError.exit_code else None)
        return code
    hint = None if debug else "run the command again with --debug to see the traceback"
    _print(session.masked(f"internal error: {type(error).__name__}: {error}"), hint)
    return 1


def show_error(error: QmdError, session: Session) -> None:
    suggestions = error.suggestions if isinstance(error, DocumentNotFoundError) else ()
    hint = session.addressed(error.hint) if error.hint else None
    if isinstance(error, ForbiddenError) and session.for_agent:
        hint = "it is for people: ask the user"  # that of the error may say how to permit it
    _print(session.addressed(error.message), hint, suggestions)


def show_misuse(error: MisuseError, session: Session) -> None:
    """Show the error in the words of a command, and the right ones."""
    message, hint = str(error), None
    match error.cause:
        case "command":
            from qmd.cli.guesses import suggestion

            end, hint = suggestion(error, session)
            message += end
        case "option":
            end, hint = _instead(error.words[0], session)
            message += end
        case "value":
            # -notes is read as -n otes: the message quotes the value.
            hint = session.intended_as_text("".join(error.words)) if error.words[0] else None
        case "missing":
            hint = None if session.command is None else _what_to_give(session.command)
        case "surplus":
            from qmd.cli.guesses import without_words

            hint = without_words(session)
    path = session.path if error.path is None else error.path
    see = path and _see(path)
    if error.cause != "value":  # which begins with the name of an argument
        message = _sentence(message)
    _print(message, f"{hint}; {see}" if hint else see)


def _what_to_give(command: Command) -> str | None:
    """Return the first example of a command's help, if it can stand in quotes, and its hint."""
    example = re.search(r"^ +(qmd [^'\n]+)$", command.help, re.MULTILINE)
    return "; ".join(filter(None, (example and f"for example '{example[1]}'", command.if_missing))) or None


def _see(path: str) -> str:
    return f"see '{path} --help'"


def _sentence(message: str) -> str:
    return message[:1].lower() + message[1:]


def _instead(option: str, session: Session) -> tuple[str, str | None]:
    """Return the end of the error for an unknown option, and its hint."""
    from qmd.cli.guesses import instead_of_option
    from qmd.cli.render.formats import FORMATS
    from qmd.text.synonyms import meant

    command, words = session.command, session.words
    assert command is not None
    if instead := instead_of_option(command.name, option, words):
        return "", instead
    as_text = session.intended_as_text(option)
    names = [name for each in (*command.parameters, *command.shared) for name in (*each.names, *each.off)]
    if option.removeprefix("--") in ("format", *FORMATS):
        if isinstance(command, Group):
            return "", "a command's options come after its name"
        return "", "it prints text, or JSON with --json" if "--json" in names else "it prints text only"
    long = [name for name in names if name.startswith("--")]
    same = None if len(option) == 2 and as_text else meant(option, long)  # -k of -kittens
    close = same or nearest(option, names)
    end = f". Did you mean '{close}'?" if close else ""
    if same:
        return end, None  # the message names the right one
    if isinstance(command, Group):
        return end, "a command's options come after its name"
    return end, None if option.startswith("--") else as_text or command.if_unknown


def _print(message: str, hint: str | None, suggestions: tuple[str, ...] = ()) -> None:
    stderr = current().stderr
    lines = [f"{painted('Error:', BOLD, RED, stream=stderr)} {one_line(message)}"]
    if suggestions:
        lines.append("Did you mean one of these?")
        lines += [f"  - {clean_name(path)}" for path in suggestions]
    if hint:
        lines.append(painted(f"Hint: {one_line(hint)}", DIM, stream=stderr))
    write("\n".join(lines) + "\n", stderr)

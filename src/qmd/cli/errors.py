"""Show an error as one line with a hint; a traceback only with --debug."""

from __future__ import annotations

import re

import click

from qmd.cli.command import Command, NoSuchCommandError
from qmd.cli.console import current
from qmd.cli.session import AGENT, Session
from qmd.cli.terminal import BOLD, DIM, RED, clean, clean_name, is_terminal, one_line, painted, write
from qmd.errors import DocumentNotFoundError, ForbiddenError, QmdError
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
        case click.UsageError():
            _print(usage_message(error, session), usage_hint(error, session))
            return error.exit_code
        case click.ClickException():
            _print(error.format_message(), None)
            return error.exit_code
        case OSError() if error.strerror:
            message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
            _print(session.masked(message), None)
            return 1
    hint = None if debug else "run the command again with --debug to see the traceback"
    _print(session.masked(f"internal error: {type(error).__name__}: {error}"), hint)
    return 1


def show_error(error: QmdError, session: Session) -> None:
    suggestions = error.suggestions if isinstance(error, DocumentNotFoundError) else ()
    hint = session.addressed(error.hint) if error.hint else None
    if isinstance(error, ForbiddenError) and session.for_agent and hint is None:
        hint = f"it is for people, without --agent and {AGENT}"
    _print(session.addressed(error.message), hint, suggestions)


def usage_message(error: click.UsageError, session: Session) -> str:
    """Return one line that says what is wrong with the arguments."""
    match error:
        case click.NoSuchOption():
            if _instead(error, session):
                return f"no such option '{error.option_name}'"
            close = _same_by_meaning(error, session) or nearest(error.option_name, _option_names(error))
            return f"no such option '{error.option_name}'" + (f". Did you mean '{close}'?" if close else "")
        case click.MissingParameter():
            return f"missing {_display_name(error.param) if error.param else 'argument'}"
        case click.BadParameter() if error.param is not None:
            name = _display_name(error.param)
            separator = " " if error.message.startswith("must ") else ": "
            return f"{name}{separator}{error.message}"
    message = error.format_message()
    return message[:1].lower() + message[1:]


def _option_names(error: click.NoSuchOption) -> list[str]:
    params = error.ctx.command.get_params(error.ctx) if error.ctx is not None else []
    return [name for param in params for name in (*param.opts, *param.secondary_opts)]


def _same_by_meaning(error: click.NoSuchOption, session: Session) -> str | None:
    """Return the option that means the same as an unknown one; None if that may be meant as text."""
    from qmd.text.synonyms import meant

    if len(error.option_name) == 2 and session.intended_as_text(error.option_name):  # -k of -kittens
        return None
    return meant(error.option_name, [name for name in _option_names(error) if name.startswith("--")])


def _instead(error: click.NoSuchOption, session: Session) -> str | None:
    """Return what to do instead of an option that other programs have; None without a guess."""
    from qmd.cli.guesses import instead_of_option

    command = error.ctx.command.name if error.ctx is not None else None
    return instead_of_option(command or "", error.option_name, session.called.words)


def usage_hint(error: click.UsageError, session: Session) -> str | None:
    if error.ctx is None:
        return None
    command = error.ctx.command
    see_help = f"see '{error.ctx.command_path} --help'"
    hint = None
    match error, command:
        case NoSuchCommandError(), _:
            hint = error.hint
        case click.NoSuchOption(), _ if instead := _instead(error, session):
            hint = instead
        case click.NoSuchOption(), _ if _same_by_meaning(error, session):
            pass  # the message names the right one
        case click.NoSuchOption(), Command() if not error.option_name.startswith("--"):
            hint = session.intended_as_text(error.option_name) or command.if_unknown
        case click.BadParameter(), Command() if isinstance(error.param, click.Option):
            # -notes is read as -n otes: the message quotes the value.
            value = re.search(r"'([^']*)'$", error.message)
            short = [name for name in error.param.opts if not name.startswith("--")]
            hints = (session.intended_as_text(name + value[1]) for name in short) if value else ()
            hint = next(filter(None, hints), None)
        case click.NoSuchOption(), click.Group():
            hint = "a command's options come after its name"
        case click.MissingParameter(), Command():
            hint = command.if_missing
        case _ if "unexpected extra argument" in error.message:
            from qmd.cli.guesses import without_words

            hint = without_words(error.ctx, session.called.words)
    return f"{hint}; {see_help}" if hint else see_help


def _display_name(param: click.Parameter) -> str:
    """Return the longest name of an option, or the name of an argument in the help."""
    if isinstance(param, click.Argument):
        return param.metavar or param.human_readable_name
    return max(param.opts, key=len)


def _print(message: str, hint: str | None, suggestions: tuple[str, ...] = ()) -> None:
    stderr = current().stderr
    lines = [f"{painted('Error:', BOLD, RED, stream=stderr)} {one_line(message)}"]
    if suggestions:
        lines.append("Did you mean one of these?")
        lines += [f"  - {clean_name(path)}" for path in suggestions]
    if hint:
        lines.append(painted(f"Hint: {one_line(hint)}", DIM, stream=stderr))
    write("\n".join(lines) + "\n", stderr)

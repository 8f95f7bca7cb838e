"""`completion`: scripts for completion in bash, zsh and fish, and the answers to them.

A script calls this program with the words before the cursor in the environment, and `_QMD_COMPLETE`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from qmd.cli import candidates
from qmd.cli.app import app
from qmd.cli.candidates import Item
from qmd.cli.command import Command, Group, command
from qmd.cli.options import argument
from qmd.cli.reading import Found, split
from qmd.cli.session import Session
from qmd.cli.terminal import say, write
from qmd.errors import QmdError

if TYPE_CHECKING:
    from qmd.cli.parameters import Parameter

# The bash of macOS lacks compopt and nosort. No space follows a folder, because more comes after it.
# For bash a colon ends a word: of qmd://notes/ it completes //notes/, the second argument. Therefore
# COMP_LINE passes the line up to the cursor.
_BASH = """\
_qmd_completion() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            dir,*) compopt -o dirnames 2>/dev/null; continue ;;
            file,*) compopt -o default 2>/dev/null; continue ;;
            path,*/) compopt -o filenames -o nospace 2>/dev/null ;;
            path,* | name,*) compopt -o filenames 2>/dev/null ;;
        esac
        COMPREPLY+=("${line#*,}")
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="$2" _QMD_COMPLETE=bash_complete "$1")
}

complete -o nosort -F _qmd_completion qmd 2>/dev/null ||
    complete -F _qmd_completion qmd
"""
# Loaded from a folder of functions, the script is the function itself; otherwise it registers one.
_ZSH = """\
#compdef qmd

_qmd_completion() {
    local kind value text
    local -a plain described
    (( $+commands[qmd] )) || return 1

    for kind value text in "${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \\
            _QMD_COMPLETE=zsh_complete qmd)}"; do
        case $kind in
            dir) _path_files -/ ;;
            file) _path_files -f ;;
            plain) if [[ $text == _ ]]; then plain+=("$value"); else described+=("$value:$text"); fi ;;
        esac
    done
    (( $#described )) && _describe -V unsorted described -U
    (( $#plain )) && compadd -U -V unsorted -a plain
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _qmd_completion "$@"
else
    compdef _qmd_completion qmd
fi
"""
_FISH = """\
function _qmd_completion
    for line in (_QMD_COMPLETE=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) qmd)
        set -l offer (string split -m 1 , -- $line)
        switch $offer[1]
            case dir
                __fish_complete_directories $offer[2]
            case file
                __fish_complete_path $offer[2]
            case plain
                echo $offer[2]
        end
    end
end

complete --no-files --command qmd --arguments "(_qmd_completion)"
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@command()
@argument("shell", "SHELL", kind=tuple(SCRIPTS))
def completion(_: Session, shell: str) -> None:
    """Print a script that completes commands, options, collections and paths in bash, zsh or fish.

    Load it in the startup file of your shell, then open a new shell.

    Examples:
      echo 'eval "$(qmd completion bash)"' >> ~/.bashrc
      echo 'eval "$(qmd completion zsh)"' >> ~/.zshrc
      qmd completion fish > ~/.config/fish/completions/qmd.fish
    """
    write(SCRIPTS[shell])


def answer(asked: str) -> int:
    """Answer the script of a shell: `bash_complete` asks for offers, `bash_source` for the script."""
    shell, _, what = asked.partition("_")
    if shell not in SCRIPTS or what not in ("complete", "source"):
        return 1
    if what == "source":
        write(SCRIPTS[shell])
        return 0
    session = Session()
    try:
        say("\n".join({"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}[shell](session)))
    finally:
        session.close()
    return 0


def _for_bash(session: Session) -> Iterator[str]:
    # A space that is neither quoted nor escaped begins another word.
    *words, last = _split(os.environ["COMP_LINE"] + "x")[1:]
    typed = last[:-1]
    before = "" if ":" in os.environ["COMP_WORD"] else "".join(typed.rpartition(":")[:2])
    for item in offers(words, typed, session):
        yield f"{item.kind},{item.value.removeprefix(before)}"


def _for_zsh(session: Session) -> Iterator[str]:
    words, at = _split(os.environ["COMP_WORDS"]), int(os.environ["COMP_CWORD"])
    for item in offers(words[1:at], words[at] if at < len(words) else "", session):
        # The script puts a colon between a value and its description.
        value = item.value.replace(":", r"\:") if item.description else item.value
        yield f"{_looked_for(item)}\n{value}\n{item.description or '_'}"


def _for_fish(session: Session) -> Iterator[str]:
    words, typed = _split(os.environ["COMP_WORDS"])[1:], "".join(_split(os.environ["COMP_CWORD"])[:1])
    if typed and words[-1:] == [typed]:
        words.pop()
    for item in offers(words, typed, session):
        yield f"{_looked_for(item)},{item.value}" + (f"\t{item.description}" if item.description else "")


def _looked_for(item: Item) -> str:
    return item.kind if item.kind in ("dir", "file") else "plain"


def _split(line: str) -> list[str]:
    """Return the words of a line as a shell splits it; the last one may be unfinished."""
    from shlex import shlex

    lexer = shlex(line, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:  # a quote is open
        words.append(lexer.token)
    return words


def offers(words: list[str], start: str, session: Session) -> list[Item]:
    """Return what completes the word that begins with `start` after complete words."""
    place, found, others = _place(words, session)
    if place is None:
        return []
    if start == "=":
        start = ""
    elif "=" in start and start.startswith("-"):
        name, _, start = start.partition("=")
        words = [*words, name]
    parameters = [*place.parameters, *place.shared]
    if "--" not in words and start.startswith("-"):
        given = {option for option, _ in found if not option.multiple}
        return [*_options([each for each in parameters if each not in given], start)]
    for each in parameters:
        if not each.flag and {*words[-1:]} & {*each.names}:
            return _values(each, (), start, session)
    arguments = [each for each in place.parameters if not each.names]
    several = next((at for at, each in enumerate(arguments) if each.multiple), len(arguments))
    if len(others) < len(arguments) or several < len(arguments):
        at = min(several, len(others))
        return _values(arguments[at], others[at:], start, session)
    if not isinstance(place, Group):
        return []
    rows = [row for _, rows in place.sections() for row in rows]
    return [Item(name, description=text) for name, text in rows if name.startswith(start)]


def _options(parameters: Iterable[Parameter], start: str) -> Iterator[Item]:
    """Yield the options whose names begin with `start`."""
    for each in parameters:
        for name in (*each.names, *each.off):
            if name.startswith(start):
                yield Item(name, description=each.help)


def _place(words: Sequence[str], session: Session) -> tuple[Command | None, Found, list[str]]:
    """Return the command in which words end, its options, and its other words.

    There is none if a command of another package reads the words.
    """
    command: Command = app
    left = [*words]
    while True:
        found, left, _ = split([*command.shared, *command.parameters], left, between=command.between)
        for option, value in found:
            if option.goes == "session":
                session.take(option.to, value)
        if not isinstance(command, Group) or not left:
            return command, found, left
        try:
            name, left_below = command.divided(left)
            below = command.find(name)
        except QmdError:
            below = None
        if below is None:
            return command, found, left
        if not isinstance(below, Command):
            return None, found, left_below
        command, left = below, left_below


def _values(parameter: Parameter, given: Sequence[str], start: str, session: Session) -> list[Item]:
    """Return the values of a parameter that begin with `start`."""
    if parameter.complete is not None:
        complete: candidates.Complete = getattr(candidates, parameter.complete)
        return complete(session, given, start)
    words = parameter.kind if isinstance(parameter.kind, tuple) else ()
    return [Item(word) for word in words if word.startswith(start)]

"""`completion`: scripts for completion in bash, zsh and fish."""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from qmd.cli.command import OneOf, command
from qmd.cli.session import Session
from qmd.cli.terminal import write


@command()
@click.argument("shell", type=OneOf(("bash", "zsh", "fish")), metavar="SHELL")
def completion(session: Session, shell: str) -> None:
    """Print a script that completes commands, options, collections and paths in bash, zsh or fish.

    Load it in the startup file of your shell, then open a new shell.

    Examples:
      echo 'eval "$(qmd completion bash)"' >> ~/.bashrc
      echo 'eval "$(qmd completion zsh)"' >> ~/.zshrc
      qmd completion fish > ~/.config/fish/completions/qmd.fish
    """
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    root = click.get_current_context().find_root().command
    write(shell_class(root, {}, "qmd", "_QMD_COMPLETE").source())


@add_completion_class
class Bash(BashComplete):
    """Like click's completion for bash, but quotes names with spaces and other special characters."""

    # The bash of macOS lacks compopt and nosort. No space follows a folder, because more comes after it.
    # For bash a colon ends a word: of qmd://notes/ it completes //notes/, the second argument. Therefore
    # COMP_LINE passes the line up to the cursor.
    source_template = """\
%(complete_func)s() {
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
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="$2" %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null ||
    complete -F %(complete_func)s %(prog_name)s
"""

    def source(self) -> str:
        # Skip click's version check, which may run another bash than the user's.
        return ShellComplete.source(self)

    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"]
        # A space that is neither quoted nor escaped begins another word.
        *words, last = split_arg_string(line + "x")[1:]
        typed = last[:-1]
        if ":" not in os.environ["COMP_WORD"]:
            self._before = "".join(typed.rpartition(":")[:2])
        return words, typed

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.kind or item.type},{item.value.removeprefix(self._before)}"

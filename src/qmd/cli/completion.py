"""`completion`: the scripts that make shells complete the command line."""

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

from qmd.cli.command import Command
from qmd.cli.options import OneOf
from qmd.cli.terminal import write

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Command)
@click.argument("shell", type=OneOf(SHELLS), metavar="SHELL")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that lets bash, zsh or fish complete commands, options, collections and paths.

    It is to be read when the shell starts; a new shell has it.

    \b
    Examples:
      echo 'eval "$(qmd completion bash)"' >> ~/.bashrc
      echo 'eval "$(qmd completion zsh)"' >> ~/.zshrc
      qmd completion fish > ~/.config/fish/completions/qmd.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    write(kind(ctx.find_root().command, {}, "qmd", "_QMD_COMPLETE").source())


@add_completion_class
class Bash(BashComplete):
    """As click's own, but names with blanks and other special characters come out quoted."""

    # macOS has a bash without compopt and nosort. A folder is not followed by a blank: more comes after it.
    # To bash a colon ends a word: of qmd://notes/ it completes //notes/, which is the second argument. So the
    # line up to the cursor says what was typed.
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
        # Without click's question for the version of the bash that is found first, which may be another.
        return ShellComplete.source(self)

    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"]
        # A blank that is neither quoted nor escaped begins another word.
        *words, last = split_arg_string(line + "x")[1:]
        typed = last[:-1]
        if ":" not in os.environ["COMP_WORD"]:
            self._before = "".join(typed.rpartition(":")[:2])
        return words, typed

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.kind or item.type},{item.value.removeprefix(self._before)}"

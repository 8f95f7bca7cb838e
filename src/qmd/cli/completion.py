"""`completion`: the scripts that make shells complete the command line."""

from __future__ import annotations

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
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
    source_template = """\
%(complete_func)s() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            dir,*) compopt -o dirnames 2>/dev/null; continue ;;
            file,*) compopt -o default 2>/dev/null; continue ;;
            path,*/) compopt -o filenames -o nospace 2>/dev/null ;;
            path,*) compopt -o filenames 2>/dev/null ;;
        esac
        COMPREPLY+=("${line#*,}")
    done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null ||
    complete -F %(complete_func)s %(prog_name)s
"""

    def source(self) -> str:
        # Without click's question for the version of the bash that is found first, which may be another.
        return ShellComplete.source(self)

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.kind or item.type},{item.value}"

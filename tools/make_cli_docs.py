"""Makes docs/cli.md from the help of the commands: `python tools/make_cli_docs.py`, after a change to any.

A test compares the page with what this makes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent, fill

import click

from qmd.cli.app import app
from qmd.cli.command import GLOBAL_OPTIONS, Group
from qmd.cli.commands import COMMANDS

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
WIDTH = 110
_SHARED = "#options-of-several-commands"
INTRODUCTION = """\
Every command has `--help`, which says the same. Options stand anywhere after the command's name; what follows
`--` is no option. Exit codes: 0 done, also without results; 1 an error that the message explains; 2 wrong
usage; 130 interrupted. The formats are described in [formats.md](formats.md), queries and `index.yml` in
[usage.md](usage.md). `qmd completion` lets the shell complete all this.
"""
#: An option with the same text in as many commands is described once.
SEVERAL = 4
#: Why the examples of a command are not run by tests/docs, by command.
NOT_RUN = {
    "archive mcp": "a server that runs until it is stopped; tests/features/archive starts it",
    "watch": "it runs until it is stopped, or changes services; see tests/edge/cli/test_watch.py",
    "pull": "it fetches models; see tests/edge/cli/test_pull.py",
    "backup": "it writes to a disk that is not there; see tests/edge/cli/test_backup.py",
    "migrate": "it needs an index of tobi/qmd; see tests/edge/cli/test_migrate.py",
    "store": "it needs a Milvus server; see tests/edge/cli/test_stores.py",
    "store copy": "it needs a Milvus server; see tests/edge/cli/test_stores.py",
    "mcp": "a server that runs until it is stopped; see tests/edge/mcp/test_daemon.py",
    "server": "a server that runs until it is stopped; see tests/edge/http/test_lifecycle.py",
}


def page() -> str:
    """The whole page."""
    root = app.make_context("qmd", [], resilient_parsing=True)
    options = [*GLOBAL_OPTIONS, *(param for param in app.params if isinstance(param, click.Option))]
    parts = [
        "# The command line\n",
        INTRODUCTION,
        _contents(),
        "## Global options\n",
        _options(options, root),
        "## Options of several commands\n",
        "Each command names those that it takes.\n",
        _table(sorted(_shared(), key=lambda record: (record[0].lstrip("-").lower(), record))),
    ]
    for section, rows in COMMANDS.items():
        parts.append(f"## {section}\n")
        for name, _, _ in rows:
            command = app.get_command(root, name)
            assert command is not None, name
            parts += _described(command, name, root)
    return "\n".join(parts)


def _contents() -> str:
    rows = [
        f"|{'' if at else f' {section}'} | [`{name}`](#qmd-{name}) | {what} |"
        for section, commands in COMMANDS.items()
        for at, (name, _, what) in enumerate(commands)
    ]
    return "\n".join(["| | command | |", "|---|---|---|", *rows]) + "\n"


def _described(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """A command, then those below it."""
    context = click.Context(command, parent, name)
    yield f"### {context.command_path}\n"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"`{usage}`{_other_names(name, parent)}\n"
    reason = NOT_RUN.get(context.command_path.removeprefix("qmd "))
    for text in cleandoc(command.help or "").split("\n\n"):
        paragraph = _paragraph(text)
        if reason is not None and paragraph.startswith("```"):
            yield f"<!-- not run: {reason} -->\n"
        yield paragraph
    own = [param for param in command.params if isinstance(param, click.Option)]
    if own:
        yield _options(own, context)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None, each
            yield from _described(below, each, context)


def _other_names(name: str, parent: click.Context) -> str:
    aliases = parent.command.aliases if isinstance(parent.command, Group) else {}
    others = [f"`{alias}`" for alias, target in aliases.items() if target == name]
    return f", or {', '.join(others)}" if others else ""


def _paragraph(text: str) -> str:
    """A paragraph of a help text; one that is marked as laid out already holds examples."""
    if text.startswith("\b\n"):
        lines = dedent(re.sub(r"^Examples?:\n", "", text.removeprefix("\b\n")))
        explained = re.sub(r"^(qmd .*?) {3,}", r"\1  # ", lines, flags=re.MULTILINE)
        return f"```sh\n{explained}\n```\n"
    return fill(_prose(" ".join(text.split())), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def _options(options: Iterable[click.Parameter], context: click.Context) -> str:
    records = [record for option in options if (record := option.get_help_record(context)) is not None]
    own = [record for record in records if record not in _shared()]
    shared = [f"`{names.split()[0].rstrip(',')}`" for names, what in records if (names, what) not in own]
    also = fill(f"[Also]({_SHARED}): {', '.join(shared)}.", WIDTH, break_on_hyphens=False)
    return "\n".join([*([_table(own)] if own else []), *([f"{also}\n"] if shared else [])])


def _table(records: Iterable[tuple[str, str]]) -> str:
    rows = [f"| `{names}` | {_cell(what)} |" for names, what in records]
    return "\n".join(["| option | |", "|---|---|", *rows]) + "\n"


@cache
def _shared() -> frozenset[tuple[str, str]]:
    """The records of options that several commands have."""
    counts = Counter(
        record for command, context in _commands(app, None) for record in _records(command, context)
    )
    return frozenset(record for record, number in counts.items() if number >= SEVERAL)


def _commands(
    command: click.Command, parent: click.Context | None
) -> Iterator[tuple[click.Command, click.Context]]:
    context = click.Context(command, parent, command.name)
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from _commands(below, context)


def _records(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for option in command.params:
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            yield record


def _cell(text: str) -> str:
    return _prose(re.sub(r"  \[default: (.+)\]$", r" Default: \1.", text)).replace("|", "\\|")


def _prose(text: str) -> str:
    """With commands in quotes as code, and nothing that Markdown would read as markup."""
    pieces = re.split(r"'((?:qmd|git) [^']+)'", text)
    return "".join(
        f"`{piece}`" if at % 2 else re.sub(r"([*_<\[\]])", r"\\\1", piece) for at, piece in enumerate(pieces)
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Makes docs/cli.md from the help of the commands: `python tools/make_cli_docs.py`, after a change to any.

A test compares the page with what this makes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent, fill

from qmd.cli.app import app
from qmd.cli.command import Command, Group
from qmd.cli.commands import COMMANDS, OLDER
from qmd.cli.help import paragraphs, record, usage
from qmd.cli.parameters import GLOBAL, Parameter

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
    "lint": "it ends with 1 if anything is found; see tests/features/lint",
    "saved remove": "it needs a saved search; see tests/features/saved",
    "synonyms remove": "it needs a synonym; see tests/features/synonyms",
    "ask": "it needs a model; see tests/features/ask",
    "ocr": "it needs scans and the extra 'ocr'; see tests/features/ocr",
    "pick": "it needs a terminal; see tests/features/picker",
    "pull": "it fetches models; see tests/edge/cli/test_pull.py",
    "store backup": "it writes to a disk that is not there; see tests/edge/cli/test_backup.py",
    "store migrate": "it needs an index of tobi/qmd; see tests/edge/cli/test_migrate.py",
    "server install": "it changes services; see tests/edge/cli/test_watch.py",
    "server uninstall": "it changes services; see tests/edge/cli/test_watch.py",
    "agent": "it asks on a terminal; see tests/features/agents",
    "agent install": "it asks on a terminal; see tests/features/agents",
    "agent uninstall": "it asks on a terminal; see tests/features/agents",
    "store": "it needs a Milvus server; see tests/edge/cli/test_stores.py",
    "store copy": "it needs a Milvus server; see tests/edge/cli/test_stores.py",
    "mcp": "a server that runs until it is stopped; see tests/edge/mcp/test_daemon.py",
    "server": "a server that runs until it is stopped; see tests/edge/http/test_lifecycle.py",
}


def page() -> str:
    """The whole page."""
    parts = [
        "# The command line\n",
        INTRODUCTION,
        _contents(),
        "## Global options\n",
        _options([*GLOBAL, *app.parameters]),
        "## Options of several commands\n",
        "Each command names those that it takes.\n",
        _table(sorted(_shared(), key=lambda record: (record[0].lstrip("-").lower(), record))),
    ]
    for section, rows in COMMANDS.items():
        parts.append(f"## {section}\n")
        for name, _, _ in rows:
            parts += _described(app.find(name), name, "qmd", app)
    older = "".join(f"| `{name}` | `{words}` |\n" for name, words in OLDER.items())
    parts += [
        "## Older names\n",
        "These work as before, and no help lists them.\n",
        f"| older name | stands for |\n|---|---|\n{older}",
    ]
    return "\n".join(parts)


def _contents() -> str:
    rows = [
        f"|{'' if at else f' {section}'} | [`{name}`](#qmd-{name}) | {what} |"
        for section, commands in COMMANDS.items()
        for at, (name, _, what) in enumerate(commands)
    ]
    return "\n".join(["| | command | |", "|---|---|---|", *rows]) + "\n"


def _described(command: Command, name: str, above: str, group: Group) -> Iterator[str]:
    """A command, then those below it."""
    path = f"{above} {name}"
    yield f"### {path}\n"
    others = [f"`{alias}`" for alias, target in group.aliases.items() if target == name]
    yield f"`{usage(command, path)}`{', or ' * bool(others)}{', '.join(others)}\n"
    reason = NOT_RUN.get(path.removeprefix("qmd "))
    for text, stays in paragraphs(command):
        if reason is not None and stays:
            yield f"<!-- not run: {reason} -->\n"
        yield _examples(text) if stays else _paragraph(text)
    own = [each for each in command.parameters if each.names]
    if own:
        yield _options(own)
    if isinstance(command, Group):
        for each in command.names():
            yield from _described(command.find(each), each, path, command)


def _examples(text: str) -> str:
    lines = dedent(re.sub(r"^Examples?:\n", "", text))
    explained = re.sub(r"^(qmd .*?) {3,}", r"\1  # ", lines, flags=re.MULTILINE)
    return f"```sh\n{explained}\n```\n"


def _paragraph(text: str) -> str:
    return fill(_prose(" ".join(text.split())), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def _options(options: Iterable[Parameter]) -> str:
    records = [record(each) for each in options]
    own = [each for each in records if each not in _shared()]
    shared = [f"`{names.split()[0].rstrip(',')}`" for names, what in records if (names, what) not in own]
    also = fill(f"[Also]({_SHARED}): {', '.join(shared)}.", WIDTH, break_on_hyphens=False)
    return "\n".join([*([_table(own)] if own else []), *([f"{also}\n"] if shared else [])])


def _table(records: Iterable[tuple[str, str]]) -> str:
    rows = [f"| `{names}` | {_cell(what)} |" for names, what in records]
    return "\n".join(["| option | |", "|---|---|", *rows]) + "\n"


@cache
def _shared() -> frozenset[tuple[str, str]]:
    """The records of options that several commands have."""
    counts = Counter(record(each) for command in _commands(app) for each in command.parameters if each.names)
    return frozenset(record for record, number in counts.items() if number >= SEVERAL)


def _commands(command: Command) -> Iterator[Command]:
    yield command
    if isinstance(command, Group):
        for name in command.names():
            yield from _commands(command.find(name))


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

"""The `qmd` command: which commands there are, and how a run begins and ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from qmd._version import __version__
from qmd.cli.command import Group, Table, help_alone
from qmd.cli.session import Session
from qmd.cli.terminal import finish, prepare, say

COMMANDS: Table = (
    (
        "Search",
        (
            ("search", "qmd.cli.search:search", "Find documents by words (BM25); fast."),
            ("vsearch", "qmd.cli.search:vsearch", "Find documents by meaning (vectors)."),
            ("query", "qmd.cli.search:query", "Find by words and meaning, reranked; best."),
            ("why", "qmd.cli.why:why", "Tell why a document is a result, or why not."),
            ("bench", "qmd.cli.bench:bench", "Measure how good the searches are."),
        ),
    ),
    (
        "Read",
        (
            ("get", "qmd.cli.documents:get", "Print a document, or some lines of it."),
            ("multi-get", "qmd.cli.documents:multi_get", "Print the documents of a glob or a list."),
            ("ls", "qmd.cli.documents:ls", "List collections, or the files of one."),
            ("archive", "qmd.cli.archive:archive", "Read and search an archive of authors' posts."),
        ),
    ),
    (
        "Collections",
        (
            ("collection", "qmd.cli.collections:collection", "Add, list, show and change folders."),
            ("context", "qmd.cli.contexts:context", "Say what folders are about."),
            ("init", "qmd.cli.projects:init", "Make the current folder a project with its own index."),
            ("trust", "qmd.cli.projects:trust", "Approve what a project's index.yml asks for."),
        ),
    ),
    (
        "Index",
        (
            ("update", "qmd.cli.indexing:update", "Run update commands, then scan for changes."),
            ("index", "qmd.cli.indexing:index", "Scan all collections for changes."),
            ("embed", "qmd.cli.indexing:embed", "Make the vectors that are missing."),
            ("status", "qmd.cli.status:status", "Show what is indexed, and with which models."),
            ("models", "qmd.cli.models:models", "Show the models in use, and whether they are here."),
            ("pull", "qmd.cli.pulling:pull", "Fetch models that are not here."),
            ("doctor", "qmd.cli.upkeep:doctor", "Check everything, and say how to mend what is wrong."),
            ("cleanup", "qmd.cli.upkeep:cleanup", "Throw away what nothing uses any more."),
            ("backup", "qmd.cli.backup:backup", "Copy the index and its index.yml to one file."),
            ("restore", "qmd.cli.backup:restore", "Make the index what a backup holds."),
            ("store", "qmd.cli.store:store", "Move the index between stores."),
        ),
    ),
    (
        "Serve",
        (
            ("mcp", "qmd.cli.serving:mcp", "Serve AI agents by the Model Context Protocol."),
            ("server", "qmd.cli.server:server", "Serve programs over HTTP, and agents by MCP."),
            ("keys", "qmd.cli.keys:keys", "Say who may use the server, and what they may see."),
        ),
    ),
    (
        "Shell",
        (
            ("completion", "qmd.cli.completion:completion", "Let bash, zsh or fish complete what you type."),
            ("help", "qmd.cli.helping:help_", "Show the help of a command."),
        ),
    ),
)
ALIASES = {"vector-search": "vsearch", "deep-search": "query"}


class App(Group):
    """The program: runs a command, shows its errors, ends with its exit code."""

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        if "_QMD_COMPLETE" in os.environ:
            import_module("qmd.cli.completion")  # how the shells want their answers
            super().main(args, prog_name="qmd")
        sys.exit(run(self, sys.argv[1:] if args is None else args))


def run(app: click.Group, args: Sequence[str]) -> int:
    """Run one command; returns its exit code, and shows its error."""
    session = Session()
    prepare()
    try:
        # Bytes that are no text come as lone surrogates, which neither an index nor a terminal takes.
        texts = [arg.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for arg in args]
        with app.make_context("qmd", texts, obj=session) as ctx:
            app.invoke(ctx)
        finish()
        return 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - nothing is above to show it
        from qmd.cli.errors import show

        if isinstance(error, KeyboardInterrupt):
            session.abandoned = True
        return show(error, session)
    finally:
        session.close()
        with suppress(OSError):
            finish()


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        say(f"qmd {__version__}")
        ctx.exit()


@click.group(cls=App, table=COMMANDS, aliases=ALIASES)
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version.",
)
@click.pass_context
def app(ctx: click.Context) -> None:
    """Local search for folders of Markdown: by words, by meaning, or both.

    \b
    qmd collection add ~/notes         index a folder
    qmd embed                          make it findable by meaning
    qmd query "how do I deploy this"   search it
    qmd get notes/deploy.md            read what was found
    """
    help_alone(ctx)


def main() -> NoReturn:
    """The console script's run; ends the process with the exit code."""
    if "_QMD_COMPLETE" in os.environ:
        app.main()
    code = run(app, sys.argv[1:])
    # Everything is closed and flushed. Taking the interpreter apart would cost a search a seventh of its
    # time, and would wait for what was given up (a deadline, Ctrl-C).
    os._exit(code)

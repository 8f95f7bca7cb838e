"""`store`: where the index is kept."""

from __future__ import annotations

import click

from qmd.cli.command import Command, Group, help_alone
from qmd.cli.progress import Bar
from qmd.cli.session import Session, pass_session
from qmd.cli.terminal import say
from qmd.text.wording import plural

#: Stands for the store in use.
_HERE = "."


@click.group("store", cls=Group)
@click.pass_context
def store(ctx: click.Context) -> None:
    """Move an index between stores: a SQLite file, or a Milvus that several machines share.

    `qmd status` says which one is in use; `--store`, QMD_STORE or `store:` in index.yml name another.

    \b
    Example:
      qmd store copy . milvus://localhost:19530/notes
    """
    help_alone(ctx)


@store.command("copy", cls=Command)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@pass_session
def copy(session: Session, source: str, target: str) -> None:
    """Copy everything in a store to another: documents, vectors, answers of models. Nothing is embedded.

    FROM and TO are addresses or paths of index files; '.' is the store in use. What TO has already is left as
    it is, so a copy that was interrupted goes on. In the end both are compared.

    \b
    Examples:
      qmd store copy . milvus://localhost:19530/notes
      qmd store copy milvus:///srv/notes.db ~/notes.sqlite
    """
    index = session.index
    in_use = index.status().index
    places = [in_use if each == _HERE else each for each in (source, target)]
    with Bar("Copying", quiet=session.quiet) as bar:
        report = index.copy_store(
            *places, on_progress=lambda what, done, total: bar.update(done, total, label=what)
        )
    say(
        f"Copied {plural(report.documents, 'document')} and {plural(report.chunks, 'chunk')}; both hold "
        f"{plural(report.total_documents, 'document')} and {plural(report.total_chunks, 'chunk')} now."
    )

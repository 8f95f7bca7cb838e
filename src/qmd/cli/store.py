"""`store`: copy the index between stores."""

from __future__ import annotations

import click

from qmd.cli.command import Command, Group, help_alone
from qmd.cli.progress import Bar
from qmd.cli.session import Session, pass_session
from qmd.cli.terminal import say
from qmd.text.wording import plural

#: Means the store in use.
_IN_USE = "."


@click.group("store", cls=Group)
@click.pass_context
def store(ctx: click.Context) -> None:
    """Copy an index between stores: a SQLite file, or a Milvus server that several machines share.

    'qmd status' shows the store in use. To use another, set --store, QMD_STORE, or 'store:' in index.yml.

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
    """Copy documents, vectors and cached model results from one store to another, without embedding again.

    FROM and TO are addresses or paths of index files; '.' is the store in use. Documents that TO already has
    are skipped, so an interrupted copy can be run again. At the end the two stores are compared.

    \b
    Examples:
      qmd store copy . milvus://localhost:19530/notes
      qmd store copy milvus:///srv/notes.db ~/notes.sqlite
    """
    index = session.index
    in_use = index.status().index
    stores = [in_use if name == _IN_USE else name for name in (source, target)]
    with Bar("Copying", quiet=session.quiet) as bar:
        report = index.copy_store(
            *stores, on_progress=lambda step, done, total: bar.update(done, total, label=step)
        )
    say(
        f"Copied {plural(report.documents, 'document')} and {plural(report.chunks, 'chunk')}; both have "
        f"{plural(report.total_documents, 'document')} and {plural(report.total_chunks, 'chunk')}."
    )

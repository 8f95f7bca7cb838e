"""Look after the index: `status`, `cleanup`, `backup`, `restore` and `store`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from qmd.cli.collections import collection_lines, state_rows
from qmd.cli.command import command, group
from qmd.cli.options import all_formats, argument, chosen_format, collection_option, flag, json_option, option
from qmd.cli.progress import Bar
from qmd.cli.session import Session
from qmd.cli.show import show_json, show_listing
from qmd.cli.terminal import (
    ask_secret,
    can_ask,
    clean_name,
    columns,
    one_line,
    say,
)
from qmd.cli.usage import fail
from qmd.text.wording import human_size, local_time, plural

if TYPE_CHECKING:
    from qmd.engine.upkeep.backup import Backup
    from qmd.engine.upkeep.status import Status, VectorsStatus

_ROLES = {"embed": "Embedding", "rerank": "Reranking", "expand": "Expansion"}


@command(agents=True)
@all_formats
def status(session: Session) -> None:
    """Show the size and age of the index, texts without vectors, and the models in use.

    JSON has all of it; the other formats for programs list the collections.

    Examples:
      qmd status
      qmd status --json
      qmd status --csv
    """
    status = session.index.status()
    if chosen_format() == "json":
        values = {name: getattr(status, name) for name in status.__struct_fields__}
        show_json(values | {"models": dict(status.models), "watching": status.watching})
        return
    if chosen_format() != "cli":
        from qmd.engine.upkeep.status import CollectionStatus

        show_listing("collections", "collection", CollectionStatus.__struct_fields__, status.collections)
        return
    notes = [("-", one_line(note)) for note in status.notes if note not in session.index.notes]
    for title, rows in {**_status_rows(status, embeds=session.is_embedding()), "Notes": notes}.items():
        if rows:
            indent = "  " if title else ""
            lines = columns([(label, session.addressed(text)) for label, text in rows])
            say(title or "QMD Status\n", *(indent + line for line in lines), "")
    if status.collections or status.portable:
        say("Collections")
    else:
        say("No collections yet.", session.addressed("Add one with: qmd add PATH"))
    for at, each in enumerate(status.collections):
        text = _watched(status, each.name)
        path = "" if status.portable else clean_name(each.path)
        rows = [("Path:", path), ("Size:", human_size(each.bytes)), ("Watched:", text)]
        lines = collection_lines(each, [*state_rows(each), *rows])
        say(*([""] if at else []), *(f"  {line}" for line in lines))


def _watched(status: Status, name: str) -> str:
    """Return how a collection is watched; "" if it is not, or as most are."""
    watched = None if status.watcher is None else status.watcher.collections.get(name)
    if watched is None or watched.mode == "events":
        return ""
    when = f", last {local_time(watched.checked)}" if watched.checked else ""
    return one_line(f"{watched.mode}{when}: {watched.reason}")


def _status_rows(status: Status, *, embeds: bool) -> dict[str, list[tuple[str, str]]]:
    """Return the rows of labels and texts by their titles."""
    head = [("Index:", clean_name(status.index))]
    if status.size or "://" not in status.index:  # a server says nothing of its size
        head.append(("Size:", human_size(status.size) if status.size else "not created yet"))
    if not status.portable:
        head.append(("Config:", clean_name(status.config)))
    models = [(f"{_ROLES[role]}:", clean_name(name)) for role, name in status.models]
    rows = [*_document_rows(status), *_vector_rows(status, embeds=embeds)]
    return {"": head, "Documents": rows, "Models": [*models, ("Ranking:", status.ranking)]}


def _document_rows(status: Status) -> list[tuple[str, str]]:
    rows = [
        ("Total:", f"{status.total_documents} {'file' if status.total_documents == 1 else 'files'} indexed"),
        ("Updated:", local_time(status.last_updated) if status.last_updated else "never"),
    ]
    if status.dates:
        from qmd.engine.documents.dated import ORIGINS

        told = [f"{count} {ORIGINS.get(origin, origin)}" for origin, count in status.dates.items()]
        rows.append(("Dated:", ", ".join(told)))
    if status.languages:
        told = [f"{count} {language}" for language, count in status.languages.items()]
        rows.append(("Languages:", ", ".join(told)))
    watcher = status.watcher
    if watcher is not None:
        state = "up to date" if watcher.current else "indexing changes"
        folders = plural(watcher.folders, "folder")
        rows.append(("Watched:", f"by {watcher.command} (process {watcher.pid}), {folders}, {state}"))
    return rows


def _vector_rows(status: Status, *, embeds: bool) -> list[tuple[str, str]]:
    vectors = [_vectors(each) for each in status.vectors]
    if not any(each.current for each in status.vectors):
        vectors.insert(0, "none")
    rows = [("" if at else "Vectors:", line) for at, line in enumerate(vectors)]
    if status.needs_embedding:
        others = any(each.current and not each.configured for each in status.vectors)
        by = " by the configured model" if others else ""
        todo = "they are being made" if embeds else "run 'qmd embed'"
        state = "" if status.portable else f": {todo}"
        rows.append(("Pending:", f"{status.needs_embedding} need embedding{by}{state}"))
    return rows


def _vectors(vectors: VectorsStatus) -> str:
    made = f"{vectors.chunks} embedded chunks by {clean_name(vectors.model)}"
    if vectors.current and vectors.configured:
        return made
    if vectors.current:
        return f"{made}, used until 'qmd embed' has made all vectors by the configured model"
    if vectors.configured:
        return f"{made}, not used yet: {int(100 * vectors.share)}% of the texts"
    return f"{made}, made for other settings: not used"


@command()
@flag("--dry-run", help="Show what would be deleted, and change nothing.")
@json_option
def cleanup(session: Session, dry_run: bool) -> None:
    """Delete unused data and shrink the index file.

    This deletes cached model results, texts and vectors without documents, vectors by unused models, models
    prepared by other versions, and free space. Your files are not changed.

    Examples:
      qmd store compact --dry-run
      qmd store compact
    """
    with Bar("Cleaning", session) as bar:
        report = session.index.cleanup(dry_run=dry_run, on_step=bar.step)
    if chosen_format() == "json":
        show_json(report)
        return
    rows = [
        (f"{item.count:,}", item.description, human_size(item.bytes) if item.bytes else "")
        for item in report.items
    ]
    if not report.items:
        outcome = "Nothing to clean."
    elif report.dry_run:
        outcome = f"Nothing was changed. 'qmd store compact' would free about {human_size(report.freed)}."
    else:
        outcome = f"Freed {human_size(report.freed)}; the index takes {human_size(report.size)}."
    say(*columns(rows, right=frozenset({0, 2})), session.addressed(outcome))
    session.note(*report.notes)


@command()
@argument("file", "[FILE]", "files")
@flag("--portable", help="Write a file for other machines, to be read with --index-file.")
@collection_option("With --portable: copy only this collection (may be repeated).")
@flag("--without-texts", help="With --portable: leave out the texts; documents are found, but not shown.")
@flag(
    "--encrypt", help="With --portable: encrypt with a passphrase, which is asked for or in QMD_PASSPHRASE."
)
@option(
    "--recipient KEY",
    None,
    "With --portable: encrypt the file for this age recipient or public SSH key (may be repeated).",
    to="recipients",
    multiple=True,
)
@flag("-f", "--force", help="Replace an existing file.")
def backup(session: Session, file: str | None, portable: bool, force: bool, **options: Any) -> None:
    """Copy the index and its index.yml to one file. The index can be used meanwhile.

    If FILE is missing or a folder, the file is named qmd-NAME-DATE-TIME.sqlite. It is made in the current
    folder, or in the folder of qmd's cache if the current one is indexed. The copy is checked before it gets
    its name. Only you can read it, because it contains the text of your documents.

    With --portable the file is for other machines and people, who search it with 'qmd --index-file FILE'. It
    names no folder of this machine, and cannot be restored.

    Examples:
      qmd store backup
      qmd store backup /mnt/backups/
      qmd store backup --force notes.sqlite
      qmd store backup --portable -c handbook handbook.qmd
      qmd store backup --portable --encrypt notes.qmd.age
    """
    session.folder()
    if portable:
        _export(session, file, force, options)
        return
    session.refuse(options, "--portable")
    with Bar("Copying", session) as bar:
        made = session.index.backup(file, force=force, on_pages=bar.pages)
    say(f"{one_line(made.path)}: {_contents(made)}, {human_size(made.size)}.")


def _export(session: Session, file: str | None, force: bool, options: dict[str, Any]) -> None:
    passphrase = None
    if options["encrypt"] and not options["recipients"]:
        passphrase = os.environ.get("QMD_PASSPHRASE") or _new_passphrase()
    with Bar("Copying", session) as bar:
        made = session.index.export(
            file,
            options["collections"],
            texts=not options["without_texts"],
            passphrase=passphrase,
            recipients=options["recipients"],
            force=force,
            on_progress=bar.step,
        )
    vectors = f"{plural(made.chunks, 'vector')} by {clean_name(made.embedder)}"
    parts = [
        plural(made.documents, "document"),
        plural(len(made.collections), "collection"),
        vectors if made.embedder else "no vectors",
        "" if made.texts else "no texts",
        "encrypted" if made.encrypted else "",
    ]
    say(f"{one_line(made.path)}: {', '.join(filter(None, parts))}, {human_size(made.size)}.")


def _new_passphrase() -> str:
    if not can_ask():
        fail("--encrypt needs a terminal to ask for a passphrase: set QMD_PASSPHRASE, or name a --recipient")
    return ask_secret("Passphrase", twice=True)


@command()
@argument("file", "FILE", "files")
@flag("--config", help="Also replace an existing index.yml.")
@flag("-f", "--force", help="Replace a file that is not recognised as an index.")
def restore(session: Session, file: str, config: bool, force: bool) -> None:
    """Replace the index with a backup.

    The backup is checked first. The old index stays next to the restored one, and can be restored too.
    index.yml is restored if it is missing, or with --config.

    Examples:
      qmd store restore qmd-index-20261122-081500.sqlite
      qmd store restore --config notes.sqlite
      qmd --index work restore work.sqlite
    """
    from qmd.engine.upkeep.backup import restore

    session.folder()
    with Bar("Restoring", session) as bar:
        done = restore(
            session.index_name, file, store=session.store, config=config, force=force, on_pages=bar.pages
        )
    since = f", as of {local_time(done.backup.created)}" if done.backup.created else ""
    say(f"Restored {one_line(done.index)}: {_contents(done.backup)}{since}.")
    if done.config:
        say(f"Restored {one_line(done.config)}.")
    session.note(*(f"the old file is now {path}" for path in done.replaced), *done.notes)
    session.note("run 'qmd update' to find files that have changed since")


@group("store")
def store() -> None:
    """Compact, back up, restore, migrate and copy the index.

    The store is a SQLite file, or a Milvus server that several machines share; 'qmd status' shows which one.
    To use another, set --store, QMD_STORE, or 'store:' in index.yml.

    Examples:
      qmd store compact
      qmd store backup /media/disk/qmd
      qmd store copy . milvus://localhost:19530/notes
    """


@store.command("copy")
@argument("source", "FROM")
@argument("target", "TO")
def copy(session: Session, source: str, target: str) -> None:
    """Copy documents, vectors and cached model results from one store to another, without embedding again.

    FROM and TO are addresses or paths of index files; '.' is the store in use. Documents that TO already has
    are skipped, so an interrupted copy can be run again. At the end the two stores are compared.

    Examples:
      qmd store copy . milvus://localhost:19530/notes
      qmd store copy milvus:///srv/notes.db ~/notes.sqlite
    """
    index = session.index
    in_use = index.status().index
    stores = [in_use if name == "." else name for name in (source, target)]
    with Bar("Copying", session) as bar:
        report = index.copy_store(*stores, on_progress=bar.step)
    say(
        f"Copied {plural(report.documents, 'document')} and {plural(report.chunks, 'chunk')}; both have "
        f"{plural(report.total_documents, 'document')} and {plural(report.total_chunks, 'chunk')}."
    )


def _contents(made: Backup) -> str:
    parts = [plural(made.documents, "document"), f"{made.vectors:,} vectors"]
    return ", ".join([*parts, "index.yml"] if made.config else parts)

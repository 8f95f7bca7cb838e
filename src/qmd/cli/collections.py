"""`collection`: add, list, show and change collections."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias

from qmd.agents import having, title
from qmd.cli import approval
from qmd.cli.command import group
from qmd.cli.indexing import INTERRUPTED, collections_above, collections_inside, hint_to_embed, show_report
from qmd.cli.options import all_formats, argument, chosen_format, combined, decimal, flag, half_life, option
from qmd.cli.progress import Bar
from qmd.cli.session import NO_COLLECTIONS, Session
from qmd.cli.show import show_json, show_listing, show_steps
from qmd.cli.terminal import BOLD, can_ask, clean_name, columns, one_line, painted, say, shell_words
from qmd.cli.usage import fail
from qmd.errors import ConflictError, UsageError
from qmd.sources.paths import is_inside
from qmd.text.wording import local_time, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.engine.indexing.scan import ScanReport
    from qmd.engine.upkeep.status import CollectionStatus
    from qmd.types import Collection

ALIASES = {
    "rm": "remove",
    "mv": "rename",
    "info": "show",
    "set-update": "update-cmd",
    "edit": "set",
    "change": "set",
}
*_AGENTS, _LAST = (title(name) for name in having("sessions"))
#: Labels and texts.
Rows: TypeAlias = "Sequence[tuple[str, str]]"


#: The columns of a listing.
_COLUMNS = (
    *("name", "path", "pattern", "formats", "ignore", "encoding", "update"),
    *("include_by_default", "weight", "recency"),
    *("documents", "bytes", "last_updated", "context", "agents", "gitignore", "language"),
)


def _formats(value: str) -> list[str]:
    return value.split(",")


#: Which files a collection has, and how they are read; the names are those of `Index.change_collection`.
selecting_options = combined(
    option(
        "--mask, --pattern, --glob GLOB",
        None,
        "Index the files that match; use commas or braces for alternatives.  "
        "[default: **/*.md, or the files of the --formats]",
        to="pattern",
    ),
    option(
        "--formats LIST",
        _formats,
        "Read these formats, such as pdf,docx,text, or all.  "
        "[default: what --mask selects; binary files in their format, other files as Markdown]",
    ),
    option("--ignore GLOB", None, "Do not index the files that match (may be repeated).", multiple=True),
    flag(
        "--gitignore/--no-gitignore",
        help="Leave out the files that git ignores.  [default: in a work tree of git]",
        default=None,
    ),
    flag(
        "--ocr/--no-ocr",
        help="Recognize the text in pictures and scanned pages, by 'qmd ocr'.",
        default=None,
    ),
    option("--encoding E", None, "The encoding of files that are not UTF-8, such as gb18030."),
    option(
        "--language L", None, "The language of the texts, such as de.  [default: what each is found to be in]"
    ),
)
#: The folder to add, and how it is indexed.
adding_options = combined(
    argument("path", "[PATH]", "folders"),
    option("--name N", None, "Name the collection N.  [default: the folder's name]"),
    selecting_options,
    flag("--sessions", help=f"Add sessions and memories of {', '.join(_AGENTS)} and {_LAST} that are here."),
    flag("-y", "--yes", help="Do not ask."),
)


@group(aliases=ALIASES)
def collection() -> None:
    """Add, list, show and change collections: the folders that are indexed.

    Examples:
      qmd collection add ~/notes
      qmd collection list
    """


@collection.command()
@adding_options
def add(session: Session, /, path: str | None, name: str | None, yes: bool, **options: Any) -> None:
    """Add a folder as a collection, and index it. PATH is the current folder if it is not given.

    Examples:
      qmd collection add ~/notes --name notes
      qmd collection add ~/code/app --mask '**/*.{md,txt}' --ignore 'drafts/**'
      qmd collection add ~/papers --formats all
      qmd collection add --sessions
    """
    if options.pop("sessions"):
        index_sessions(session, path, name, options)
        return
    report = index_folder(session, path, name, options, yes=yes)
    if report is not None and (report.added or report.unchanged):
        _next_steps(session, report.collection)


def index_folder(
    session: Session, path: str | None, name: str | None, options: dict[str, Any], *, yes: bool
) -> ScanReport | None:
    """Add a folder as a collection, index it and show the numbers of its files; None if a person says no."""
    folder = "." if path is None else path
    if not (yes or _is_meant(session, path)):
        return None
    with Bar("Indexing", session, INTERRUPTED) as bar:
        report = session.index.add_collection(folder, name, **given(options), on_progress=bar.files)
    added = session.index.collection(report.collection)
    place = f"{clean_name(added.path)} ({clean_name(added.selection)})"
    say(f"Added collection '{clean_name(added.name)}': {place}")
    show_report(report)
    if above := collections_above(session, folder):
        session.note(f"{added.path} is a folder of {_named(above)} as well: its documents are found in both")
    _note_nothing(session, report)
    return report


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the `selecting_options` that are given."""
    return {name: value for name, value in options.items() if value not in (None, ())}


def _is_meant(session: Session, path: str | None) -> bool:
    """Ask a person whether a folder that was not named, or that has everything, is to be added.

    Without a terminal, the current folder is added unless it has collections already.
    """
    folder = os.path.realpath(os.path.join(session.folder(), os.path.expanduser(path or ".")))
    home = os.path.realpath(os.path.expanduser("~"))
    inside = collections_inside(session, folder)
    within = f" with {_named(inside)} in it, whose documents will be found twice" if inside else ""
    is_wide = is_inside(home, folder)
    if not is_wide and path is not None:
        session.note(*[f"{path} is a folder{within}"] * bool(inside))
        return True
    kind = "the current folder"
    if is_wide:
        kind = "your home folder" if folder == home else "a folder above your home folder"
    if not can_ask():
        if is_wide or inside:
            raise UsageError(f"{folder} is {kind}{within}", "name a folder in it, or add --yes")
        return True
    return bool(approval.confirm(f"{clean_name(folder)} is {kind}{within}. Add it?"))


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"'{clean_name(each)}'" for each in names)


def _note_nothing(session: Session, report: ScanReport) -> None:
    """Say that a collection has no files, if nothing has said why."""
    if not (report.added or report.updated or report.unchanged or report.problems or report.waiting):
        empty = session.index.collection(report.collection)
        told = any(notice.startswith("left out") for notice in report.notices)
        command = "" if told else f": qmd collection set {shell_words(empty.name)} --mask GLOB"
        session.note(f"no file in {empty.path} matches {empty.selection}{command}")


def change(session: Session, name: str, new_name: str | None, options: dict[str, Any], *, ask: bool) -> Any:
    """Change a collection, say what, and index it; return the report, or None if a person says no."""
    from qmd.engine.configuring import SELECTING, selecting

    existing, chosen = session.index.collection(name), given(options)
    changed = selecting(existing, **chosen)
    rows = [
        (f"  {field}:", f"{_setting(existing, field)} -> {_setting(changed, field)}")
        for field in SELECTING
        if getattr(existing, field) != getattr(changed, field)
    ]
    if new_name not in (None, existing.name):
        rows.insert(0, ("  name:", f"{existing.name} -> {one_line(new_name or '')}"))
    if rows:
        say(
            f"Collection '{clean_name(existing.name)}' ({clean_name(existing.path)}) changes:", *columns(rows)
        )
        if ask and not can_ask():
            raise ConflictError(f"Collection '{existing.name}' exists already.", "add --yes to change it")
        if ask and not approval.confirm("Change it?"):
            return None
    with Bar("Indexing", session, INTERRUPTED) as bar:
        report = session.index.change_collection(name, new_name=new_name, **chosen, on_progress=bar.files)
    show_report(report)
    _note_nothing(session, report)
    return report


def _setting(collection: Collection, field: str) -> str:
    value = getattr(collection, field)
    value = ", ".join(value) if isinstance(value, tuple) else "on" if value is True else value
    return clean_name(str(value or "none"))


@collection.command("set")
@argument("name", "NAME", "collections")
@option("--name N", None, "Name the collection N from now on.", to="new_name")
@selecting_options
def set_(session: Session, name: str, new_name: str | None, **options: Any) -> None:
    """Change which files a collection has, how they are read, or its name, and index it.

    What is not given stays as it is. --ignore replaces all that was ignored; '' takes a setting away.

    Examples:
      qmd collection set notes --mask '**/*.{md,txt}'
      qmd collection set notes --formats markdown,text --ignore 'drafts/**' --ignore '*.tmp.md'
      qmd collection set notes --ignore '' --formats ''
      qmd collection set notes --name notes
    """
    if new_name is None and not given(options):
        fail("nothing to change: give --name, --mask, --formats, --ignore or another option")
    report = change(session, name, new_name, options, ask=False)
    if report.added or report.updated:
        hint_to_embed(session)


def index_sessions(
    session: Session, path: str | None, name: str | None, options: dict[str, Any]
) -> list[ScanReport]:
    """Add the folders of sessions and memories that exist, and say which; return the scans of new ones."""
    if path is not None or name is not None or given(options):
        fail("--sessions finds the folders itself: it takes no folder and no other options")
    with Bar("Indexing", session) as bar:
        folders = session.index.add_sessions(bar.files)
    for folder in folders:
        place = f"{folder.agent}: {clean_name(folder.path)}"
        if not folder.collection:
            say(f"Not found: {place}")
        elif folder.report is None:
            say(f"Unchanged: collection '{clean_name(folder.collection)}' has {place}")
        else:
            say(f"Added collection '{clean_name(folder.collection)}': {place}")
            show_report(folder.report)
    reports = [folder.report for folder in folders if folder.report is not None]
    if not reports:
        say("Every folder of sessions and memories that exists is a collection already: nothing was added.")
    return reports


@collection.command("list", agents=True)
@all_formats
def list_(session: Session) -> None:
    """List the collections with their folders and numbers of files.

    Examples:
      qmd collection list
      qmd collection list --format csv
    """
    config = session.index.config.collections
    found = [(config[status.name], status) for status in session.index.collection_statuses()]
    lines = [f"Collections ({len(found)}):"]
    for item, status in found:
        state = state_rows(status)
        settings = [row for row in _rows(item, status) if row not in state and row[0] != "Include:"]
        lines += ["", *collection_lines(status, [*state, *settings])]
    _show(found, lines, session.addressed(NO_COLLECTIONS))


@collection.command(agents=True)
@argument("name", "NAME", "collections")
@all_formats
def show(session: Session, name: str) -> None:
    """Show one collection with its contexts.

    Example:
      qmd collection show notes
    """
    found = session.index.collection(name)
    status = next(each for each in session.index.collection_statuses() if each.name == found.name)
    if chosen_format() == "json":
        show_json(_row(found, status))
        return
    contexts = (
        f"  Context of {clean_name(prefix) or 'the whole collection'}: {one_line(text)}"
        for prefix, text in found.context.items()
    )
    rows = columns(("  " + label, text) for label, text in _rows(found, status) if text)
    _show([(found, status)], [f"Collection: {painted(clean_name(found.name), BOLD)}", *rows, *contexts])


@collection.command()
@argument("name", "NAME", "collections")
def remove(session: Session, name: str) -> None:
    """Remove a collection from the index; its files stay on disk.

    Example:
      qmd collection remove notes
    """
    removed = session.index.remove_collection(name)
    say(f"Removed collection '{clean_name(name)}' ({plural(removed, 'document')}); its files stay on disk.")


@collection.command()
@argument("old", "OLD", "collections")
@argument("new", "NEW")
def rename(session: Session, old: str, new: str) -> None:
    """Give a collection a new name.

    Example:
      qmd collection rename notes diary
    """
    session.index.rename_collection(old, new)
    name = clean_name(new)
    say(f"Renamed collection '{clean_name(old)}' to '{name}': its addresses are qmd://{name}/...")


@collection.command()
@argument("name", "NAME", "collections")
def include(session: Session, name: str) -> None:
    """Include a collection in searches that name no collection.

    Example:
      qmd collection include notes
    """
    session.index.configure(name, include_by_default=True)
    say(f"Collection '{clean_name(name)}' is searched by default.")


@collection.command()
@argument("name", "NAME", "collections")
def exclude(session: Session, name: str) -> None:
    """Exclude a collection from searches that do not name it with -c.

    Example:
      qmd collection exclude archive
    """
    session.index.configure(name, include_by_default=False)
    say(f"Collection '{clean_name(name)}' is searched only when named: -c {shell_words(name)}")


@collection.command()
@argument("name", "NAME", "collections")
@argument("number", "N", kind=decimal(0.01, 100))
def weight(session: Session, name: str, number: float) -> None:
    """Set how much a collection counts in searches, relative to the others, which count 1.

    The odds of a score are multiplied by N, divided by the highest weight of the collections that are
    searched together. --explain shows it.

    Examples:
      qmd collection weight archive 0.5
      qmd collection weight notes 1
    """
    session.index.configure(name, weight=number)
    say(f"Collection '{clean_name(name)}' has the weight {number:g}.")


@collection.command()
@argument("name", "NAME", "collections")
@argument("half_life", "TIME", kind=half_life)
def recency(session: Session, name: str, half_life: float | None) -> None:
    """Let the date of a collection's documents count in every search; see --recent of 'qmd search'.

    TIME is a half-life such as 30d, 8w, 6m or 1y. With 'off' the date does not count, and 'default' leaves it
    to the key 'recency' of the whole index.

    Examples:
      qmd collection recency journal 30d
      qmd collection recency handbook off
    """
    session.index.configure(name, recency=half_life)
    text = "counts as in the whole index"
    if half_life is not None:
        text = f"counts with a half-life of {half_life:g} days" if half_life else "does not count"
    say(f"The date of documents in '{clean_name(name)}' {text}.")


@collection.command()
@argument("name", "NAME", "collections")
@argument("access", "on|off", kind=("on", "off"))
def agents(session: Session, name: str, access: str) -> None:
    """Let agents have the documents of a collection, or keep it from them altogether.

    Agents are those that ask over MCP, hooks, packs, and keys made with --agent. Single documents are kept
    from them by 'agents: false' in their front matter.

    Examples:
      qmd collection agents journal off
      qmd collection agents journal on
    """
    session.index.configure(name, agents=access == "on")
    state = "may be read by agents" if access == "on" else "is kept from agents"
    say(f"Collection '{clean_name(name)}' {state}.")


@collection.command()
@argument("name", "NAME", "collections")
@argument("reading", "on|off", kind=("on", "off"))
def gitignore(session: Session, name: str, reading: str) -> None:
    """Leave out the files of a collection that git ignores, or index them; 'qmd update' applies it.

    Examples:
      qmd collection gitignore notes off
      qmd collection gitignore notes on
    """
    session.index.configure(name, gitignore=reading == "on")
    state = "leaves out" if reading == "on" else "has"
    update = session.addressed(f"qmd update {shell_words(name)}")
    say(f"Collection '{clean_name(name)}' {state} the files that git ignores, after: {update}")


@collection.command("update-cmd", between=False)  # the options of another program may follow
@argument("name", "NAME", "collections")
@argument("words", "[CMD...]")
def update_command(session: Session, name: str, words: tuple[str, ...]) -> None:
    """Set the command that 'qmd update' runs in the folder before it scans; without CMD, remove it.

    A single quoted argument is a shell command line. Several words are one command and its arguments.

    Examples:
      qmd collection update-cmd notes git pull --ff-only
      qmd collection update-cmd notes 'git pull && make docs'
      qmd collection update-cmd notes
    """
    words = words[1:] if words[:1] == ("--",) else words
    if words and words[0].startswith("-"):
        fail(f"options come before the collection's name, and a command cannot begin with '{words[0]}'")
    command = words[0] if len(words) == 1 else shell_words(*words)
    session.index.configure(name, update=command)
    if command.strip():
        prefix = f"'qmd update' first runs this in the folder of '{clean_name(name)}'"
        say(f"{session.addressed(prefix)}: {one_line(command)}")
    else:
        say(session.addressed(f"'qmd update' runs no command for '{clean_name(name)}'."))


def _next_steps(session: Session, name: str) -> None:
    steps = [(f'qmd search "..." -c {shell_words(name)}', "search by keyword")]
    if session.watcher() is None or session.index.collection(name).embed == "manual":
        steps.append(("qmd embed", "make vectors, so that vsearch and query work"))
    steps.append((f'qmd context add {shell_words(f"qmd://{name}")} "..."', "describe these documents"))
    show_steps(session, *steps)


def _rows(collection: Collection, status: CollectionStatus) -> Rows:
    """Return the settings of a collection, with its state."""
    recency = f"half-life {collection.recency:g} days" if collection.recency else "off"
    return [
        ("Path:", clean_name(collection.path)),
        *state_rows(status),
        ("Include:", "yes (default)" if status.include_by_default else "no (searched only when named)"),
        ("Formats:", clean_name(", ".join(collection.formats))),
        ("Ignore:", clean_name(", ".join(collection.ignore))),
        ("Gitignore:", "on" if collection.gitignore else ""),
        ("OCR:", "on" if collection.ocr else ""),
        ("Encoding:", collection.encoding or ""),
        ("Language:", collection.language or ""),
        ("Update:", one_line(collection.update or "")),
        ("Weight:", f"{collection.weight:g}" if collection.weight != 1 else ""),
        ("Recency:", "" if collection.recency is None else recency),
    ]


def state_rows(status: CollectionStatus) -> Rows:
    """Return the pattern of a collection and what it holds. Programs read these rows in this order."""
    updated = local_time(status.last_updated) if status.last_updated else "never"
    return [
        ("Pattern:", clean_name(status.pattern)),
        ("Files:", f"{status.documents} (updated {updated})"),
        ("Contexts:", str(status.contexts)),
    ]


def collection_lines(status: CollectionStatus, rows: Rows) -> list[str]:
    """Return a collection in lines: its name and address, then rows of labels and texts.

    Rows without a text are left out.
    """
    name = clean_name(status.name)
    note = "" if status.include_by_default else " [excluded]"
    note += "" if status.agents else " [kept from agents]"
    lines = columns((label, text) for label, text in rows if text)
    return [f"{painted(name, BOLD)} (qmd://{name}/){note}", *(f"  {line}" for line in lines)]


def _show(
    found: Sequence[tuple[Collection, CollectionStatus]], lines: Sequence[str], nothing: str = ""
) -> None:
    rows = [_row(*each) for each in found]
    right = ("documents", "bytes")
    show_listing("collections", "collection", _COLUMNS, rows, nothing, right=right, lines=lines)


def _row(collection: Collection, status: CollectionStatus) -> dict[str, Any]:
    sources = {name: status if hasattr(status, name) else collection for name in _COLUMNS}
    return {name: getattr(source, name) for name, source in sources.items()}

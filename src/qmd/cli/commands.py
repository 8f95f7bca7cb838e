"""The table of commands. It imports none of them, so that a run loads only the command it needs.

The commands of other packages are run like any other. The help lists only the built-in ones, because asking
all packages takes time. Names of earlier versions work, and stand for others that the help lists.
"""

from __future__ import annotations

from typing import TypeAlias

from qmd import features, plugins

#: By section of the help: (name, "module:object", short description), ...
Table: TypeAlias = dict[str, tuple[tuple[str, str, str], ...]]

#: The section of commands that the first help only names.
MORE = "More"

_CORE: Table = {
    "Search": (
        ("search", "qmd.cli.search:search", "Find documents by keyword (BM25); fast."),
        ("vsearch", "qmd.cli.search:vsearch", "Find documents by meaning (vectors)."),
        ("query", "qmd.cli.search:query", "Combine both and rerank; best results."),
        ("similar", "qmd.cli.search:similar", "Find documents that are similar to one."),
        ("mark", "qmd.cli.marks:mark", "Pin documents to a query, or mark them as good or bad."),
    ),
    "Read": (
        ("get", "qmd.cli.documents:get", "Print documents, sections, outlines, links or history."),
        ("ls", "qmd.cli.documents:ls", "List the collections, or the files in one."),
        ("links", "qmd.cli.fields:links", "List the links of a document, or those that lead nowhere."),
        ("fields", "qmd.cli.fields:fields", "List the fields of documents and their values."),
    ),
    "Index": (
        ("add", "qmd.cli.watch:add", "Add a folder: index it and make its vectors."),
        ("update", "qmd.cli.indexing:update", "Scan for changes, and make vectors."),
        ("watch", "qmd.cli.watch:watch", "Keep the index as the files are."),
        ("collection", "qmd.cli.collections:collection", "Add, list, show and change collections."),
        ("context", "qmd.cli.contexts:context", "Describe collections and folders."),
        ("status", "qmd.cli.upkeep:status", "Show the state of the index and its models."),
    ),
    "Serve": (
        ("open", "qmd.cli.server:open_", "Open the web page of the index, to search and read."),
        ("server", "qmd.cli.server:server", "Serve the HTTP API, the page, and agents."),
        ("mcp", "qmd.cli.server:mcp", "Serve an agent on stdin and stdout (MCP)."),
    ),
    MORE: (
        ("multi-get", "qmd.cli.documents:multi_get", "Print the documents of a glob or a list."),
        ("outline", "qmd.cli.fields:outline", "Show the headings of a document with their lines."),
        ("tags", "qmd.cli.fields:tags", "Show the tags of documents as a tree."),
        ("history", "qmd.cli.fields:history", "List the commits of a document in git."),
        ("index", "qmd.cli.indexing:index", "Scan all collections for changes, and no more."),
        ("embed", "qmd.cli.indexing:embed", "Make the missing vectors, and no more."),
        ("pull", "qmd.cli.models:pull", "Download missing models."),
        ("models", "qmd.cli.models:models", "Show which models are used and which are installed."),
        ("store", "qmd.cli.upkeep:store", "Compact, back up, restore, migrate and copy the index."),
        ("project", "qmd.cli.projects:project", "Make a project with its own index, and approve one."),
        ("init", "qmd.cli.projects:init", "The same as 'qmd project init'."),
        ("cleanup", "qmd.cli.upkeep:cleanup", "The same as 'qmd store compact'."),
        ("completion", "qmd.cli.completion:completion", "Print a completion script for the shell."),
        ("help", "qmd.cli.app:help_", "Show the help of a command."),
    ),
}
#: Older names, each with the words that it stands for. They work, and no help lists them.
OLDER = {
    "vector-search": "vsearch",
    "deep-search": "query",
    "pin": "mark pin",
    "unpin": "mark remove --pin",
    "unmark": "mark remove --mark",
    "marks": "mark list",
    "trust": "project trust",
    "backup": "store backup",
    "restore": "store restore",
    "keys": "server keys",
    **features.OLDER_COMMANDS,
}
#: Commands within groups that are defined elsewhere. They run without loading the group.
_WITHIN = {
    "mark pin": "qmd.cli.marks:pin",
    "mark good": "qmd.cli.marks:good",
    "mark bad": "qmd.cli.marks:bad",
    "mark remove": "qmd.cli.marks:remove",
    "mark list": "qmd.cli.marks:marks",
    "store compact": "qmd.cli.upkeep:cleanup",
    "store backup": "qmd.cli.upkeep:backup",
    "store restore": "qmd.cli.upkeep:restore",
    "server keys": "qmd.cli.keys:keys",
    "server install": "qmd.cli.watch:install",
    "server uninstall": "qmd.cli.watch:uninstall",
    "project init": "qmd.cli.projects:init",
    "project trust": "qmd.cli.projects:trust",
}


def _with_features(table: Table) -> Table:
    """Return the table with the commands of features, each after the command that its row names."""
    sections = {section: [*rows] for section, rows in table.items()}
    for name, target, section, before, description in features.commands():
        rows = sections[section]
        at = next((at for at, row in enumerate(rows, 1) if row[0] == before), len(rows))
        rows.insert(at, (name, target, description))
    return {section: tuple(rows) for section, rows in sections.items()}


COMMANDS = _with_features(_CORE)
#: Commands that use no index, or only the index of the current folder's project.
WITHOUT_INDEX = frozenset({"completion", "help", "init", "project", *features.WITHOUT_INDEX})
#: Commands that work with `--index-file`: they read, or concern a server of the file.
WITH_INDEX_FILE = frozenset(
    {
        *(
            "search",
            "vsearch",
            "query",
            "similar",
            "pack",
            "grep",
            "pick",
            "get",
            "multi-get",
            "ls",
            "outline",
            "links",
        ),
        *("fields", "tags", "cite check", "status", "collection list", "collection show", "context list"),
        *("qmd", "help", "completion"),
        *("mcp", "mcp install", "mcp uninstall", "mcp stop", "open"),
        *("server", "server status", "server stop"),
        *(f"server keys {name}" for name in ("add", "list", "remove")),
    }
)


def names(table: Table = COMMANDS) -> list[str]:
    """Return the names of commands that a help lists."""
    return [name for rows in table.values() for name, _, _ in rows]


_TARGETS = {name: target for rows in COMMANDS.values() for name, target, _ in rows} | _WITHIN
LOADABLE = plugins.Table("qmd.commands", _TARGETS, "qmd.cli.foreign:KINDS")
#: All commands that run without loading their group.
WITHIN = tuple(name for name in LOADABLE.builtin if " " in name)

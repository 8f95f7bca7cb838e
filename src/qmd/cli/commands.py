"""The table of commands. It imports none of them, so that a run loads only the command it needs.

The commands of other packages are run like any other. The help lists only the built-in ones, because asking
all packages takes time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from qmd import features, plugins

#: By section of the help: (name, "module:object", short description), ...
Table: TypeAlias = dict[str, tuple[tuple[str, str, str], ...]]

_CORE: Table = {
    "Search": (
        ("search", "qmd.cli.search:search", "Find documents by keyword (BM25); fast."),
        ("vsearch", "qmd.cli.search:vsearch", "Find documents by meaning (vectors)."),
        ("query", "qmd.cli.search:query", "Combine both and rerank; best results."),
        ("similar", "qmd.cli.search:similar", "Find documents that are similar to one."),
        ("why", "qmd.cli.why:why", "Explain why a document is in the results, or why not."),
        ("pin", "qmd.cli.marks:pin", "Show a document first in searches for a query."),
        ("unpin", "qmd.cli.marks:unpin", "Remove pins."),
        ("mark", "qmd.cli.marks:mark", "Mark a document as a good or bad result of a query."),
        ("unmark", "qmd.cli.marks:unmark", "Remove marks."),
        ("marks", "qmd.cli.marks:marks", "List the pins and marks."),
    ),
    "Read": (
        ("get", "qmd.cli.documents:get", "Print a document, or some of its lines."),
        ("multi-get", "qmd.cli.documents:multi_get", "Print the documents of a glob or a list."),
        ("ls", "qmd.cli.documents:ls", "List the collections, or the files in one."),
        ("outline", "qmd.cli.fields:outline", "Show the headings of a document with their lines."),
        ("history", "qmd.cli.fields:history", "List the commits of a document in git."),
        ("links", "qmd.cli.fields:links", "List the links of a document, or those that lead nowhere."),
        ("fields", "qmd.cli.fields:fields", "List the fields of documents and their values."),
        ("tags", "qmd.cli.fields:tags", "Show the tags of documents as a tree."),
    ),
    "Collections": (
        ("add", "qmd.cli.watch:add", "Add a folder, index and embed it, in one step."),
        ("collection", "qmd.cli.collections:collection", "Add, list, show and change collections."),
        ("context", "qmd.cli.contexts:context", "Describe collections and folders."),
        ("init", "qmd.cli.projects:init", "Make the current folder a project with its own index."),
        ("trust", "qmd.cli.projects:trust", "Approve what a project's index.yml asks for."),
    ),
    "Index": (
        ("update", "qmd.cli.indexing:update", "Run update commands, then scan for changes."),
        ("index", "qmd.cli.indexing:index", "Scan all collections for changes."),
        ("embed", "qmd.cli.indexing:embed", "Make the missing vectors."),
        ("watch", "qmd.cli.watch:watch", "Keep the index as the files are."),
        ("status", "qmd.cli.upkeep:status", "Show the state of the index and its models."),
        ("models", "qmd.cli.models:models", "Show which models are used and which are installed."),
        ("pull", "qmd.cli.models:pull", "Download missing models."),
        ("doctor", "qmd.cli.upkeep:doctor", "Look for problems and suggest how to fix them."),
        ("cleanup", "qmd.cli.upkeep:cleanup", "Delete unused data and shrink the index."),
        ("backup", "qmd.cli.upkeep:backup", "Copy the index and its index.yml to one file."),
        ("restore", "qmd.cli.upkeep:restore", "Replace the index with a backup."),
        ("store", "qmd.cli.upkeep:store", "Copy the index to another store."),
    ),
    "Serve": (
        ("open", "qmd.cli.server:open_", "Open the web page of the index, to search and read."),
        ("mcp", "qmd.cli.server:mcp", "Serve AI agents over the Model Context Protocol."),
        ("server", "qmd.cli.server:server", "Serve the HTTP API, and agents over MCP."),
        ("keys", "qmd.cli.keys:keys", "Manage the keys of the server and their permissions."),
    ),
    "Shell": (
        ("completion", "qmd.cli.completion:completion", "Print a completion script for the shell."),
        ("help", "qmd.cli.app:help_", "Show the help of a command."),
    ),
}


def _with_features(table: Table) -> Table:
    """Return the table with the commands of features, each after the command that its row names."""
    sections = {section: [*rows] for section, rows in table.items()}
    for name, target, section, before, _, description in features.commands():
        rows = sections[section]
        at = next((at for at, row in enumerate(rows, 1) if row[0] == before), len(rows))
        rows.insert(at, (name, target, description))
    return {section: tuple(rows) for section, rows in sections.items()}


def _with_trait(trait: str) -> Iterator[str]:
    """Yield the commands of features that have a trait: `no-index` or `agents`."""
    return (name for name, _, _, _, traits, _ in features.commands() if trait in traits.split())


COMMANDS = _with_features(_CORE)
ALIASES = {"vector-search": "vsearch", "deep-search": "query"}
#: Commands that use no index, or only the index of the current folder's project.
WITHOUT_INDEX = frozenset({"completion", "help", "init", "trust", *_with_trait("no-index")})
#: Commands that work with `--index-file`: they read, or concern a server of the file.
WITH_INDEX_FILE = frozenset(
    {
        *("search", "vsearch", "query", "similar", "pack", "get", "multi-get", "ls", "outline", "links"),
        *("fields", "tags", "cite check", "status", "collection list", "collection show", "context list"),
        *("help", "completion"),
        *("mcp", "mcp install", "mcp uninstall", "mcp stop", "open"),
        *("server", "server status", "server stop", "keys add", "keys list", "keys remove"),
    }
)
#: Commands that print what documents say, and are for agents too: hints name them with `--agent`.
FOR_AGENTS = frozenset(
    {
        *("search", "vsearch", "query", "similar", "get", "multi-get", "ls", "outline", "history"),
        *("links", "fields", "tags", "marks", "collection", "context", "status"),
        *_with_trait("agents"),
    }
)


def names(table: Table = COMMANDS) -> list[str]:
    return [name for rows in table.values() for name, _, _ in rows]


_TARGETS = {name: target for rows in COMMANDS.values() for name, target, _ in rows}
LOADABLE = plugins.Table(
    "qmd.commands",
    _TARGETS | {alias: _TARGETS[name] for alias, name in ALIASES.items()},
    "qmd.cli.foreign:KINDS",
)
#: Commands of groups that features have. They run without loading the group.
WITHIN = tuple(name for name in LOADABLE.builtin if " " in name)

"""Checks of the program, of its environment variables, and of the packages that add to it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping
from functools import partial

from qmd._version import __version__
from qmd.config.settings import environment_settings
from qmd.engine.finding import Finding, attempt, ok, warning
from qmd.plugins import TABLES, Table, entries, load, package_of
from qmd.processes import python, start
from qmd.sources.formats import registry as formats  # noqa: F401 - enters its table
from qmd.store.sqlite.opening import probe
from qmd.text.similar import nearest

#: Every environment variable that the program reads.
VARIABLES = frozenset(
    """
    QMD_AGENT QMD_ALLOWED_HOSTS QMD_ALLOWED_ORIGINS QMD_ARCHIVE_DIR QMD_CONFIG_DIR QMD_EDITOR_URI
    QMD_EMBED_LEASE QMD_EMBED_MODEL QMD_GENERATE_MODEL QMD_IDENTITY QMD_INDEX_PATH QMD_KEEP_ALIVE
    QMD_MAX_RAM_MB QMD_MCP_TEXT_RESOURCES QMD_MILVUS_CA QMD_MILVUS_PASSWORD QMD_MILVUS_TLS
    QMD_MILVUS_TOKEN QMD_MILVUS_USER QMD_OPENAI_API_KEY QMD_PAGER QMD_PASSPHRASE QMD_RANKING
    QMD_REQUEST_TIMEOUT QMD_RERANK_MODEL QMD_SCORES QMD_SERVER_TIMEOUT QMD_SQLITE_BUSY_TIMEOUT
    QMD_STORE QMD_THREADS QMD_TRUST_LOCAL_CONFIG QMD_WATCH QMD_WINDOWS_MB
    """.split()
)


def versions() -> Iterator[Finding]:
    """Report the versions of Python and SQLite, and check SQLite's full-text search."""
    yield ok("python", f"qmd {__version__}, Python {platform.python_version()} on {sys.platform}")
    sqlite = yield from attempt("sqlite", probe)
    if sqlite is not None:
        yield ok("sqlite", f"{sqlite}, full-text search works")


def readers() -> Iterator[Finding]:
    """Report the confinement of processes that read other formats than text."""
    confined = start(python("qmd.sources.confinement")).wait() == 0
    if confined:
        yield ok("readers", "the system lets the processes that read PDF and other files do nothing but read")
    else:
        hint = "this system offers no more, so be careful with files of strangers"
        yield ok(
            "readers", "only Python and limits restrict the processes that read PDF and other files", hint
        )


def variables(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Report the variables that are set, and warn of unknown `QMD_` names."""
    for name, value in environment_settings(environ):
        if name in VARIABLES or not name.startswith("QMD_"):
            yield ok("environment", f"{name}={value}")
            continue
        close = nearest(name, VARIABLES)
        hint = f"did you mean {close}?" if close else f"qmd knows {', '.join(sorted(VARIABLES))}"
        yield warning("environment", f"{name} is set, but qmd does not know it", hint)


def plugins() -> Iterator[Finding]:
    """Load the parts of other packages, and warn of names that are taken."""
    for table in TABLES.values():
        yield from _plugins(table)


def _plugins(table: Table) -> Iterator[Finding]:
    used: dict[str, str] = dict.fromkeys(table.builtin, "qmd itself")
    for entry in (yield from attempt("plugins", lambda: entries(table.group))) or ():
        package = package_of(entry)
        if entry.name in used:
            message = f"{table.group}: '{entry.name}' of '{package}' is not used: {used[entry.name]} has it"
            yield warning("plugins", message, "uninstall the package, or ask its authors for another name")
            continue
        used[entry.name] = f"'{package}'"
        if (yield from attempt("plugins", partial(load, entry, table.kind))) is not None:
            yield ok("plugins", f"{table.group}: '{entry.name}' of '{package}'")

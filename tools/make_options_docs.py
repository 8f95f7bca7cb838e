"""Makes docs/options.md, the options and operations of every interface: `python tools/make_options_docs.py`.

An interface may lack an option only for a reason that stands here. Tests compare the page with this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from qmd.api.reading import fields_of
from qmd.api.table import TABLE, Operation
from qmd.cli.app import app
from qmd.engine.requests import FILTERS, NAMES, OPTIONS, SearchKind
from qmd.features.page.search import Asked

PAGE = Path(__file__).parent.parent / "docs" / "options.md"
KINDS: tuple[SearchKind, ...] = ("search", "vsearch", "query")
ROWS: Mapping[str, Operation] = {row.run.__name__: row for row in TABLE}
#: What the parameters of the page are called otherwise. It has no other options.
ON_PAGE = {"query": "query", "sort": "sort", "limit": "limit", "scores": "explain"}

COSTS = "every argument costs tokens in every session of an agent; filters can be typed in the query"
FOR_PEOPLE = "the page is for people: filters are typed or chosen, and the rest is as configured"
#: Why an interface lacks an option, by interface and option; "" stands for all others.
REASONS: Mapping[str, Mapping[str, str]] = {
    "command line": {"searches": "the query may have several lines, each with its type"},
    "HTTP": {},
    "MCP": {"": COSTS},
    "page": {"facets": "the page always shows facets, and more results on request", "": FOR_PEOPLE},
}
_TOP = """\
# Options of searches, and operations, by interface

What is described here once is the same everywhere: the options are fields of `SearchRequest` in
[Python](python.md), the defaults and limits are those of [HTTP](http.md), and `qmd search --help` explains
them for people. A dash has its reason below.
"""


def faces(kind: SearchKind) -> dict[str, set[str]]:
    """The options of a kind of search by interface."""
    tool = ROWS[kind].tool
    assert tool is not None
    command = app.get_command(click.Context(app), kind)
    assert command is not None
    typed = {str(param.name).removeprefix("no_") for param in command.params}
    unknown = {*Asked.__struct_fields__} - {*ON_PAGE, "mode", "typing"}
    assert not unknown, f"parameters of the page to be named here: {unknown}"
    return {
        "Python": {"query", *NAMES[kind]},
        "command line": typed - {"text"} | {"query"},
        "HTTP": {item.name for item in fields_of(ROWS[kind].arguments)},
        "MCP": {item.name for item in fields_of(tool.arguments)},
        "page": {*ON_PAGE.values()},
    }


def lacking() -> Iterator[tuple[str, str, str | None]]:
    """Each interface and option that it lacks in a kind of search that has it in Python, and the reason."""
    for option in options():
        for face, reasons in REASONS.items():
            kinds = [kind for kind in KINDS if option in faces(kind)["Python"]]
            if any(option not in faces(kind)[face] for kind in kinds):
                yield face, option, reasons.get(option, reasons.get(""))


def options() -> list[str]:
    # Those of `similar` alone are in docs/cli.md and docs/http.md.
    searched = {name for kind in KINDS for name in NAMES[kind]} | {"query"}
    described = [name for name in OPTIONS if name in searched and name not in FILTERS]
    return [*described[:1], *FILTERS, *described[1:]]


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    gaps = {(face, option): reason for face, option, reason in lacking()}
    reasons = [*dict.fromkeys(str(reason) for reason in gaps.values())]
    yield _TOP
    yield "## Options\n"
    yield "| option | of | Python | command line | HTTP | MCP | page |\n|---|---|---|---|---|---|---|"
    for option in options():
        kinds = [kind for kind in KINDS if option in faces(kind)["Python"]]
        cells = [
            f"– ({reasons.index(str(gaps[face, option])) + 1})" if (face, option) in gaps else "yes"
            for face in REASONS
        ]
        of = "all" if len(kinds) == len(KINDS) else ", ".join(f"`{kind}`" for kind in kinds)
        yield f"| `{option}` | {of} | yes | {' | '.join(cells)} |"
    yield ""
    yield from (f"{number}. {reason}." for number, reason in enumerate(reasons, 1))
    yield "\n`collection` of HTTP and MCP is one name in place of `collections`.\n"
    yield "## Operations\n"
    yield (
        "A server refuses changes to keys that may only read, and some operations to keys that are limited\n"
        "to some collections. Changes have a line in the audit log.\n"
    )
    yield "| HTTP | command | MCP | changes the index | needs a key for all collections |"
    yield "|---|---|---|---|---|"
    for row in TABLE:
        command = "" if row.command is None else f"`qmd {row.command}`"
        tool = "" if row.tool is None else f"`{row.run.__name__}`"
        marks = ("yes" if row.writes else "", "yes" if row.everything else "")
        yield f"| `{row.method} {row.path}` | {command} | {tool} | {' | '.join(marks)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
